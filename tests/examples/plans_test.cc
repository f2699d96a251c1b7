// What `cleave plan` says of each example.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/examples/stored.h"
#include "tests/support/command.h"

namespace cleave::tests {
namespace {

constexpr char kPath[] = "tests/examples/plans.txt";

// All but the last line, which has the time that it took.
std::string Planned(std::vector<std::string> command) {
  command.front() = DataPath("tools/cleave");
  const CommandResult planned = RunCommand(command);
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  const std::string& text = planned.out;
  return text.empty() ? "" : text.substr(0, text.rfind('\n', text.size() - 2) + 1);
}

TEST(PlansTest, AreThoseOfTheFile) {
  std::vector<Stored> all = ReadStored(kPath);
  EXPECT_EQ(ModelsWithout(all), std::vector<std::string>()) << "write `$ cleave plan …` into " << kPath;
  const char* const root = std::getenv("CLEAVE_BLESS");
  for (Stored& stored : all) {
    const std::string planned = Planned(stored.command);
    if (root == nullptr) EXPECT_EQ(planned, stored.result) << "if this is wanted: ./bazelw run //:bless";
    stored.result = planned;
  }
  if (root != nullptr) WriteText(absl::StrCat(root, "/", kPath), StoredText(all));
}

}  // namespace
}  // namespace cleave::tests
