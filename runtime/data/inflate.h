// Reading gzip files: RFC 1952 (the container, with its checksum) and RFC 1951 (the compressed data).
#ifndef CLEAVE_RUNTIME_DATA_INFLATE_H_
#define CLEAVE_RUNTIME_DATA_INFLATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

// Whether the bytes begin like a gzip file.
bool LooksLikeGzip(const std::vector<uint8_t>& bytes);

// The content of a gzip file of one or more members. The Error says what is wrong and at which byte, in the form
// "ends in the middle of its data, at byte 512"; the caller puts the file's name in front.
Result<std::vector<uint8_t>> Gunzip(const std::vector<uint8_t>& bytes);

// CRC-32 as gzip uses it (ISO 3309).
uint32_t Crc32(const uint8_t* bytes, size_t count);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_INFLATE_H_
