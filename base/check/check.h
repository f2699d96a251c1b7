// Checks that find bugs of the compiler itself: an invariant that does not hold ends the program with exit code 70.
//
//   CLEAVE_CHECK(axis.value() < mesh.rank()) << "axis " << axis.value() << " is not in " << mesh.ToString();
//
// A user's mistake is never a check: it is a Diagnostic (base/diagnostic). A failure of the environment is an
// absl::Status.
// Thread-safe.
#ifndef CLEAVE_BASE_CHECK_CHECK_H_
#define CLEAVE_BASE_CHECK_CHECK_H_

#include <sstream>

namespace cleave {

// Collects the message of a failed check; its destructor prints "internal error: <condition> at <file>:<line>:
// <message>" to standard error and exits with code 70.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();

  std::ostream& stream() { return message_; }

 private:
  const char* file_;
  int line_;
  const char* condition_;
  std::ostringstream message_;
};

}  // namespace cleave

#define CLEAVE_CHECK(condition) \
  while (!(condition)) ::cleave::CheckFailure(__FILE__, __LINE__, #condition).stream()

// Marks code that cannot be reached, such as the end of a function whose switch returns in every case.
#define CLEAVE_UNREACHABLE()                                                  \
  do {                                                                        \
    ::cleave::CheckFailure(__FILE__, __LINE__, "unreachable").stream() << ""; \
    __builtin_unreachable();                                                  \
  } while (false)

#endif  // CLEAVE_BASE_CHECK_CHECK_H_
