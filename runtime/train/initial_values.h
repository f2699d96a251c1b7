// Private to runtime/train: first values of parameters that are read from files, and inputs that are read once.
#ifndef CLEAVE_RUNTIME_TRAIN_INITIAL_VALUES_H_
#define CLEAVE_RUNTIME_TRAIN_INITIAL_VALUES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/comm/comm.h"
#include "runtime/error/error.h"
#include "runtime/npy/parameter_file.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

// Reads the files that single parameters name, each rank its pieces. Called by all ranks; returns an Error that all
// agree on, with all mistakes that a rank has found.
std::optional<Error> ReadParameterFiles(Comm& comm, const std::vector<ParameterFile>& files,
                                        const std::vector<ParameterView>& parameters);

// Reads the inputs that are read once, each rank its pieces. Called by all ranks, as ReadParameterFiles.
std::optional<Error> ReadInputsOnce(Comm& comm, const std::vector<ModelInput>& inputs);

// What parameters begin with.
struct InitialValues {
  std::set<std::string> found;         // Parameters that the file has.
  std::vector<std::string> lines;      // What is to be said of it.
  std::optional<CheckpointBase> base;  // Of checkpoints.
};

// What a file of parameters must be.
enum class Fit {
  kPartial,  // It has some of them, and perhaps others.
  kHasAll,   // It lacks none.
  kSame,     // It has them and no others.
};

// Reads the parameters that a safetensors file, a checkpoint, or the last one of a folder has, each rank its pieces.
// `expected`: those that must be there, where some must; `checkpoints`: the folder of those that are written. Called by
// all ranks; returns an Error that all agree on.
Result<InitialValues> ReadStoredParameters(Comm& comm, const std::string& path,
                                           const std::vector<ParameterView>& parameters, Fit fit,
                                           const std::set<std::string>& expected, const std::string& checkpoints);

// First values of what is stored in 8 bits of matrices that are in no file, and not `found`: each rank its pieces.
void SetOtherParts(const Comm& comm, uint64_t seed, const std::vector<ParameterView>& parameters,
                   const std::set<std::string>& found);

// The base of checkpoints of training that goes on from one: what of its base still stays as it is. Called by all
// ranks; returns an Error that all agree on.
Result<std::optional<CheckpointBase>> BaseOfResumed(Comm& comm, const CheckpointFacts& then,
                                                    const std::vector<ParameterView>& parameters,
                                                    const std::string& checkpoints);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_INITIAL_VALUES_H_
