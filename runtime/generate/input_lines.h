// Private to runtime/generate: lines of standard input, read while something else is done.
#ifndef CLEAVE_RUNTIME_GENERATE_INPUT_LINES_H_
#define CLEAVE_RUNTIME_GENERATE_INPUT_LINES_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace cleave::runtime {

// A thread reads them. It may outlive this, waiting for input that nobody needs.
class InputLines {
 public:
  // Of a longer line the rest is left out.
  static constexpr size_t kLongest = size_t{1} << 24;

  InputLines();

  // The next line, without its end; nullopt where none has come within so many seconds, or none comes any more.
  std::optional<std::string> Next(double seconds);

  // Whether all have been taken and none comes any more.
  bool AreOver();

 private:
  struct Queue;
  std::shared_ptr<Queue> queue_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_GENERATE_INPUT_LINES_H_
