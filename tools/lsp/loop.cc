// Reading guide: Loop::Run waits in poll for the client, for room in its pipe, and for the study that is under way, and
// handles what is there. StartStudy makes the child, and InChild is what the child does.
#include "tools/lsp/loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json/json.h"
#include "tools/lsp/framing.h"
#include "tools/lsp/study.h"

namespace cleave::tools {
namespace {

// A study that takes longer is given up.
constexpr rlim_t kMostStudySeconds = 600;
// A client that takes nothing is not served: its messages wait in its own pipe.
constexpr size_t kMostUnsentBytes = size_t{256} << 20;

// Errors aside from "nothing now", which end a pipe.
bool IsTemporary(int error) { return error == EINTR || error == EAGAIN || error == EWOULDBLOCK; }

void WriteAll(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);  // Nobody reads it.
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// `results`: a pipe to the server.
[[noreturn]] void InChild(const StudyRequest& request, int results, int in, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit seconds = {.rlim_cur = kMostStudySeconds, .rlim_max = kMostStudySeconds};
  setrlimit(RLIMIT_CPU, &seconds);
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int nothing = open("/dev/null", O_RDWR);
  // The client's pipes carry messages alone.
  for (const int file : {in, out, STDIN_FILENO, STDOUT_FILENO}) {
    if (nothing >= 0) dup2(nothing, file);
  }
  Study(request, [&](const Json& part) { WriteAll(results, absl::StrCat(JsonLine(part), "\n")); });
  // Taking the compile apart would only take time.
  _exit(0);
}

class Loop {
 public:
  Loop(int in, int out, const ServerOptions& options) : in_(in), out_(out), server_(options) {}

  ~Loop() {
    GiveUp();
    Reap(/*waits=*/true);
  }

  bool Run() {
    while (!server_.is_over()) {
      ChooseStudy();
      server_.Prepare();
      const auto now = Server::Clock::now();
      server_.AnswerWaiting(now);
      unsent_ += server_.TakeOutput();
      if (is_at_end_ && unsent_.empty() && !server_.deadline().has_value()) return false;
      if (!Wait(now)) return false;
    }
    return Finish();
  }

 private:
  struct UnderWay {
    StudyName name;
    pid_t process = 0;
    int results = -1;
    std::string bytes = {};
  };

  // False where the client is gone.
  bool Wait(Server::Clock::time_point now) {
    const bool reads = !is_at_end_ && unsent_.size() < kMostUnsentBytes;
    pollfd files[3] = {{.fd = reads ? in_ : -1, .events = POLLIN, .revents = 0},
                       {.fd = unsent_.empty() ? -1 : out_, .events = POLLOUT, .revents = 0},
                       {.fd = study_.has_value() ? study_->results : -1, .events = POLLIN, .revents = 0}};
    int milliseconds = -1;
    if (const auto deadline = server_.deadline()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now);
      milliseconds = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
    }
    const int ready = poll(files, 3, milliseconds);
    if (ready < 0) return IsTemporary(errno);
    if (files[1].revents != 0 && !SendSome()) return false;
    if (files[2].revents != 0) ReceiveFindings();
    if (files[0].revents != 0) ReceiveMessages();
    return true;
  }

  void ReceiveMessages() {
    const ssize_t count = read(in_, buffer_, sizeof buffer_);
    if (count < 0 && IsTemporary(errno)) return;
    if (count <= 0) {
      is_at_end_ = true;
      return;
    }
    reader_.Feed(absl::string_view(buffer_, static_cast<size_t>(count)));
    while (!server_.is_over()) {
      const std::optional<std::string> message = reader_.Next();
      if (!message.has_value()) break;
      server_.Receive(*message, Server::Clock::now());
    }
  }

  bool SendSome() {
    const ssize_t count = write(out_, unsent_.data(), unsent_.size());
    if (count < 0) return IsTemporary(errno);
    unsent_.erase(0, static_cast<size_t>(count));
    return true;
  }

  void ChooseStudy() {
    const std::optional<StudyName> wanted = server_.WantedStudy();
    if (study_.has_value() && wanted.has_value() && study_->name == *wanted) return;
    GiveUp();
    Reap(/*waits=*/false);
    if (wanted.has_value()) StartStudy(*wanted);
  }

  void StartStudy(const StudyName& name) {
    const StudyRequest request = server_.RequestOf(name);
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return server_.StudyEnded(name, "no pipe is to be had for the compiler");
    const pid_t process = fork();
    if (process == 0) {
      close(ends[0]);
      InChild(request, ends[1], in_, out_);
    }
    close(ends[1]);
    if (process < 0) {
      close(ends[0]);
      return server_.StudyEnded(name, "no process is to be had for the compiler");
    }
    study_ = UnderWay{.name = name, .process = process, .results = ends[0]};
  }

  void ReceiveFindings() {
    const ssize_t count = read(study_->results, buffer_, sizeof buffer_);
    if (count < 0 && IsTemporary(errno)) return;
    if (count <= 0) return EndStudy();
    study_->bytes.append(buffer_, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end = study_->bytes.find('\n'); end != std::string::npos; end = study_->bytes.find('\n', begin)) {
      const absl::StatusOr<Json> part = ParseStrictJson(absl::string_view(study_->bytes).substr(begin, end - begin));
      if (part.ok()) server_.Found(study_->name, *part);
      begin = end + 1;
    }
    study_->bytes.erase(0, begin);
  }

  // The child has closed its pipe.
  void EndStudy() {
    int status = 0;
    while (waitpid(study_->process, &status, 0) < 0 && errno == EINTR) {
    }
    close(study_->results);
    const StudyName name = std::exchange(study_, std::nullopt)->name;
    const std::string how = WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                                                : absl::StrCat("exit code ", WEXITSTATUS(status));
    server_.StudyEnded(name, status == 0 ? "" : absl::StrCat("the compiler has failed on `", name.path, "`: ", how));
  }

  void GiveUp() {
    if (!study_.has_value()) return;
    kill(study_->process, SIGKILL);
    close(study_->results);
    killed_.push_back(study_->process);
    study_.reset();
  }

  // Takes note of the end of children that were killed: one that has much memory takes a while to end.
  void Reap(bool waits) {
    const auto has_ended = [&](pid_t process) {
      pid_t ended = waitpid(process, nullptr, waits ? 0 : WNOHANG);
      while (ended < 0 && errno == EINTR) ended = waitpid(process, nullptr, waits ? 0 : WNOHANG);
      return ended != 0;
    };
    killed_.erase(std::remove_if(killed_.begin(), killed_.end(), has_ended), killed_.end());
  }

  // What was said before `exit` is sent, for as long as the client takes it.
  bool Finish() {
    unsent_ += server_.TakeOutput();
    while (!unsent_.empty()) {
      pollfd file = {.fd = out_, .events = POLLOUT, .revents = 0};
      if (poll(&file, 1, 1000) <= 0 || !SendSome()) break;
    }
    return server_.is_shut_down();
  }

  const int in_, out_;
  Server server_;
  FrameReader reader_;
  std::string unsent_;
  bool is_at_end_ = false;
  std::optional<UnderWay> study_;
  std::vector<pid_t> killed_;  // Children that may not have ended yet.
  char buffer_[65536];
};

}  // namespace

bool ServeUntilExit(int in, int out, const ServerOptions& options) {
  signal(SIGPIPE, SIG_IGN);  // A client that is gone is an error of write.
  for (const int file : {in, out}) fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
  return Loop(in, out, options).Run();
}

}  // namespace cleave::tools
