// Private to runtime/data: reading gzip files (RFC 1952), by zlib.
#ifndef CLEAVE_RUNTIME_DATA_GZIP_H_
#define CLEAVE_RUNTIME_DATA_GZIP_H_

#include <cstdint>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

// Whether the bytes begin like a gzip file.
bool LooksLikeGzip(const std::vector<uint8_t>& bytes);

// The content of a gzip file of one or more members, or its first `most_bytes` where there are more: a small file can
// have a very large content. The Error says what is wrong and how far the file was read, in the form "ends in the
// middle of its data, at byte 512"; the caller puts the file's name in front.
Result<std::vector<uint8_t>> Gunzip(const std::vector<uint8_t>& bytes, size_t most_bytes = SIZE_MAX);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_GZIP_H_
