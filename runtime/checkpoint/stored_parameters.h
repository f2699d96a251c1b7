// The values of parameters in a safetensors file or a checkpoint, for training that begins with them.
//
//   Result<StoredParameters> stored = StoredParameters::Open("model.safetensors");
//   if (!stored.ok()) return stored.error();
//   Result<MatchedParameters> matched = stored.value().Match(parameters, mesh);
//   if (!matched.ok()) return matched.error();
//   if (auto error = stored.value().Load(matched.value().found, mesh, rank)) return *error;
//
// A tensor belongs to the parameter of its name. Of a checkpoint, the states of the optimizer are left out. Every
// mistake is an Error with exit code 3 that names the file.
#ifndef CLEAVE_RUNTIME_CHECKPOINT_STORED_PARAMETERS_H_
#define CLEAVE_RUNTIME_CHECKPOINT_STORED_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/error/error.h"
#include "runtime/mesh/mesh.h"
#include "runtime/safetensors/safetensors.h"

namespace cleave::runtime {

// Which parameters of a model are stored, each list in its own order.
struct MatchedParameters {
  std::vector<StateTensor> found;
  std::vector<std::string> missing;  // Parameters of the model that are not stored.
  std::vector<std::string> unknown;  // Stored tensors that the model does not have.

  // "12 of 14 parameters begin with the values in `model.safetensors`", and a line for each other list that has names.
  std::vector<std::string> Lines(const std::string& path) const;
};

// The last checkpoint of a folder of checkpoints, or the path itself: of a safetensors file or of one checkpoint.
std::string StoredParametersPath(const std::string& path);

class StoredParameters {
 public:
  // `path`: what StoredParametersPath gives.
  static Result<StoredParameters> Open(const std::string& path);

  // An Error that lists all shapes that differ, and one where no parameter is found. A tensor that each rank has for
  // itself is stored as one with a dimension more in front, of the ranks.
  Result<MatchedParameters> Match(const std::vector<StateTensor>& parameters, const Mesh& mesh) const;

  // Those of these that need not be written again, because they stay as they are in a file: the file itself, or that of
  // a checkpoint. nullopt where there are none. `folder`: of the checkpoints that will need it.
  Result<std::optional<CheckpointBase>> BaseOf(const std::vector<StateTensor>& unchanged,
                                               const std::string& folder) const;

  // Of what tells these tensors of a file from others: types, shapes, and the first values of each. An Error where one
  // is missing. REQUIRES: it is no checkpoint.
  Result<std::string> DigestOf(const std::vector<StateTensor>& tensors) const;

  // Reads the rank's pieces, of a checkpoint with their digests. REQUIRES: `found` is what Match has found.
  std::optional<Error> Load(const std::vector<StateTensor>& found, const Mesh& mesh, int64_t rank) const;

 private:
  struct Tensor {
    std::string name;
    std::string type;  // "F32"
    std::vector<int64_t> shape;
  };

  StoredParameters(std::string path, std::variant<SafetensorsFile, Checkpoint> source)
      : path_(std::move(path)), source_(std::move(source)) {}

  std::string path_;
  std::variant<SafetensorsFile, Checkpoint> source_;
  std::vector<Tensor> tensors_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHECKPOINT_STORED_PARAMETERS_H_
