// Where weights are read from: a checkpoint, files of the safetensors format, or .npy files.
//
//   runtime::Result<WeightSource> source = WeightSource::Open("checkpoints");
//   if (!source.ok()) return source.error();
//   for (const WeightTensor& tensor : source.value().tensors()) {
//     if (auto error = source.value().Read(tensor, values)) return *error;
//   }
#ifndef CLEAVE_TOOLS_WEIGHTS_SOURCE_H_
#define CLEAVE_TOOLS_WEIGHTS_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/error/error.h"
#include "runtime/safetensors/safetensors.h"

namespace cleave::tools {

struct WeightTensor {
  std::string name;
  std::string type;  // As safetensors calls it: "F32", "BF16", "I64".
  std::vector<int64_t> shape;
  int64_t bytes = 0;      // As it is stored.
  std::string parameter;  // Of an optimizer's state: the parameter that it belongs to; else empty.
  size_t file = 0;        // Of several safetensors files.
};

// Whether the values are floating-point numbers that WeightSource::Read gives as f32.
bool IsReadAsFloat(const WeightTensor& tensor);

int64_t ValueCount(const std::vector<int64_t>& shape);
using runtime::ShapeText;

// A name of a file, which may be anything, on one line.
std::string ShownName(const std::string& name);

class WeightSource {
 public:
  // `path`: a checkpoint or a folder of them, of which the last is taken; a .safetensors file; a folder with
  // `model.safetensors` or with an index (`model.safetensors.index.json`) of several files, or the index; a folder
  // of .npy files, whose names without the ending are those of the tensors. Errors: kInput.
  static runtime::Result<WeightSource> Open(const std::string& path);

  const std::string& path() const { return path_; }  // Of what was opened: "checkpoints/step_500".
  const std::vector<WeightTensor>& tensors() const { return tensors_; }
  const WeightTensor* Find(const std::string& name) const;  // Null where there is none.
  const runtime::Checkpoint* checkpoint() const { return std::get_if<runtime::Checkpoint>(&content_); }

  // All values of a tensor. Those of a checkpoint are checked against their digests. REQUIRES: IsReadAsFloat(tensor).
  std::optional<runtime::Error> Read(const WeightTensor& tensor, std::vector<float>& values) const;

 private:
  struct NpyFolder {};  // The files are opened when they are read: there may be many.
  using Content = std::variant<runtime::Checkpoint, std::vector<runtime::SafetensorsFile>, NpyFolder>;

  WeightSource(std::string path, Content content) : path_(std::move(path)), content_(std::move(content)) {}

  static runtime::Result<WeightSource> OpenCheckpoint(const std::string& folder);
  static runtime::Result<WeightSource> OpenFile(const std::string& path);
  static runtime::Result<WeightSource> OpenIndex(const std::string& path);
  static runtime::Result<WeightSource> OpenNpyFolder(const std::string& folder, const std::vector<std::string>& names);
  static runtime::Result<WeightSource> OpenFolder(const std::string& folder);

  std::string path_;
  Content content_;
  std::vector<WeightTensor> tensors_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_SOURCE_H_
