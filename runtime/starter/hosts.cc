#include "runtime/starter/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "runtime/error/error.h"
#include "runtime/file/file.h"
#include "runtime/starter/environment.h"
#include "runtime/starter/processes.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kMostBytes = 1 << 24;
constexpr double kSecondsToAnswer = 10;
constexpr useconds_t kMicrosecondsBetweenLooks = 20000;

// The hosts of a file, each once.
std::vector<Host> ReadHosts(const std::string& path) {
  const Result<std::vector<uint8_t>> bytes = ReadFile(path, kMostBytes);
  if (!bytes.ok()) Die(ExitCode::kEnvironment, bytes.error().message);
  std::istringstream text(std::string(bytes.value().begin(), bytes.value().end()));
  std::vector<Host> hosts;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    Host host;
    if (!(words >> host.name)) continue;
    host.slots = 1;
    for (std::string word; words >> word;) {
      constexpr char kSlots[] = "slots=";
      if (word.rfind(kSlots, 0) != 0) continue;
      const std::string slots = word.substr(sizeof kSlots - 1);
      const std::string where = Format("`slots` in line %d of `%s`", number, path.c_str());
      host.slots = slots == "0" ? 0 : WorkersOrDie(where, slots);
    }
    const auto known =
        std::find_if(hosts.begin(), hosts.end(), [&](const Host& other) { return other.name == host.name; });
    if (known == hosts.end()) {
      hosts.push_back(host);
    } else {
      known->slots += host.slots;
    }
  }
  return hosts;
}

bool IsHere(const std::string& host) {
  if (host == "localhost" || host == "127.0.0.1" || host == "::1") return true;
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::string own = name;
  return host == own || host == own.substr(0, own.find('.')) || host.substr(0, host.find('.')) == own;
}

// A command that runs `true` there.
std::vector<std::string> QuestionFor(const std::string& host) {
  std::vector<std::string> question;
  std::istringstream agent(Variable("OMPI_MCA_plm_rsh_agent"));
  for (std::string word; agent >> word && word != ":";) question.push_back(word);
  if (question.empty()) question = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"};
  question.insert(question.end(), {host, "true"});
  return question;
}

pid_t Ask(const std::string& host) {
  std::vector<std::string> question = QuestionFor(host);
  std::vector<char*> words;
  for (std::string& word : question) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  const sigset_t watched = WatchedSignals();
  sigprocmask(SIG_UNBLOCK, &watched, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDWR);
  if (getppid() != self || nothing < 0) _exit(1);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, file);
  execvp(words[0], words.data());
  _exit(1);
}

// Whether the process has ended well by then; what has not ended is killed.
bool HasAnswered(pid_t process, double deadline) {
  if (process < 0) return false;
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (Now() > deadline) kill(process, SIGKILL);
    usleep(kMicrosecondsBetweenLooks);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

HostsLeft FindHosts(const std::string& path, bool only_here) {
  HostsLeft left;
  std::vector<std::pair<Host, pid_t>> asked;
  for (Host& host : ReadHosts(path)) {
    const bool is_here = IsHere(host.name);
    if (!is_here && only_here) continue;
    asked.emplace_back(host, is_here ? 0 : Ask(host.name));
  }
  const double deadline = Now() + kSecondsToAnswer;
  for (const auto& [host, process] : asked) {
    if (process != 0 && !HasAnswered(process, deadline)) {
      left.lost.push_back(host.name);
      continue;
    }
    left.slots += host.slots;
    left.hosts.push_back(host);
  }
  return left;
}

void WriteHosts(const std::vector<Host>& hosts, const std::string& path) {
  std::string text;
  for (const Host& host : hosts) text += Format("%s slots=%d\n", host.name.c_str(), host.slots);
  FILE* const file = std::fopen(path.c_str(), "we");
  const bool is_written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
  if (file != nullptr && std::fclose(file) == 0 && is_written) return;
  Die(ExitCode::kEnvironment, Format("cannot write to `%s`: %s", path.c_str(), std::strerror(errno)));
}

}  // namespace cleave::runtime
