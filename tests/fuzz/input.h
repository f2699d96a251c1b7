// What the targets of this folder share: the input of a run as text, and as a file for readers that open a path.
#ifndef CLEAVE_TESTS_FUZZ_INPUT_H_
#define CLEAVE_TESTS_FUZZ_INPUT_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cleave::tests::fuzz {

inline std::string Text(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// The parts of `text` between the characters `separator`.
inline std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// A regular file without a name in any folder, which is rewritten for every run.
class InputFile {
 public:
  InputFile() : descriptor_(memfd_create("input", 0)) {}
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() { close(descriptor_); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  void Write(const void* data, size_t size) {
    if (ftruncate(descriptor_, 0) != 0 || pwrite(descriptor_, data, size, 0) != static_cast<ssize_t>(size)) _exit(1);
  }
  void Write(const std::string& text) { Write(text.data(), text.size()); }

 private:
  int descriptor_;
};

}  // namespace cleave::tests::fuzz

#endif  // CLEAVE_TESTS_FUZZ_INPUT_H_
