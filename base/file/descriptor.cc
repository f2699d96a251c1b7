#include "base/file/descriptor.h"

#include <cerrno>

namespace cleave {

bool WriteAll(const Descriptor& file, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file.number(), text.data(), text.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace cleave
