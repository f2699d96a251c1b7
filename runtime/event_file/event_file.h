// Curves in the files that TensorBoard reads.
//
//   Result<EventFile> curves = EventFile::Open("out/curves");
//   curves.value().Add(100, {{"loss", 0.25}, {"test/accuracy", 0.96}});
//
// Not thread-safe.
#ifndef CLEAVE_RUNTIME_EVENT_FILE_EVENT_FILE_H_
#define CLEAVE_RUNTIME_EVENT_FILE_EVENT_FILE_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

class EventFile {
 public:
  // Makes the folder if need be, and a new file in it. An Error (exit code 5) where it cannot be written to.
  static Result<EventFile> Open(const std::string& folder);
  EventFile(EventFile&& other) noexcept;
  EventFile(const EventFile&) = delete;
  ~EventFile();

  const std::string& path() const { return path_; }

  // What older files of the folder have of `step` and later ones is no more. Returns whether it was written.
  bool BeginAt(int64_t step);

  // Numbers by their names, of a step. Returns whether they were written, and flushed.
  bool Add(int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  EventFile() = default;
  bool Write(const std::string& event);

  std::string path_;
  std::FILE* file_ = nullptr;
};

// The CRC32C (Castagnoli) of bytes, RFC 3720 appendix B.4.
uint32_t Crc32c(const std::string& bytes);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_EVENT_FILE_EVENT_FILE_H_
