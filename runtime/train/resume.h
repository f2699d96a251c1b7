// Private to runtime/train: training that goes on from a checkpoint.
#ifndef CLEAVE_RUNTIME_TRAIN_RESUME_H_
#define CLEAVE_RUNTIME_TRAIN_RESUME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/comm/comm.h"
#include "runtime/data/data.h"
#include "runtime/error/error.h"
#include "runtime/train/report.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

// Whether a folder has a checkpoint, as rank 0 sees it. Called by all ranks.
bool HasCheckpoint(Comm& comm, const std::string& folder);

// The seed of the last checkpoint in a folder, or of the one that the folder is. Called by all ranks; nullopt where no
// index can be read.
std::optional<uint64_t> ResumedSeed(Comm& comm, const std::string& folder);

// Reads the last good checkpoint in a folder, or the one that the folder is. Called by all ranks; returns what it says,
// or an Error that all ranks agree on and that says of each checkpoint why it cannot be used. Rank 0 says on standard
// error which checkpoints are damaged.
Result<CheckpointFacts> Resume(Comm& comm, const std::string& folder, const std::vector<StateTensor>& state);

// Makes a folder ready for checkpoints of training that goes on from step `resumed_at`, or from the beginning. Called
// by all ranks. No other job may use it meanwhile; checkpoints of later steps are set aside, and the link `best` leads
// to the best one so far; an Error where there are some and nothing was resumed. `best`: of training that looks for it.
std::optional<Error> ClaimFolder(Comm& comm, Report& report, const std::string& folder,
                                 std::optional<int64_t> resumed_at, const std::optional<BestSoFar>& best);

// What a checkpoint says of this training; `settings` are those that may be others when it goes on.
CheckpointFacts FactsOf(const TrainingSettings& settings, const Batches& batches, uint64_t seed);

// Whether evaluations of both can be compared.
bool EvaluatesTheSame(const CheckpointFacts& then, const CheckpointFacts& facts);

// That training goes on, and which settings are others.
std::string ResumedText(const CheckpointFacts& then, const CheckpointFacts& facts);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_RESUME_H_
