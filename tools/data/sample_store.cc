#include "tools/data/sample_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/file/file.h"

namespace cleave::tools {
namespace {

constexpr size_t kPending = size_t{1} << 17;

Diagnostic Failed(const std::string& folder, const char* what) {
  return Error(Code::kE0602,
               absl::StrCat("cannot ", what, " a file in ", QuotedPath(folder), ": ", std::strerror(errno)));
}

}  // namespace

SampleStore::~SampleStore() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<Diagnostic> SampleStore::Create(const std::string& folder) {
  folder_ = folder;
  std::string path = absl::StrCat(folder, "/samples.XXXXXX");
  descriptor_ = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor_ < 0) return Failed(folder, "make");
  unlink(path.c_str());
  return std::nullopt;
}

std::optional<Diagnostic> SampleStore::Add(const LabelledToken* begin, const LabelledToken* end,
                                           uint32_t conversation) {
  lengths_.push_back(static_cast<uint32_t>(end - begin));
  conversations_.push_back(conversation);
  begins_.push_back(written_ + pending_.size());
  pending_.insert(pending_.end(), begin, end);
  return pending_.size() >= kPending ? Flush() : std::nullopt;
}

std::optional<Diagnostic> SampleStore::Finish() { return Flush(); }

std::optional<Diagnostic> SampleStore::Flush() {
  const auto* bytes = reinterpret_cast<const char*>(pending_.data());
  size_t left = pending_.size() * sizeof(LabelledToken);
  while (left > 0) {
    const ssize_t count = write(descriptor_, bytes, left);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed(folder_, "write");
    bytes += count;
    left -= static_cast<size_t>(count);
  }
  written_ += pending_.size();
  pending_.clear();
  return std::nullopt;
}

std::optional<Diagnostic> SampleStore::Read(uint32_t sample, std::vector<LabelledToken>& tokens) const {
  tokens.resize(lengths_[sample]);
  auto* bytes = reinterpret_cast<char*>(tokens.data());
  size_t left = tokens.size() * sizeof(LabelledToken);
  auto offset = static_cast<off_t>(begins_[sample] * sizeof(LabelledToken));
  while (left > 0) {
    const ssize_t count = pread(descriptor_, bytes, left, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Failed(folder_, "read");
    bytes += count;
    left -= static_cast<size_t>(count);
    offset += count;
  }
  return std::nullopt;
}

}  // namespace cleave::tools
