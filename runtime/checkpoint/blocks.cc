#include "runtime/checkpoint/blocks.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/checkpoint/slices.h"
#include "runtime/digest/digest.h"

namespace cleave::runtime {
namespace {

constexpr size_t kDigestLength = 16;

int64_t BlockCount(int64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

}  // namespace

std::string BlockDigests(const char* bytes, int64_t count) {
  std::string text;
  for (int64_t begin = 0; begin < count; begin += kBlockBytes) {
    if (begin > 0) text += ' ';
    text += DigestOf(bytes + begin, std::min(kBlockBytes, count - begin));
  }
  return text;
}

size_t BlockDigestsLength(int64_t count) { return static_cast<size_t>(BlockCount(count)) * (kDigestLength + 1) - 1; }

std::optional<Error> BlockReader::Take(int64_t block) {
  if (block == present_) return std::nullopt;
  const int64_t begin = block * kBlockBytes;
  content_.resize(static_cast<size_t>(std::min(kBlockBytes, entry_.bytes - begin)));
  if (auto error = file_.Read(entry_.offset + begin, static_cast<int64_t>(content_.size()), content_.data())) {
    return error;
  }
  const std::string expected = digests_.substr(static_cast<size_t>(block) * (kDigestLength + 1), kDigestLength);
  if (DigestOf(content_.data(), static_cast<int64_t>(content_.size())) != expected) {
    return Error{ExitCode::kInput, Format("`%s` is damaged: the values of `%s` in bytes %" PRId64 " to %" PRId64
                                          " do not have their digest",
                                          file_.path().c_str(), entry_.name.c_str(), entry_.offset + begin,
                                          entry_.offset + begin + static_cast<int64_t>(content_.size()))};
  }
  present_ = block;
  return std::nullopt;
}

std::optional<Error> BlockReader::Read(int64_t first, int64_t count, float* values) {
  char* to = reinterpret_cast<char*>(values);
  const int64_t end = (first + count) * static_cast<int64_t>(sizeof(float));
  for (int64_t at = first * static_cast<int64_t>(sizeof(float)); at < end;) {
    if (auto error = Take(at / kBlockBytes)) return error;
    const int64_t in_block = at % kBlockBytes;
    const int64_t now = std::min(static_cast<int64_t>(content_.size()) - in_block, end - at);
    std::memcpy(to, content_.data() + in_block, static_cast<size_t>(now));
    to += now;
    at += now;
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
