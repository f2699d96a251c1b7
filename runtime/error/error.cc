#include "runtime/error/error.h"

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "runtime/error/progress_line.h"

namespace cleave::runtime {

std::string Format(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(static_cast<size_t>(size), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

void Die(ExitCode code, const std::string& message) {
  // Several threads may see a failure: the first one prints a message and ends the process.
  static std::atomic_flag ending = ATOMIC_FLAG_INIT;
  while (ending.test_and_set()) pause();
  EndProgressLine();
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::fflush(stderr);
  // Not exit: destructors of other threads' objects must not run, and mpirun ends the job when a rank leaves without
  // MPI_Finalize.
  _exit(static_cast<int>(code));
}

}  // namespace cleave::runtime
