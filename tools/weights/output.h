// Tensors that are written: into a .safetensors file, or several with their index, or into .npy files of a folder.
//
//   const OutputOptions options = {.type = WeightType::kBf16, .shard_bytes = 50'000'000'000};
//   runtime::Result<WeightOutput> output = WeightOutput::Create("model.safetensors", {{"w", {2}}}, options);
//   if (!output.ok()) return output.error();
//   if (auto error = output.value().Write(0, {1, 2})) return *error;
//   if (auto error = output.value().Finish()) return *error;
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

namespace cleave::tools {

struct OutputTensor {
  std::string name;
  std::vector<int64_t> shape;
};

// What values are rounded to: to the nearest, ties to even.
enum class WeightType { kF32, kBf16, kF16 };

const char* SafetensorsName(WeightType type);  // "BF16"
int64_t BytesOf(WeightType type);              // Of a value.

struct OutputOptions {
  WeightType type = WeightType::kF32;
  // A .safetensors file of more bytes of values is divided as transformers does it: into
  // `model-00001-of-00002.safetensors` and so on, in the order of the tensors, with `model.safetensors.index.json`. A
  // tensor is never divided. 0: one file.
  int64_t shard_bytes = 0;
  bool is_replaced = false;  // Files that exist may be replaced.
};

// What is renamed is on disk when its folder is. False where that fails; errno says why.
bool SyncFolderOf(const std::string& path);

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

// The file at `path`, replaced when all of `text` is on disk.
std::optional<runtime::Error> WriteText(const std::string& path, const std::string& text);

class WeightOutput {
 public:
  // `path`: a name that ends in .safetensors, or a folder that exists. Errors: kUsage where it is neither, where there
  // is a file already and it is not to be replaced, or where .npy files cannot have the options; kInput for names that
  // cannot be written so, or that two tensors have; kEnvironment.
  static runtime::Result<WeightOutput> Create(const std::string& path, const std::vector<OutputTensor>& tensors,
                                              const OutputOptions& options);

  // All values of a tensor. REQUIRES: tensors come in their order, each once. An Error is kInput where a number is too
  // large for the type.
  std::optional<runtime::Error> Write(size_t tensor, const std::vector<float>& values);
  std::optional<runtime::Error> Finish();

 private:
  struct Shard {
    std::string path, header;
    size_t end = 0;  // Behind its last tensor.
  };

  std::optional<runtime::Error> PlanShards();
  std::optional<runtime::Error> OpenShard();
  std::optional<runtime::Error> WriteIndex();
  std::optional<runtime::Error> WriteNpy(size_t tensor, const std::vector<float>& values);
  std::optional<runtime::Error> WriteValues(size_t tensor, int64_t offset, const std::vector<float>& values,
                                            PendingFile& file) const;

  std::string path_;
  bool is_folder_ = false;  // Of .npy files.
  OutputOptions options_;
  std::vector<OutputTensor> tensors_;
  std::vector<int64_t> offsets_;  // Of tensors in their shards.
  std::vector<Shard> shards_;     // One, where the file is not divided.
  size_t written_ = 0;            // Tensors.
  std::vector<PendingFile> files_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_OUTPUT_H_
