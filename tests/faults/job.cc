#include "tests/faults/job.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace cleave::tests::faults {
namespace {

constexpr double kInterval = 0.01;
constexpr double kSecondsToAppear = 30;

std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

[[noreturn]] void Become(const std::string& folder, const std::vector<std::string>& flags,
                         const std::vector<std::string>& environment, const std::string& log) {
  setsid();
  // A test that was started under nohup hands on that it ignores some.
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) signal(number, SIG_DFL);
  for (const std::string& setting : environment) putenv(const_cast<char*>(setting.c_str()));
  std::vector<char*> arguments = {const_cast<char*>("./run.sh")};
  for (const std::string& flag : flags) arguments.push_back(const_cast<char*>(flag.c_str()));
  arguments.push_back(nullptr);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  const int in = open("/dev/null", O_RDONLY);
  if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0) _exit(127);
  if (chdir(folder.c_str()) != 0) _exit(127);
  execv(arguments[0], arguments.data());
  _exit(127);
}

// The variables with which a process was started.
std::set<std::string> Environment(pid_t process) {
  const std::string text = Content(absl::StrCat("/proc/", process, "/environ"));
  return absl::StrSplit(text, '\0');
}

bool IsProgram(pid_t process) { return absl::StartsWith(Job::NameOf(process), "program"); }

}  // namespace

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

Job::Job(const std::string& folder, const std::vector<std::string>& flags,
         const std::vector<std::string>& environment) {
  static std::atomic<int> count = 0;
  marker_ = absl::StrCat("CLEAVE_TESTED_JOB=", getpid(), ".", ++count);
  log_ = absl::StrCat(folder, "/output.", count.load());
  std::vector<std::string> all = environment;
  all.push_back(marker_);
  script_ = fork();
  if (script_ == 0) Become(folder, flags, all, log_);
  if (script_ < 0) std::abort();
}

Job::~Job() {
  for (const pid_t process : Processes()) kill(process, SIGKILL);
  Wait(10);
  std::filesystem::remove(log_);
}

std::optional<int> Job::Wait(double seconds) {
  const double deadline = Seconds() + seconds;
  while (!exit_.has_value()) {
    int status = 0;
    if (waitpid(script_, &status, WNOHANG) == script_) {
      exit_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    } else if (Seconds() >= deadline) {
      break;
    } else {
      Sleep(kInterval);
    }
  }
  return exit_;
}

std::vector<pid_t> Job::Processes() const {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    int process = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &process)) continue;
    if (Environment(process).contains(marker_)) found.push_back(process);
  }
  return found;
}

std::string Job::NameOf(pid_t process) {
  return std::string(absl::StripSuffix(Content(absl::StrCat("/proc/", process, "/comm")), "\n"));
}

pid_t Job::ProcessOfRank(int rank) {
  const double deadline = Seconds() + kSecondsToAppear;
  while (Seconds() < deadline && !Wait(0).has_value()) {
    for (const pid_t process : Processes()) {
      if (!IsProgram(process)) continue;
      const std::set<std::string> environment = Environment(process);
      bool has_number = false;
      for (const char* name : {"OMPI_COMM_WORLD_RANK=", "RANK_ID=", "CLEAVE_LOCAL_RANK="}) {
        for (const std::string& setting : environment) has_number |= absl::StartsWith(setting, name);
        if (environment.contains(absl::StrCat(name, rank))) return process;
      }
      if (!has_number) return process;
    }
    Sleep(kInterval);
  }
  return -1;
}

std::string Job::Output() const { return Content(log_); }

}  // namespace cleave::tests::faults
