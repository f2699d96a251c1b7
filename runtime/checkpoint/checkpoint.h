// Checkpoints: the state of training on disk, written and read by all ranks of a job, which may be others each time.
//
//   checkpoints/step_500/checkpoint.json        the index, written last
//   checkpoints/step_500/rank_0.safetensors     what rank 0 wrote, and so on
//
//   checkpoints/best                            where training looks for the best: a link to step_500
//
// A folder is called step_500.unfinished until all of it is on disk. docs/formats/checkpoint.md describes the files.
//
//   Result<Checkpoint> checkpoint = Checkpoint::Open("checkpoints/step_500");
//   if (!checkpoint.ok()) return checkpoint.error();
//   if (auto error = checkpoint.value().CheckFits(state, mesh)) return *error;
//   if (auto error = checkpoint.value().Load(state, mesh, rank)) return *error;
//
// Every mistake in a checkpoint is an Error with exit code 3 that names the file, and what cannot be written one with
// exit code 5.
#ifndef CLEAVE_RUNTIME_CHECKPOINT_CHECKPOINT_H_
#define CLEAVE_RUNTIME_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/matrix_part.h"
#include "runtime/device/reals.h"
#include "runtime/error/error.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// A tensor that outlives a step, and the piece of it that this rank holds. In files it is f32, or i32 where its values
// are. Of values that are elsewhere there is the type alone: NoIntegers() is that of i32.
struct StateTensor {
  std::string name;
  TensorLayout layout;
  Reals values = nullptr;
  std::optional<MatrixPart> part = {};  // What it is of a matrix that is stored in 8 bits.
};

// What is read for a tensor: itself, or the rows of the matrix of which it is a part.
struct ValueSource {
  std::string name;
  TensorLayout layout;
};
ValueSource SourceOf(const StateTensor& tensor);

inline Reals NoIntegers() { return static_cast<int32_t*>(nullptr); }
inline bool IsInteger(const StateTensor& tensor) { return tensor.values.type() == RealType::kI32; }
// What files of safetensors call its type.
inline const char* StoredTypeOf(const StateTensor& tensor) { return IsInteger(tensor) ? "I32" : "F32"; }

// Whether what is read are its values as they lie.
bool IsReadInPlace(const StateTensor& tensor);

// Rounds or quantizes what was read for a tensor, of which the rank holds `piece`, into its values.
void SetFrom(const StateTensor& tensor, const Region& piece, const std::vector<float>& read);

// The best evaluation of a training so far.
struct BestSoFar {
  std::string criterion;  // "min(loss)"
  double value = 0;
  int64_t step = 0;   // After which it was; 0: there was none with a finite value.
  int64_t since = 0;  // Evaluations after it, none of which was better.

  bool operator==(const BestSoFar& other) const {
    return criterion == other.criterion && value == other.value && step == other.step && since == other.since;
  }
};

// A safetensors file that a checkpoint needs: what training leaves as it is there is not written again.
struct CheckpointBase {
  std::string path;    // Absolute; of a checkpoint that was opened, where the file is now.
  std::string beside;  // The same from the folder of the checkpoints on: both may have been moved.
  std::string digest;  // StoredParameters::DigestOf these tensors.
  std::vector<StateTensor> tensors = {};
};

// What a checkpoint says besides the values.
struct CheckpointFacts {
  std::string model;
  int64_t step = 0;  // After how many steps.
  uint64_t seed = 0;
  // What may be another when training goes on: texts by name.
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::optional<BestSoFar> best = {};  // Of training that looks for it.
  std::optional<CheckpointBase> base = {};
};

// What a rank has written of a checkpoint.
struct Shard {
  int64_t bytes = 0;
  uint64_t digest = 0;  // Of the header, which has those of the values.
  double seconds = 0;   // That writing took.
};

// The folder of a step, "checkpoints/step_500", and the one in which it is made.
std::string CheckpointFolder(const std::string& folder, int64_t step);
std::string UnfinishedFolder(const std::string& folder, int64_t step);

// The steps of which `folder` has checkpoints, the last first; none where it does not exist.
std::vector<int64_t> CheckpointSteps(const std::string& folder);

// Whether `folder` is itself a checkpoint.
bool IsCheckpoint(const std::string& folder);

// The folder itself where it is a checkpoint, or those that are in it, the last first. The link to the best one is
// followed.
std::vector<std::string> CheckpointsIn(const std::string& folder);

// Removes what was not finished. Called before anything is written into `folder`.
void RemoveUnfinished(const std::string& folder);

// The step of the checkpoint to which the link `best` in the folder leads; 0 where there is none.
int64_t LinkedBest(const std::string& folder);

// Makes `best` a link to the checkpoint of a step, all at once; where that is not there, removes the link.
std::optional<Error> LinkBest(const std::string& folder, int64_t step);

// Gives the checkpoint of a step another name, under which it stays.
std::optional<Error> SetAside(const std::string& folder, int64_t step);

struct OpenedBase;  // Private to the crate.

class Checkpoint {
 public:
  // Reads the index of a checkpoint, and checks it.
  static Result<Checkpoint> Open(const std::string& folder);

  const CheckpointFacts& facts() const { return facts_; }
  const Mesh& mesh() const { return mesh_; }  // Of the ranks that wrote it.
  // Without values; those of the base before those that it has itself. A matrix that is stored in 8 bits is one tensor.
  const std::vector<StateTensor>& tensors() const { return tensors_; }

  // The tensors but for what the optimizer keeps: behind its parameter, under a name that begins with `PARAMETER.`.
  std::vector<StateTensor> Parameters() const;

  // An Error that lists what differs where it does not hold the same tensors.
  std::optional<Error> CheckFits(const std::vector<StateTensor>& state, const Mesh& mesh) const;

  // Reads the rank's pieces. What is stored in 8 bits may be wanted in f32, and the other way round. Whatever is read
  // is checked against its digest, so an Error is returned rather than a wrong value, but values may have been
  // overwritten then. Takes memory for a block, and on a GPU for the rank's pieces. Of the base it is checked that it
  // is the one that it was. REQUIRES: it holds these tensors in these shapes, as CheckFits finds.
  std::optional<Error> Load(const std::vector<StateTensor>& state, const Mesh& mesh, int64_t rank) const;

 private:
  std::optional<Error> LoadOwn(const std::vector<StateTensor>& state, const Mesh& mesh, int64_t rank) const;
  std::optional<Error> LoadFromBase(const std::vector<StateTensor>& state, const Mesh& mesh, int64_t rank) const;

  std::string folder_;
  CheckpointFacts facts_;
  Mesh mesh_;
  std::vector<StateTensor> tensors_;  // Without values.
  std::vector<StateTensor> stored_;   // As they are in shards and in the base.
  std::vector<Shard> shards_;         // By rank.
  // Opened when something of it is read for the first time.
  std::shared_ptr<OpenedBase> opened_;
};

// Writes and completes the folder of a checkpoint whose shards are all on disk, links it where it is the best, then
// removes all but the last `keep` and the one that is linked. `state`: what is in the shards, and so not in the base.
// Called by one rank.
std::optional<Error> Complete(const std::string& folder, const CheckpointFacts& facts, const Mesh& mesh,
                              const std::vector<StateTensor>& state, const std::vector<Shard>& shards, int64_t keep);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHECKPOINT_CHECKPOINT_H_
