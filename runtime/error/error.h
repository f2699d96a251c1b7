// Errors as values, and the exit codes of a generated program.
//
//   Result<Idx> file = ReadIdx(path);
//   if (!file.ok()) return file.error();
//   Use(file.value());
//
// A message says what was attempted, on what, and what was found; lower case, names in backticks, no full stop.
#ifndef CLEAVE_RUNTIME_ERROR_ERROR_H_
#define CLEAVE_RUNTIME_ERROR_ERROR_H_

#include <string>
#include <utility>
#include <variant>

namespace cleave::runtime {

enum class ExitCode {
  kDone = 0,
  kUsage = 2,
  kInput = 3,  // The data, or how the program was started, is wrong.
  kEnvironment = 5,
  kFailed = 6,     // A collective that failed, a stalled rank.
  kNotFinite = 7,  // A loss, a parameter, logits: the same program would come to it again.
  kInternal = 70,
};

struct Error {
  ExitCode code = ExitCode::kFailed;
  std::string message;
};

template <typename T>
class Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT: implicit on purpose, as in `return value;`
  Result(Error error) : content_(std::move(error)) {}  // NOLINT

  bool ok() const { return content_.index() == 0; }
  T& value() { return *std::get_if<0>(&content_); }                  // REQUIRES: ok()
  const T& value() const { return *std::get_if<0>(&content_); }      // REQUIRES: ok()
  const Error& error() const { return *std::get_if<1>(&content_); }  // REQUIRES: !ok()

 private:
  std::variant<T, Error> content_;
};

// A std::string made as by printf.
std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Prints "error: <message>" to standard error and ends this process at once, without waiting for other ranks. Ranks
// that are threads of this process end with it, and mpirun ends the others. When several threads call it, only the
// first one prints. It is for failures that one rank sees alone; errors that all ranks see are agreed on by
// runtime/launch.
[[noreturn]] void Die(ExitCode code, const std::string& message);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_ERROR_ERROR_H_
