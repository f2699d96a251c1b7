#include "runtime/data/idx.h"

#include <sys/stat.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "runtime/data/gzip.h"
#include "runtime/file/file.h"

namespace cleave::runtime {
namespace {

using Bytes = std::vector<uint8_t>;

Error IdxError(std::string message) { return {ExitCode::kInput, std::move(message)}; }

bool Exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

uint32_t BigEndian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

// The first `most_bytes` of a compressed file's content.
Result<Bytes> Unpack(const std::string& path, const Bytes& packed, size_t most_bytes) {
  Result<Bytes> content = Gunzip(packed, most_bytes);
  if (content.ok()) return content;
  return IdxError(Format("`%s` is a gzip file that %s", path.c_str(), content.error().message.c_str()));
}

}  // namespace

Result<Idx> ReadIdx(const std::string& path, int dimensions) {
  std::string found = path;
  if (!Exists(path)) {
    found += ".gz";
    if (!Exists(found)) return IdxError(Format("neither `%s` nor `%s` exists", path.c_str(), found.c_str()));
  }
  const Result<File> file = File::Open(found);
  if (!file.ok()) return file.error();
  const uint32_t expected_magic = 0x0800 + static_cast<uint32_t>(dimensions);
  const size_t header = 4 + 4 * static_cast<size_t>(dimensions);
  // The header says how much there should be before all of it is read.
  Bytes start(std::min(header, static_cast<size_t>(file.value().bytes())));
  if (auto error = file.value().Read(0, static_cast<int64_t>(start.size()), start.data())) return *error;
  const bool is_packed = LooksLikeGzip(start);
  Bytes packed;
  if (is_packed) {
    Result<Bytes> content = file.value().ReadAll();
    if (!content.ok()) return content.error();
    packed = std::move(content.value());
    content = Unpack(found, packed, header);
    if (!content.ok()) return content.error();
    start = std::move(content.value());
  }
  if (start.size() >= 4 && BigEndian(start.data()) != expected_magic) {
    return IdxError(Format("`%s` is not an IDX file of bytes with %d dimension%s: its magic number is 0x%08" PRIx32
                           ", expected 0x%08" PRIx32,
                           found.c_str(), dimensions, dimensions == 1 ? "" : "s", BigEndian(start.data()),
                           expected_magic));
  }
  if (start.size() < header) {
    return IdxError(
        Format("`%s` is truncated: an IDX header has %zu bytes, the file %zu", found.c_str(), header, start.size()));
  }
  Idx idx;
  std::string shape;
  int64_t elements = 1;
  bool impossible = false;
  for (int i = 0; i < dimensions; ++i) {
    const int64_t size = BigEndian(start.data() + 4 + 4 * i);
    idx.sizes.push_back(size);
    shape += Format("%s%" PRId64, i == 0 ? "" : "x", size);
    impossible = impossible || __builtin_mul_overflow(elements, size, &elements);
  }
  if (impossible) {
    return IdxError(Format("`%s` has an impossible size in its header: %s", found.c_str(), shape.c_str()));
  }
  const size_t wanted = header + static_cast<size_t>(elements);
  if (is_packed) {
    Result<Bytes> content = Unpack(found, packed, wanted + 1);
    if (!content.ok()) return content.error();
    idx.values = std::move(content.value());
  } else if (file.value().bytes() == static_cast<int64_t>(wanted)) {
    Result<Bytes> content = file.value().ReadAll();
    if (!content.ok()) return content.error();
    idx.values = std::move(content.value());
  }
  const size_t actual = is_packed ? idx.values.size() : static_cast<size_t>(file.value().bytes());
  if (actual > wanted) {
    return IdxError(Format("`%s` is too long: its header says %s = %" PRId64 " values, and more follow", found.c_str(),
                           shape.c_str(), elements));
  }
  if (actual < wanted) {
    return IdxError(Format("`%s` is truncated: its header says %s = %" PRId64 " values, it holds %zu", found.c_str(),
                           shape.c_str(), elements, actual - header));
  }
  idx.values.erase(idx.values.begin(), idx.values.begin() + static_cast<int64_t>(header));
  return idx;
}

}  // namespace cleave::runtime
