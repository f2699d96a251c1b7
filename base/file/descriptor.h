// The owner of a file descriptor, which closes it.
//
//   const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
//   if (file.number() < 0) return CannotRead(path, errno);
#ifndef CLEAVE_BASE_FILE_DESCRIPTOR_H_
#define CLEAVE_BASE_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

#include "absl/strings/string_view.h"

namespace cleave {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}  // Negative: none, as after an `open` that has failed.
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// Writes the whole text; false, with errno, where that fails. A signal does not end it.
bool WriteAll(const Descriptor& file, absl::string_view text);

}  // namespace cleave

#endif  // CLEAVE_BASE_FILE_DESCRIPTOR_H_
