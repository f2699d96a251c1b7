#include "tools/doctor/doctor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "absl/strings/string_view.h"

namespace cleave::tools {
namespace {

struct Script {
  absl::string_view path;
  absl::string_view text;
};

constexpr Script kScripts[] = {
#include "tools/doctor/script.inc"
};

void AddTarget(CLI::App& app, std::string& target) {
  SetValue(app.add_option("--target", target, "The target of the programs: cpu (the default) or cuda"), "TARGET")
      ->check(CLI::IsMember({"cpu", "cuda"}));
}

}  // namespace

void DescribeDoctor(CLI::App& app) { AddTarget(app, *new std::string); }

ExitCode RunDoctor(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  std::string target = "cpu";
  CLI::App app(summary, name);
  AddTarget(app, target);
  if (const auto exit = Parse(app, words)) return Print(*exit);
  const std::string script(kScripts[0].text);
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    execlp("sh", "sh", "-c", script.c_str(), "doctor.sh", target.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) {
    std::cerr << "error: cannot start `sh`: " << std::strerror(errno) << "\n";
    return ExitCode::kEnvironment;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ExitCode::kDone : ExitCode::kEnvironment;
}

}  // namespace cleave::tools
