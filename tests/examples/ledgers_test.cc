// What `cleave explain MODEL time` says of a few models: a kernel more, bytes more, or another time is seen in review.
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/examples/stored.h"
#include "tests/support/command.h"

namespace cleave::tests {
namespace {

// Without blank lines, which the file does not keep.
std::string LedgerText(std::vector<std::string> command) {
  command.front() = DataPath("tools/cleave");
  const CommandResult explained = RunCommand(command);
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  return absl::StrReplaceAll(explained.out, {{"\n\n", "\n"}});
}

TEST(LedgersTest, AreThoseOfTheFile) {
  CheckStored(
      "tests/examples/ledgers.txt", [](const Stored& stored) { return LedgerText(stored.command); },
      [](const std::string& ledger, const Stored& stored) {
        EXPECT_EQ(ledger, stored.result) << "if this is wanted: ./bazelw run //:bless";
      });
}

}  // namespace
}  // namespace cleave::tests
