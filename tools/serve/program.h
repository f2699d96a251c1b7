// Private to tools/serve: a generating program that is running, and the answers that it gives.
//
//   Result<std::unique_ptr<Program>> program = Program::Start({"out/net/run.sh", "--quiet", "--chat-file", "-"});
//   std::shared_ptr<Answering> answer = program.value()->Ask("7", line);
//   while (std::optional<runtime::Json> said = answer->Next()) …
#ifndef CLEAVE_TOOLS_SERVE_PROGRAM_H_
#define CLEAVE_TOOLS_SERVE_PROGRAM_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"

namespace cleave::tools {

// What the program says to one request. Thread-safe.
class Answering {
 public:
  // The next line, without waiting longer than that; nullopt where none has come yet or the program has ended.
  std::optional<runtime::Json> Next(double seconds);
  bool has_ended();  // None comes any more.

 private:
  friend class Program;
  void Add(std::optional<runtime::Json> line);  // Nullopt: the program has ended.

  std::mutex mutex_;
  std::condition_variable has_changed_;
  std::deque<runtime::Json> lines_;
  bool has_ended_ = false;
};

// Thread-safe.
class Program {
 public:
  // Starts it, with pipes for its standard input and output.
  static runtime::Result<std::unique_ptr<Program>> Start(const std::vector<std::string>& command);

  // Lets it end, and waits for that: it answers what it has begun.
  ~Program();

  // Called once, by a thread of its own, when the program has ended by itself.
  void WhenEnded(std::function<void()> call);

  // Sends the line of a request with this id, which no request before has.
  std::shared_ptr<Answering> Ask(const std::string& id, const std::string& line);

  // Nobody waits for the answer any more.
  void Cancel(const std::string& id);

 private:
  Program(int process, int input, int output);
  void Send(const std::string& line);
  void ReadAll();

  const int process_, output_;
  std::mutex mutex_;
  int input_;  // -1 where it is closed.
  bool has_ended_ = false;
  std::function<void()> when_ended_;
  std::map<std::string, std::shared_ptr<Answering>> answers_;
  std::thread reader_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SERVE_PROGRAM_H_
