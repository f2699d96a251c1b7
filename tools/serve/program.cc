#include "tools/serve/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <utility>

namespace cleave::tools {
namespace {

bool WriteAll(int file, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = write(file, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    at += static_cast<size_t>(count);
  }
  return true;
}

// Becomes the program, with signals as a shell starts it.
[[noreturn]] void Become(const std::vector<std::string>& command, int input, int output) {
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

}  // namespace

std::optional<runtime::Json> Answering::Next(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  has_changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !lines_.empty() || has_ended_; });
  if (lines_.empty()) return std::nullopt;
  runtime::Json line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

bool Answering::has_ended() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return has_ended_ && lines_.empty();
}

void Answering::Add(std::optional<runtime::Json> line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (line.has_value()) {
    lines_.push_back(*std::move(line));
  } else {
    has_ended_ = true;
  }
  has_changed_.notify_all();
}

runtime::Result<std::unique_ptr<Program>> Program::Start(const std::vector<std::string>& command) {
  int in[2], out[2];
  const auto fail = [&](const std::string& what) {
    return runtime::Error{runtime::ExitCode::kEnvironment, what + ": " + std::strerror(errno)};
  };
  if (access(command[0].c_str(), X_OK) != 0) return fail("cannot start `" + command[0] + "`");
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return fail("cannot make a pipe");
  signal(SIGPIPE, SIG_IGN);
  const pid_t process = fork();
  if (process < 0) return fail("cannot start `" + command[0] + "`");
  if (process == 0) Become(command, in[0], out[1]);
  close(in[0]);
  close(out[1]);
  return std::unique_ptr<Program>(new Program(process, in[1], out[0]));
}

Program::Program(int process, int input, int output)
    : process_(process), output_(output), input_(input), reader_([this] { ReadAll(); }) {}

Program::~Program() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    when_ended_ = nullptr;
    if (input_ >= 0) close(std::exchange(input_, -1));
  }
  reader_.join();
  close(output_);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Program::WhenEnded(std::function<void()> call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  when_ended_ = std::move(call);
  if (has_ended_) when_ended_();
}

std::shared_ptr<Answering> Program::Ask(const std::string& id, const std::string& line) {
  auto answer = std::make_shared<Answering>();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (has_ended_) {
    answer->Add(std::nullopt);
  } else {
    answers_[id] = answer;
    Send(line);
  }
  return answer;
}

void Program::Cancel(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (answers_.erase(id) > 0) Send("{\"cancel\":\"" + id + "\"}");
}

void Program::Send(const std::string& line) {
  if (input_ >= 0 && !WriteAll(input_, line + "\n")) close(std::exchange(input_, -1));
}

// Lines that are no JSON are those of `make`, which builds the program first.
void Program::ReadAll() {
  std::vector<char> buffer(size_t{1} << 16);
  std::string line;
  const auto take = [&] {
    runtime::Result<runtime::Json> said = runtime::ParseJson(std::exchange(line, ""));
    const runtime::Json* const id = said.ok() ? said.value().Find("id") : nullptr;
    if (id == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = answers_.find(id->text);
    if (found == answers_.end()) return;
    const std::shared_ptr<Answering> answer = found->second;
    if (said.value().Find("delta") == nullptr) answers_.erase(found);
    answer->Add(std::move(said.value()));
  };
  for (;;) {
    const ssize_t count = read(output_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    for (ssize_t i = 0; i < count; ++i) {
      if (buffer[static_cast<size_t>(i)] == '\n') {
        take();
      } else {
        line += buffer[static_cast<size_t>(i)];
      }
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  has_ended_ = true;
  for (const auto& [unused, answer] : answers_) answer->Add(std::nullopt);
  if (when_ended_) when_ended_();
}

}  // namespace cleave::tools
