#include "tests/end_to_end/resuming.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

namespace fs = std::filesystem;

}  // namespace

LocalProgram BuildLocal(const std::string& name, const std::string& model, const std::vector<std::string>& arguments) {
  // Those of a target are built in one folder, so they share the objects of the runtime.
  static const auto* const folder = new std::string(FreshFolder("resuming"));
  static auto* const built = new std::map<std::string, LocalProgram>();
  if (built->count(name) > 0) return built->at(name);
  const bool is_for_gpus = std::count(arguments.begin(), arguments.end(), "cuda") > 0;
  const std::string out = *folder + (is_for_gpus ? "/for_gpus" : "/out");
  std::vector<std::string> command = {DataPath(model), "--out", out, "--quiet"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const CommandResult compiled = Compile(command, "");
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  const CommandResult made = is_for_gpus ? MakeWithStandIn(out, {"COMM=local"}) : MakeLocal(out);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const LocalProgram program = {name, absl::StrCat(*folder, "/", name)};
  std::error_code error;
  fs::copy_file(out + "/program_local", program.path, error);
  EXPECT_FALSE(error) << error.message();
  return (*built)[name] = program;
}

LocalProgram OnOneRank() { return BuildLocal("one", "tests/end_to_end/resumed.model", {"--devices", "1"}); }

LocalProgram OnTwoRanks() {
  return BuildLocal("two", "tests/end_to_end/resumed.model", {"--devices", "2", "--search", "sapp"});
}

CommandResult Train(const LocalProgram& program, const std::string& out, const std::string& flags,
                    const std::string& prelude) {
  fs::create_directories(out);
  return RunCommand({"sh", "-c", absl::StrCat(prelude, " exec ", program.path, " --out ", out, " ", flags)}, "",
                    {"OMP_NUM_THREADS=1"});
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name != ".cleave_lock") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string MetricsWithoutSeconds(const std::string& out) {
  return std::regex_replace(ReadText(out + "/metrics.jsonl"),
                            std::regex("(\"seconds\":[^,]*,|,\"(mfu|tokens_per_second)\":[^,}]*)"), "");
}

void ExpectSameFiles(const std::string& folder, const std::string& expected) {
  const std::vector<std::string> names = NamesIn(expected);
  EXPECT_FALSE(names.empty()) << expected;
  EXPECT_EQ(NamesIn(folder), names);
  for (const std::string& name : names) {
    if (fs::is_directory(expected + "/" + name)) {
      ExpectSameFiles(folder + "/" + name, expected + "/" + name);
    } else {
      EXPECT_TRUE(ReadText(folder + "/" + name) == ReadText(expected + "/" + name)) << folder << "/" << name;
    }
  }
}

}  // namespace cleave::tests
