#include "runtime/data/idx.h"

#include <sys/stat.h>

#include <cinttypes>
#include <utility>

#include "runtime/data/file.h"
#include "runtime/data/gzip.h"

namespace cleave::runtime {
namespace {

Error IdxError(std::string message) { return {ExitCode::kInput, std::move(message)}; }

bool Exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

uint32_t BigEndian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

}  // namespace

Result<Idx> ReadIdx(const std::string& path, int dimensions) {
  std::string found = path;
  if (!Exists(path)) {
    found += ".gz";
    if (!Exists(found)) return IdxError(Format("neither `%s` nor `%s` exists", path.c_str(), found.c_str()));
  }
  Result<std::vector<uint8_t>> content = ReadFile(found);
  if (!content.ok()) return content.error();
  if (LooksLikeGzip(content.value())) {
    content = Gunzip(content.value());
    if (!content.ok())
      return IdxError(Format("`%s` is a gzip file that %s", found.c_str(), content.error().message.c_str()));
  }
  std::vector<uint8_t>& bytes = content.value();
  const uint32_t expected_magic = 0x0800 + static_cast<uint32_t>(dimensions);
  const size_t header = 4 + 4 * static_cast<size_t>(dimensions);
  if (bytes.size() >= 4 && BigEndian(bytes.data()) != expected_magic) {
    return IdxError(Format("`%s` is not an IDX file of bytes with %d dimension%s: its magic number is 0x%08" PRIx32
                           ", expected 0x%08" PRIx32,
                           found.c_str(), dimensions, dimensions == 1 ? "" : "s", BigEndian(bytes.data()),
                           expected_magic));
  }
  if (bytes.size() < header) {
    return IdxError(
        Format("`%s` is truncated: an IDX header has %zu bytes, the file %zu", found.c_str(), header, bytes.size()));
  }
  Idx idx;
  std::string shape;
  int64_t elements = 1;
  bool impossible = false;
  for (int i = 0; i < dimensions; ++i) {
    const int64_t size = BigEndian(bytes.data() + 4 + 4 * i);
    idx.sizes.push_back(size);
    shape += Format("%s%" PRId64, i == 0 ? "" : "x", size);
    impossible = impossible || __builtin_mul_overflow(elements, size, &elements);
  }
  if (impossible) {
    return IdxError(Format("`%s` has an impossible size in its header: %s", found.c_str(), shape.c_str()));
  }
  const int64_t actual = static_cast<int64_t>(bytes.size() - header);
  if (actual != elements) {
    return IdxError(Format("`%s` is %s: its header says %s = %" PRId64 " values, it holds %" PRId64, found.c_str(),
                           actual < elements ? "truncated" : "too long", shape.c_str(), elements, actual));
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<int64_t>(header));
  idx.values = std::move(bytes);
  return idx;
}

}  // namespace cleave::runtime
