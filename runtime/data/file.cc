#include "runtime/data/file.h"

#include <errno.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <utility>

namespace cleave::runtime {
namespace {

Error InputError(std::string message) { return {ExitCode::kInput, std::move(message)}; }

}  // namespace

Result<std::vector<uint8_t>> ReadFile(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return InputError(Format("cannot read `%s`: %s", path.c_str(), std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) {
    return InputError(Format("cannot read `%s`: it is %s, not a file", path.c_str(),
                             S_ISDIR(status.st_mode) ? "a directory" : "a device or a pipe"));
  }
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return InputError(Format("cannot read `%s`: %s", path.c_str(), std::strerror(errno)));
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  const size_t read = bytes.empty() ? 0 : std::fread(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  if (read != bytes.size())
    return InputError(Format("cannot read `%s`: got %zu of %zu bytes", path.c_str(), read, bytes.size()));
  return bytes;
}

}  // namespace cleave::runtime
