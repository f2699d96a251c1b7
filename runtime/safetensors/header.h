// Private to runtime/safetensors: the header of a file.
#ifndef CLEAVE_RUNTIME_SAFETENSORS_HEADER_H_
#define CLEAVE_RUNTIME_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/safetensors/safetensors.h"

namespace cleave::runtime {

// Before the header stands its length.
constexpr int64_t kSafetensorsLengthBytes = 8;

// The limit of the reference implementation.
constexpr int64_t kMostSafetensorsHeaderBytes = 100'000'000;

struct SafetensorsContent {
  std::vector<SafetensorsEntry> entries;  // In the order of their bytes.
  SafetensorsMetadata metadata;
};

// What a header says of the `tensor_bytes` bytes that follow it. `path` names the file in errors.
Result<SafetensorsContent> ParseSafetensorsHeader(const std::string& path, const std::string& header,
                                                  int64_t tensor_bytes);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_SAFETENSORS_HEADER_H_
