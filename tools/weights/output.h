// Tensors of f32 that are written: into a .safetensors file, or into .npy files of a folder.
//
// Everything is written beside its place and renamed when all of it is on disk, so nothing is ever half written. What
// is not finished is removed.
#ifndef CLEAVE_TOOLS_WEIGHTS_OUTPUT_H_
#define CLEAVE_TOOLS_WEIGHTS_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/safetensors/safetensors.h"

namespace cleave::tools {

struct OutputTensor {
  std::string name;
  std::vector<int64_t> shape;
};

// A file beside its place. Errors are kEnvironment.
class PendingFile {
 public:
  static runtime::Result<PendingFile> Create(const std::string& path);
  PendingFile(PendingFile&& other) noexcept
      : path_(std::exchange(other.path_, "")), descriptor_(std::exchange(other.descriptor_, -1)) {}
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  std::optional<runtime::Error> Write(int64_t offset, const void* bytes, int64_t count);
  std::optional<runtime::Error> Close();   // Waits until it is on disk.
  std::optional<runtime::Error> Rename();  // Gives it its name.

 private:
  PendingFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;  // Of its place; empty where nothing is left to remove.
  int descriptor_;
};

class WeightOutput {
 public:
  // `path`: a name that ends in .safetensors, or a folder that exists. Errors: kUsage where it is neither, or where
  // there is a file already and it is not to be `replaced`; kInput for names that cannot be written so, or that two
  // tensors have; kEnvironment.
  static runtime::Result<WeightOutput> Create(const std::string& path, const std::vector<OutputTensor>& tensors,
                                              bool replaced);

  // All values of a tensor, each once.
  std::optional<runtime::Error> Write(size_t tensor, const std::vector<float>& values);
  std::optional<runtime::Error> Finish();

 private:
  std::optional<runtime::Error> WriteNpy(size_t tensor, const std::vector<float>& values);

  std::string folder_;  // Of .npy files; empty for a .safetensors file.
  std::vector<OutputTensor> tensors_;
  std::vector<runtime::SafetensorsEntry> entries_;  // Of a .safetensors file.
  std::vector<PendingFile> files_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_OUTPUT_H_
