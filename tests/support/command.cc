#include "tests/support/command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace cleave::tests {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Become(const std::vector<std::string>& command, const std::string& folder,
                         const std::vector<std::string>& environment, const std::string& out, const std::string& err) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  for (const std::string& setting : environment) putenv(const_cast<char*>(setting.c_str()));
  const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int in_file = open("/dev/null", O_RDONLY);
  if (dup2(in_file, STDIN_FILENO) < 0 || dup2(out_file, STDOUT_FILENO) < 0 || dup2(err_file, STDERR_FILENO) < 0)
    _exit(127);
  if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(127);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

std::string FreshFolder(const std::string& name) {
  static int count = 0;
  const fs::path folder =
      fs::path(testing::TempDir()) / (name + "_" + std::to_string(getpid()) + "_" + std::to_string(++count));
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}

CommandResult RunCommand(const std::vector<std::string>& command, const std::string& folder,
                         const std::vector<std::string>& environment) {
  const std::string logs = FreshFolder("command");
  const pid_t child = fork();
  if (child == 0) Become(command, folder, environment, logs + "/out", logs + "/err");
  int status = 0;
  waitpid(child, &status, 0);
  return {.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
          .out = ReadText(logs + "/out"),
          .err = ReadText(logs + "/err")};
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << "cannot read " << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  ASSERT_TRUE(out.good()) << "cannot write " << path;
}

std::optional<std::string> FolderToBless() {
  const char* bless = std::getenv("CLEAVE_BLESS");
  if (bless == nullptr || *bless == '\0') return std::nullopt;
  return std::string(bless);
}

std::string DataPath(const std::string& workspace_path) { return fs::absolute(workspace_path).string(); }

}  // namespace cleave::tests
