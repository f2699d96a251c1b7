#include "runtime/train/initial_values.h"

#include <set>
#include <utility>

#include "runtime/checkpoint/stored_parameters.h"
#include "runtime/device/rounded.h"
#include "runtime/launch/launch.h"

namespace cleave::runtime {
namespace {

// Reads the file's piece to where the parameter lies.
std::optional<Error> ReadParameterFile(const ParameterFile& file, const ParameterView& view, const Comm& comm) {
  const Region region = RegionOf(view.layout, comm.mesh(), comm.rank());
  if (AreFloatsOnHost(view.values)) return file.read(file, region, view.values.As<float>());
  std::vector<float> values(static_cast<size_t>(ElementCount(region.size)));
  std::optional<Error> error = file.read(file, region, values.data());
  if (!error.has_value()) CopyRounded(values.data(), static_cast<int64_t>(values.size()), view.values);
  return error;
}

template <typename T>
std::optional<Error> ErrorOf(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional<Error>(result.error());
}

std::vector<StateTensor> UnchangedOf(const std::vector<ParameterView>& parameters) {
  std::vector<StateTensor> unchanged;
  for (const ParameterView& view : parameters) {
    if (view.is_in_params) unchanged.push_back({view.name, view.layout});
  }
  return unchanged;
}

}  // namespace

std::optional<Error> ReadParameterFiles(Comm& comm, const std::vector<ParameterFile>& files,
                                        const std::vector<ParameterView>& parameters) {
  std::string mistakes;
  for (const ParameterFile& file : files) {
    for (const ParameterView& view : parameters) {
      if (view.name != file.parameter || !IsHeldBy(view.layout, comm.mesh(), comm.rank())) continue;
      const std::optional<Error> error = ReadParameterFile(file, view, comm);
      if (error.has_value()) mistakes += (mistakes.empty() ? "" : "\nerror: ") + error->message;
    }
  }
  if (mistakes.empty()) return Agree(comm, std::nullopt);
  return Agree(comm, Error{ExitCode::kInput, mistakes});
}

Result<InitialValues> ReadStoredParameters(Comm& comm, const std::string& path,
                                           const std::vector<ParameterView>& parameters, bool needs_all,
                                           const std::string& checkpoints) {
  // Checkpoints may come and go: rank 0 says which one it is.
  const std::string chosen = FromFirst(comm, StoredParametersPath(path));
  const Result<StoredParameters> stored = StoredParameters::Open(chosen);
  if (auto error = Agree(comm, ErrorOf(stored))) return *error;
  std::vector<StateTensor> tensors;
  for (const ParameterView& view : parameters) tensors.push_back({view.name, view.layout, view.values});
  const Result<MatchedParameters> matched = stored.value().Match(tensors, comm.mesh());
  if (auto error = Agree(comm, ErrorOf(matched))) return *error;
  const std::vector<std::string> lines = matched.value().Lines(chosen);
  if (needs_all && !matched.value().missing.empty()) {
    std::string text = "not all parameters are stored";
    for (const std::string& line : lines) text += "\n" + line;
    return Error{ExitCode::kInput, text};
  }
  if (auto error = Agree(comm, stored.value().Load(matched.value().found, comm.mesh(), comm.rank()))) return *error;
  Result<std::optional<CheckpointBase>> base = stored.value().BaseOf(UnchangedOf(parameters), checkpoints);
  if (auto error = Agree(comm, ErrorOf(base))) return *error;
  return InitialValues{lines, std::move(base.value())};
}

Result<std::optional<CheckpointBase>> BaseOfResumed(Comm& comm, const CheckpointFacts& then,
                                                    const std::vector<ParameterView>& parameters,
                                                    const std::string& checkpoints) {
  if (!then.base.has_value()) return std::optional<CheckpointBase>();
  std::set<std::string> names;
  for (const StateTensor& tensor : then.base->tensors) names.insert(tensor.name);
  std::vector<StateTensor> unchanged;
  for (StateTensor& tensor : UnchangedOf(parameters)) {
    if (names.count(tensor.name) > 0) unchanged.push_back(std::move(tensor));
  }
  const Result<StoredParameters> stored = StoredParameters::Open(then.base->path);
  if (auto error = Agree(comm, ErrorOf(stored))) return *error;
  Result<std::optional<CheckpointBase>> base = stored.value().BaseOf(unchanged, checkpoints);
  if (auto error = Agree(comm, ErrorOf(base))) return *error;
  return base;
}

}  // namespace cleave::runtime
