#include "runtime/safetensors/safetensors.h"

#include <algorithm>
#include <array>
#include <cinttypes>

#include "runtime/digest/digest.h"
#include "runtime/safetensors/header.h"

namespace cleave::runtime {
namespace {

using LengthBytes = std::array<unsigned char, kSafetensorsLengthBytes>;

// The length of the header; an Error where the file cannot have such a header.
Result<int64_t> HeaderBytes(const File& file, const LengthBytes& bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < bytes.size(); ++i) length |= uint64_t{bytes[i]} << (8 * i);
  if (length > kMostSafetensorsHeaderBytes) {
    return Error{ExitCode::kInput,
                 Format("`%s` is not a safetensors file, or damaged: by its first bytes its header has %" PRIu64
                        " bytes, and at most %" PRId64 " are read",
                        file.path().c_str(), length, kMostSafetensorsHeaderBytes)};
  }
  const auto header_bytes = static_cast<int64_t>(length);
  const int64_t following = file.bytes() - kSafetensorsLengthBytes;
  if (header_bytes > following) {
    return Error{ExitCode::kInput,
                 Format("`%s` is truncated: its header has %" PRId64 " bytes, and %" PRId64 " follow where it begins",
                        file.path().c_str(), header_bytes, following)};
  }
  return header_bytes;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  Result<File> opened = File::Open(path);
  if (!opened.ok()) return opened.error();
  SafetensorsFile result(std::move(opened.value()));
  const File& file = result.file_;
  if (file.bytes() < kSafetensorsLengthBytes) {
    return Error{ExitCode::kInput,
                 Format("`%s` is truncated: the length of its header takes %" PRId64 " bytes, and it has %" PRId64,
                        path.c_str(), kSafetensorsLengthBytes, file.bytes())};
  }
  LengthBytes length;
  if (auto error = file.Read(0, kSafetensorsLengthBytes, length.data())) return *error;
  const Result<int64_t> header_bytes = HeaderBytes(file, length);
  if (!header_bytes.ok()) return header_bytes.error();
  std::string header(static_cast<size_t>(header_bytes.value()), '\0');
  if (auto error = file.Read(kSafetensorsLengthBytes, header_bytes.value(), header.data())) return *error;
  if (header.empty() || header[0] != '{') {
    return Error{ExitCode::kInput,
                 Format("`%s` is not a safetensors file: its header does not begin with `{`", path.c_str())};
  }
  Digest digest;
  digest.Add(length.data(), kSafetensorsLengthBytes);
  digest.Add(header.data(), header_bytes.value());
  result.header_digest_ = digest.Value();
  Result<SafetensorsContent> content =
      ParseSafetensorsHeader(path, header, file.bytes() - kSafetensorsLengthBytes - header_bytes.value());
  if (!content.ok()) return content.error();
  result.entries_ = std::move(content.value().entries);
  result.metadata_ = std::move(content.value().metadata);
  for (size_t i = 0; i < result.entries_.size(); ++i) result.index_[result.entries_[i].name] = i;
  return result;
}

const SafetensorsEntry* SafetensorsFile::Find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

const std::string* SafetensorsFile::FindMetadata(const std::string& name) const {
  const auto found = std::lower_bound(metadata_.begin(), metadata_.end(), name,
                                      [](const auto& member, const std::string& text) { return member.first < text; });
  return found != metadata_.end() && found->first == name ? &found->second : nullptr;
}

}  // namespace cleave::runtime
