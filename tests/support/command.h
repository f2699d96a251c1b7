// Runs a command as a user would, for tests that cross crates.
#ifndef CLEAVE_TESTS_SUPPORT_COMMAND_H_
#define CLEAVE_TESTS_SUPPORT_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

namespace cleave::tests {

struct CommandResult {
  int exit_code = 0;  // 128 + signal when a signal ended it.
  std::string out;
  std::string err;
};

// Runs `command` (a program and its arguments) in `folder` with `environment` ("NAME=value") added, and waits. Empty
// `folder`: the current one.
CommandResult RunCommand(const std::vector<std::string>& command, const std::string& folder = "",
                         const std::vector<std::string>& environment = {});

// A fresh folder under the test's temporary folder.
std::string FreshFolder(const std::string& name);

std::string ReadText(const std::string& path);  // Fails the test if it cannot be read.
void WriteText(const std::string& path, const std::string& text);

// The project's folder, if the test is run to rewrite its goldens (//:bless).
std::optional<std::string> FolderToBless();

// The path of a file of the workspace among the test's data: "tools/compile", "examples/mnist_mlp/mnist_mlp.model".
std::string DataPath(const std::string& workspace_path);

}  // namespace cleave::tests

#endif  // CLEAVE_TESTS_SUPPORT_COMMAND_H_
