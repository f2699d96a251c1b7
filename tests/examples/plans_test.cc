// What `cleave plan` says of each example.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/examples/stored.h"
#include "tests/support/command.h"

namespace cleave::tests {
namespace {

// All but the last line, which has the time that it took.
std::string Planned(std::vector<std::string> command) {
  command.front() = DataPath("tools/cleave");
  const CommandResult planned = RunCommand(command);
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  const std::string& text = planned.out;
  return text.empty() ? "" : text.substr(0, text.rfind('\n', text.size() - 2) + 1);
}

TEST(PlansTest, AreThoseOfTheFile) {
  ExpectAllExamples("tests/examples/plans.txt");
  CheckStored(
      "tests/examples/plans.txt", [](const Stored& stored) { return Planned(stored.command); },
      [](const std::string& planned, const Stored& stored) {
        EXPECT_EQ(planned, stored.result) << "if this is wanted: ./bazelw run //:bless";
      });
}

}  // namespace
}  // namespace cleave::tests
