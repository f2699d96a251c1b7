#include "runtime/error/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cleave::runtime {
namespace {

constexpr char kErase[] = "\r\033[K";  // The line on which the cursor is.

std::atomic<bool> is_shown = false;

// How wide the terminal is; 80 where nothing says so.
size_t Columns() {
  const char* const wish = std::getenv("CLEAVE_COLUMNS");
  if (const int columns = wish == nullptr ? 0 : std::atoi(wish); columns > 0) return static_cast<size_t>(columns);
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

bool WantsProgressLine() {
  if (const char* wish = std::getenv("CLEAVE_PROGRESS")) return std::strcmp(wish, "1") == 0;
  return std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr && isatty(STDOUT_FILENO) != 0;
}

bool ShowProgressLine(const std::string& text) {
  // Some terminals go to the next line once the last column is written.
  const size_t columns = Columns() - 1;
  is_shown = true;
  return std::printf("%s%s", kErase, text.substr(0, columns).c_str()) > 0 && std::fflush(stdout) == 0;
}

void EndProgressLine() {
  if (!is_shown.exchange(false)) return;
  std::fputs(kErase, stdout);
  std::fflush(stdout);
}

}  // namespace cleave::runtime
