// Tensors in files of the safetensors format: opened and checked by header and size, then read by bytes or as floats.
//
//   Result<SafetensorsFile> file = SafetensorsFile::Open("model.safetensors");
//   if (!file.ok()) return file.error();
//   const SafetensorsEntry* entry = file.value().Find("w0");
//   if (auto error = file.value().Read(entry->offset, entry->bytes, w0)) return *error;
//   if (auto error = file.value().ReadPiece(*entry, {{64, 32}, {0, 16}, {64, 16}}, right_half)) return *error;
//
// Types are BOOL, U8, I8, F8_E4M3, F8_E5M2, I16, U16, F16, BF16, I32, U32, F32, F64, I64 and U64. Every mistake is an
// Error with exit code 3. Reading is thread-safe.
//
// Format: https://huggingface.co/docs/safetensors
#ifndef CLEAVE_RUNTIME_SAFETENSORS_SAFETENSORS_H_
#define CLEAVE_RUNTIME_SAFETENSORS_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/file/file.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

struct SafetensorsEntry {
  std::string name;
  std::string type;            // "F32"
  std::vector<int64_t> shape;  // Empty for a scalar.
  int64_t offset = 0;          // In the file, of the first byte.
  int64_t bytes = 0;
};

// Texts by name.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

class SafetensorsFile {
 public:
  // Opens a file whose header and size are as they must be.
  static Result<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }

  // In the order of their bytes, which are all bytes behind the header.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }

  // Null where there is none of this name.
  const SafetensorsEntry* Find(const std::string& name) const;

  // Sorted by name.
  const SafetensorsMetadata& metadata() const { return metadata_; }
  const std::string* FindMetadata(const std::string& name) const;

  // The digest (runtime/digest) of all bytes before the tensors.
  uint64_t header_digest() const { return header_digest_; }

  // Exactly `count` bytes from byte `offset` of the file on.
  std::optional<Error> Read(int64_t offset, int64_t count, void* target) const {
    return file_.Read(offset, count, target);
  }

  // `count` consecutive values of a tensor from value `first` on. An Error where its type is none of F32, F64 (rounded
  // to float), F16 and BF16, or float cannot hold a value. REQUIRES: the entry is this file's, and has the values.
  std::optional<Error> ReadRun(const SafetensorsEntry& entry, int64_t first, int64_t count, float* values) const;

  // The same for a piece of the tensor. REQUIRES: piece.shape is the tensor's.
  std::optional<Error> ReadPiece(const SafetensorsEntry& entry, const Region& piece, float* values) const;

 private:
  explicit SafetensorsFile(File file) : file_(std::move(file)) {}

  File file_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, size_t> index_;  // Of the entries, by name.
  SafetensorsMetadata metadata_;
  uint64_t header_digest_ = 0;
};

// Whether values of this type are read as float.
bool IsSafetensorsFloat(const std::string& type);

// What a file calls something, which may be anything, for one line of a message.
std::string ShownSafetensorsName(const std::string& name);

// "F32[64, 32]"
std::string SafetensorsTypeText(const SafetensorsEntry& entry);

// The bytes of a tensor; nullopt where the type is unknown, a size is negative or the number does not fit.
std::optional<int64_t> SafetensorsBytes(const std::string& type, const std::vector<int64_t>& shape);

// The bytes that stand before the tensors of a file, a multiple of 64. The tensors follow in the order of `entries`,
// whose offsets are set. How many bytes it has depends on the lengths of names, shapes and texts alone (as they are
// escaped in JSON), so that it can be made again when other texts are known. An Error where it would be longer than
// what is read.
//
// REQUIRES: the names differ, and none is `__metadata__`; `bytes` of each entry is its SafetensorsBytes.
Result<std::string> SafetensorsHeader(std::vector<SafetensorsEntry>& entries, const SafetensorsMetadata& metadata);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_SAFETENSORS_SAFETENSORS_H_
