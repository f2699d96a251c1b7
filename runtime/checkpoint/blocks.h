// Private to runtime/checkpoint: the values of a slice, in blocks that have digests.
#ifndef CLEAVE_RUNTIME_CHECKPOINT_BLOCKS_H_
#define CLEAVE_RUNTIME_CHECKPOINT_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/mesh/mesh.h"
#include "runtime/safetensors/safetensors.h"

namespace cleave::runtime {

// The digests of the blocks of these bytes, 16 characters each, with spaces between them.
std::string BlockDigests(const char* bytes, int64_t count);
size_t BlockDigestsLength(int64_t count);

// Reads parts of one tensor of a file in ascending order, each block once, and checks each that it reads.
class BlockReader {
 public:
  // `digests`: of the tensor's blocks. All outlive the reader.
  BlockReader(const SafetensorsFile& file, const SafetensorsEntry& entry, const std::string& digests)
      : file_(file), entry_(entry), digests_(digests) {}

  // `count` values from value `first` on.
  std::optional<Error> Read(int64_t first, int64_t count, float* values);

 private:
  std::optional<Error> Take(int64_t block);

  const SafetensorsFile& file_;
  const SafetensorsEntry& entry_;
  const std::string& digests_;
  int64_t present_ = -1;  // The block that is in `content_`.
  std::vector<char> content_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHECKPOINT_BLOCKS_H_
