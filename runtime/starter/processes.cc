// Reading guide: Start makes a process, Job::Run is the loop that waits for events, Job::End decides what ends when.
#include "runtime/starter/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/error/error.h"
#include "runtime/file/file.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr double kSecondsAfterKill = 1;      // For the others, when a signal has ended one.
constexpr double kSecondsAfterFailure = 10;  // For the others, when one has ended with an error: they may say more.
constexpr double kSecondsToEnd = 5;          // For a process that has been told to end.
constexpr double kDefaultTimeout = 60;       // CLEAVE_TIMEOUT
constexpr double kSecondsToReport = 8;       // For ranks that wait for one that is stopped.
constexpr double kInterval = 0.25;           // Between two looks at the clock.
constexpr double kDefaultGrace = 30;         // CLEAVE_GRACE, for ranks that save after SIGTERM.

void Say(const std::string& text) { std::fprintf(stderr, "run.sh: %s\n", text.c_str()); }

// Waits for some seconds until something can be read or written there.
bool WaitFor(int file, short event, double seconds) {
  pollfd wait = {file, event, 0};
  return poll(&wait, 1, static_cast<int>(seconds * 1000)) > 0;
}

bool WriteAll(int file, const char* bytes, size_t size) {
  for (size_t written = 0; written < size;) {
    const ssize_t count = write(file, bytes + written, size - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {  // A reader that is slow, of an output that does not block.
      WaitFor(file, POLLOUT, kInterval);
      continue;
    }
    if (count < 0) return false;
    written += static_cast<size_t>(count);
  }
  return true;
}

// Becomes the process. Standard output and error are those given, where they are not -1.
[[noreturn]] void Become(const Process& process, pid_t parent, int out, int err) {
  const sigset_t watched = WatchedSignals();
  sigprocmask(SIG_UNBLOCK, &watched, nullptr);
  signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, process.last_signal);
  if (getppid() != parent) _exit(128 + process.last_signal);  // It has ended before it was asked to tell.
  const int in = process.reads_input ? STDIN_FILENO : open("/dev/null", O_RDONLY);
  if (dup2(in, STDIN_FILENO) < 0) _exit(5);
  if (out >= 0 && dup2(out, STDOUT_FILENO) < 0) _exit(5);
  if (err >= 0 && dup2(err, STDERR_FILENO) < 0) _exit(5);
  // A signal for the group of run.sh would have mpirun end its ranks, which may still save. Only the group of run.sh
  // may read from a terminal.
  if (!process.variable_of_ranks.empty() && !process.reads_input) setpgid(0, 0);
  setenv(kStarterVariable, std::to_string(parent).c_str(), 1);
  for (const auto& [name, value] : process.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : process.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "error: cannot start `%s`: %s\n", arguments[0], std::strerror(errno));
  _exit(static_cast<int>(ExitCode::kEnvironment));
}

pid_t Start(const Process& process, int out, int err) {
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) Become(process, self, out, err);
  if (child < 0) Die(ExitCode::kEnvironment, Format("cannot start %s: %s", process.name.c_str(), std::strerror(errno)));
  return child;
}

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) Die(ExitCode::kEnvironment, Format("cannot make a pipe: %s", std::strerror(errno)));
  return {ends[0], ends[1]};
}

// What a process writes: it is read from `source`, and goes to `shown` and to the log.
struct Stream {
  int source = -1;
  int shown = -1;  // -1: it is not.
  int log = -1;
  std::string name;  // Of the log.
};

struct Child {
  std::string name;
  pid_t id = -1;
  bool runs = true;
  bool is_stopped = false;
  bool was_killed = false;  // By this process.
  bool is_rank = false;
  std::string variable_of_ranks = {};
  int most_ranks = 0;  // That it had at once.
  double seconds_with_fewer = 0;
  double stopped_seconds = 0;
};

// All of a file of /proc.
std::string Content(const std::string& path) {
  std::string content;
  char buffer[4096];
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  for (ssize_t count; file >= 0 && (count = read(file, buffer, sizeof buffer)) > 0;) {
    content.append(buffer, static_cast<size_t>(count));
  }
  if (file >= 0) close(file);
  return content;
}

// The processes that one has started and that run.
std::vector<int> ChildrenOf(pid_t process) {
  std::vector<int> children;
  const std::string tasks = Format("/proc/%d/task", static_cast<int>(process));
  for (const std::string& task : NamesIn(tasks)) {
    const std::string text = Content(tasks + "/" + task + "/children");
    char* end = nullptr;
    for (const char* at = text.c_str(); const long id = std::strtol(at, &end, 10); at = end) {
      children.push_back(static_cast<int>(id));
    }
  }
  return children;
}

double SecondsOf(const char* variable, double otherwise) {
  const char* const text = std::getenv(variable);
  const double given = text == nullptr ? 0 : std::strtod(text, nullptr);
  return given > 0 ? given : otherwise;
}

class Job {
 public:
  void Add(const std::string& name, pid_t id) { children_.push_back({name, id}); }

  void StartWithLogs(const Process& process) {
    if (process.logs.empty()) {
      Add(process.name, cleave::runtime::Start(process, -1, -1));
      children_.back().variable_of_ranks = process.variable_of_ranks;
      children_.back().is_rank = process.variable_of_ranks.empty();
      return;
    }
    const Pipe out = MakePipe();
    const Pipe err = MakePipe();
    Add(process.name, cleave::runtime::Start(process, out.write, err.write));
    children_.back().is_rank = true;
    close(out.write);
    close(err.write);
    AddStream(out.read, process.shows_output ? STDOUT_FILENO : -1, process.logs + "/stdout");
    AddStream(err.read, STDERR_FILENO, process.logs + "/stderr");
  }

  int Run();

 private:
  void AddStream(int source, int shown, const std::string& path);
  bool Runs() const {
    return std::any_of(children_.begin(), children_.end(), [](const Child& child) { return child.runs; });
  }
  bool WasToldToEnd() const { return told_to_end_at_.has_value() && Now() >= *told_to_end_at_; }
  void Copy(Stream& stream);
  void TakeSignals();
  void TakeChild(pid_t id, int status);
  void LookAtStopped(double passed);
  void LookAtRanks(double passed);
  void EndWithin(double seconds);
  bool AskRanksToEnd();
  void Signal(int number);

  std::vector<Child> children_;
  std::vector<Stream> streams_;
  int signals_ = -1;
  std::optional<int> stopped_by_;         // A signal that this process got,
  double stopped_at_ = 0;                 // and when.
  int code_ = 0;                          // Of what has failed.
  std::optional<double> told_to_end_at_;  // When those that still run are told to end.
  std::optional<double> killed_at_;       // When they are killed.
};

void Job::AddStream(int source, int shown, const std::string& path) {
  const int log = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (log < 0) Die(ExitCode::kEnvironment, Format("cannot write to `%s`: %s", path.c_str(), std::strerror(errno)));
  streams_.push_back({source, shown, log, path});
}

// Shows and logs what has arrived; closes the stream at its end.
void Job::Copy(Stream& stream) {
  char buffer[65536];
  const ssize_t count = read(stream.source, buffer, sizeof buffer);
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) {
    close(stream.source);
    close(stream.log);
    stream.source = -1;
    return;
  }
  // What a rank finds wrong while all are being ended is no news.
  const bool is_consequence = stream.shown == STDERR_FILENO && WasToldToEnd();
  const bool is_shown =
      is_consequence || stream.shown < 0 || WriteAll(stream.shown, buffer, static_cast<size_t>(count));
  const int problem = errno;
  if (is_shown && WriteAll(stream.log, buffer, static_cast<size_t>(count))) return;
  if (code_ == static_cast<int>(ExitCode::kEnvironment)) return;  // It has been said.
  Say(Format("cannot write to %s: %s; the job is ended",
             is_shown ? Format("`%s`", stream.name.c_str()).c_str() : "the output of run.sh",
             std::strerror(is_shown ? errno : problem)));
  code_ = static_cast<int>(ExitCode::kEnvironment);
  EndWithin(0);
}

// Those that still run after so long are told to end, and are killed a little later.
void Job::EndWithin(double seconds) {
  const double at = Now() + seconds;
  told_to_end_at_ = std::min(at, told_to_end_at_.value_or(at));
  killed_at_ = std::min(at + kSecondsToEnd, killed_at_.value_or(at + kSecondsToEnd));
}

void Job::Signal(int number) {
  for (const Child& child : children_) {
    if (child.runs) kill(child.id, number);
  }
}

// The ranks that a child has started.
std::vector<int> RanksOf(const Child& child) {
  std::vector<int> ranks;
  for (const int id : ChildrenOf(child.id)) {
    if (Content(Format("/proc/%d/environ", id)).find(child.variable_of_ranks) != std::string::npos) ranks.push_back(id);
  }
  return ranks;
}

// Sends SIGTERM to the ranks themselves: mpirun would not wait for what they save. Returns whether there are some.
bool Job::AskRanksToEnd() {
  bool are_there = false;
  for (const Child& child : children_) {
    if (!child.runs) continue;
    std::vector<int> ranks;
    if (child.is_rank) ranks.push_back(child.id);
    if (!child.variable_of_ranks.empty()) ranks = RanksOf(child);
    for (const int id : ranks) kill(id, SIGTERM);
    are_there |= !ranks.empty();
  }
  return are_there;
}

void Job::TakeSignals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGCHLD) continue;
    const bool is_first = !stopped_by_.has_value();
    // `timeout` signals both the process that it has started and the group of this one.
    const bool is_again =
        stopped_by_ == SIGTERM && info.ssi_signo == SIGTERM && Now() - stopped_at_ < kSecondsOfOneCause;
    if (is_again) continue;
    if (is_first) {
      stopped_by_ = static_cast<int>(info.ssi_signo);
      stopped_at_ = Now();
    }
    const bool may_save = is_first && info.ssi_signo == SIGTERM && AskRanksToEnd();
    EndWithin(may_save ? SecondsOf("CLEAVE_GRACE", kDefaultGrace) : 0);
  }
  int status = 0;
  for (pid_t id; (id = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) TakeChild(id, status);
}

void Job::TakeChild(pid_t id, int status) {
  const auto child = std::find_if(children_.begin(), children_.end(), [id](const Child& one) { return one.id == id; });
  if (child == children_.end()) return;  // One that has lost the process that started it.
  if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
    child->is_stopped = WIFSTOPPED(status);
    child->stopped_seconds = 0;
    return;
  }
  child->runs = false;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (code == 0 || child->was_killed || WasToldToEnd()) return;
  if (WIFSIGNALED(status)) {
    Say(Format("%s was ended by signal %d (%s)", child->name.c_str(), WTERMSIG(status), strsignal(WTERMSIG(status))));
  }
  if (code_ == 0 || code_ == static_cast<int>(ExitCode::kFailed)) code_ = code;
  EndWithin(WIFSIGNALED(status) ? kSecondsAfterKill : kSecondsAfterFailure);
  for (Child& other : children_) {
    if (!other.runs || !other.is_stopped) continue;
    other.was_killed = true;  // It will not end by itself.
    kill(other.id, SIGKILL);
  }
}

// Ranks that wait for it say so first, and more: in which op.
void Job::LookAtStopped(double passed) {
  const double timeout = SecondsOf("CLEAVE_TIMEOUT", kDefaultTimeout);
  for (Child& child : children_) {
    if (!child.runs || !child.is_stopped) continue;
    child.stopped_seconds += passed;
    if (child.stopped_seconds < 1.1 * timeout + kSecondsToReport || told_to_end_at_.has_value()) continue;
    Say(Format("%s (process %d) is stopped since %.0f s; the job is ended (CLEAVE_TIMEOUT is %g s)", child.name.c_str(),
               static_cast<int>(child.id), child.stopped_seconds, timeout));
    code_ = static_cast<int>(ExitCode::kFailed);
    EndWithin(0);
  }
}

void Job::LookAtRanks(double passed) {
  for (Child& child : children_) {
    if (!child.runs || child.variable_of_ranks.empty() || told_to_end_at_.has_value()) continue;
    const int ranks = static_cast<int>(RanksOf(child).size());
    child.seconds_with_fewer = ranks < child.most_ranks ? child.seconds_with_fewer + passed : 0;
    child.most_ranks = std::max(child.most_ranks, ranks);
    if (child.seconds_with_fewer < kSecondsAfterFailure) continue;
    Say(Format("%s still runs, and a rank has ended %.0f s ago; the job is ended", child.name.c_str(),
               child.seconds_with_fewer));
    code_ = static_cast<int>(ExitCode::kFailed);
    EndWithin(0);
  }
}

int Job::Run() {
  const sigset_t watched = WatchedSignals();
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  double looked = Now();
  bool was_told = false;
  while (Runs()) {
    std::vector<pollfd> waits = {{signals_, POLLIN, 0}};
    for (const Stream& stream : streams_) waits.push_back({stream.source, POLLIN, 0});
    poll(waits.data(), waits.size(), static_cast<int>(kInterval * 1000));
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (waits[i + 1].revents != 0) Copy(streams_[i]);
    }
    TakeSignals();
    // More has passed where this process was stopped too, as by Ctrl-Z.
    const double passed = std::min(Now() - looked, 2 * kInterval);
    LookAtStopped(passed);
    LookAtRanks(passed);
    looked = Now();
    if (!told_to_end_at_.has_value()) continue;
    if (looked >= *killed_at_) {
      Signal(SIGKILL);
    } else if (looked >= *told_to_end_at_ && !was_told) {
      was_told = true;
      Signal(SIGTERM);
      Signal(SIGCONT);  // One that is stopped takes no other.
    }
  }
  EndOrphans();
  // What they have written last. An orphan that was not found may still hold the other end.
  for (Stream& stream : streams_) {
    while (stream.source >= 0 && WaitFor(stream.source, POLLIN, kSecondsToEnd)) Copy(stream);
  }
  return stopped_by_.has_value() ? 128 + *stopped_by_ : code_;
}

}  // namespace

sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&set, number);
  if (!IsIgnored(SIGHUP)) sigaddset(&set, SIGHUP);
  return set;
}

// Processes that have lost the one that started them are children of this process now; and so are their children, when
// they have ended.
void EndOrphans() {
  for (std::vector<int> orphans; !(orphans = ChildrenOf(getpid())).empty();) {
    for (const int id : orphans) kill(id, SIGKILL);
    for (const int id : orphans) waitpid(id, nullptr, 0);
  }
}

Announced StartAndRead(const Process& process) {
  const Pipe out = MakePipe();
  Announced announced;
  announced.process = Start(process, out.write, -1);
  close(out.write);
  char c = 0;
  bool is_whole = false;
  while (!is_whole && read(out.read, &c, 1) == 1) {
    is_whole = c == '\n';
    if (!is_whole) announced.line += c;
  }
  if (!is_whole) announced.line.clear();
  close(out.read);
  return announced;
}

int RunProcesses(const std::vector<Process>& processes, const std::vector<std::pair<std::string, int>>& started) {
  const sigset_t watched = WatchedSignals();
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  signal(SIGPIPE, SIG_IGN);  // An output that nobody reads any more is an error of `write`.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Job job;
  for (const auto& [name, id] : started) job.Add(name, id);
  for (const Process& process : processes) job.StartWithLogs(process);
  return job.Run();
}

}  // namespace cleave::runtime
