#include "runtime/train/initial_values.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "runtime/checkpoint/stored_parameters.h"
#include "runtime/device/memory.h"
#include "runtime/launch/launch.h"

namespace cleave::runtime {
namespace {

StateTensor TensorOf(const ParameterView& view) { return {view.name, view.layout, view.values, view.part}; }

// Reads the file's piece to where the parameter lies.
std::optional<Error> ReadParameterFile(const ParameterFile& file, const ParameterView& view, const Comm& comm) {
  const StateTensor tensor = TensorOf(view);
  const Region region = RegionOf(SourceOf(tensor).layout, comm.mesh(), comm.rank());
  if (IsReadInPlace(tensor)) return file.read(file, region, view.values);
  std::vector<float> values(static_cast<size_t>(ElementCount(region.size)));
  const Reals on_host = IsInteger(tensor) ? Reals(reinterpret_cast<int32_t*>(values.data())) : Reals(values.data());
  std::optional<Error> error = file.read(file, region, on_host);
  if (!error.has_value()) SetFrom(tensor, RegionOf(view.layout, comm.mesh(), comm.rank()), values);
  return error;
}

template <typename T>
std::optional<Error> ErrorOf(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional<Error>(result.error());
}

std::vector<StateTensor> UnchangedOf(const std::vector<ParameterView>& parameters) {
  std::vector<StateTensor> unchanged;
  for (const ParameterView& view : parameters) {
    const bool is_other_part = view.part.has_value() && !view.part->is_numbers;
    if (!view.is_in_params || is_other_part || view.values.type() == RealType::kI32) continue;
    ValueSource source = SourceOf(TensorOf(view));
    unchanged.push_back({std::move(source.name), std::move(source.layout)});
  }
  return unchanged;
}

// Reads the rank's piece of the only record to where the input lies.
std::optional<Error> ReadOnce(const ModelInput& input) {
  const Result<std::unique_ptr<Records>> records = input.file.open(input);
  if (!records.ok()) return records.error();
  if (TensorsAreOnHost()) return records.value()->Read(0, input);
  const int64_t count = ElementCount(input.region.size);
  std::vector<float> floats(static_cast<size_t>(input.is_float ? count : 0));
  std::vector<int32_t> integers(static_cast<size_t>(input.is_float ? 0 : count));
  ModelInput on_host = input;
  on_host.floats = floats.data();
  on_host.integers = integers.data();
  if (std::optional<Error> error = records.value()->Read(0, on_host)) return error;
  if (input.is_float) {
    CopyToDevice(floats.data(), input.floats, count * static_cast<int64_t>(sizeof(float)));
  } else {
    CopyToDevice(integers.data(), input.integers, count * static_cast<int64_t>(sizeof(int32_t)));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> ReadInputsOnce(Comm& comm, const std::vector<ModelInput>& inputs) {
  std::string mistakes;
  for (const ModelInput& input : inputs) {
    const std::optional<Error> error = input.is_read_once() ? ReadOnce(input) : std::nullopt;
    if (error.has_value()) mistakes += (mistakes.empty() ? "" : "\nerror: ") + error->message;
  }
  if (mistakes.empty()) return Agree(comm, std::nullopt);
  return Agree(comm, Error{ExitCode::kInput, mistakes});
}

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
                                           const std::vector<ParameterView>& parameters, Fit fit,
                                           const std::set<std::string>& expected, const std::string& checkpoints) {
  // Checkpoints may come and go: rank 0 says which one it is.
  const std::string chosen = FromFirst(comm, StoredParametersPath(path));
  const Result<StoredParameters> stored = StoredParameters::Open(chosen);
  if (auto error = Agree(comm, ErrorOf(stored))) return *error;
  std::vector<StateTensor> tensors;
  for (const ParameterView& view : parameters) tensors.push_back(TensorOf(view));
  const Result<MatchedParameters> matched = stored.value().Match(tensors, comm.mesh());
  if (auto error = Agree(comm, ErrorOf(matched))) return *error;
  const std::vector<std::string> lines = matched.value().Lines(chosen);
  const std::vector<std::string>& missing = matched.value().missing;
  const bool lacks_some =
      std::any_of(missing.begin(), missing.end(), [&](const std::string& name) { return expected.count(name) > 0; });
  const bool has_others = fit == Fit::kSame && !matched.value().unknown.empty();
  if (fit != Fit::kPartial && (lacks_some || has_others)) {
    std::string text = lacks_some ? "not all parameters are stored" : "other tensors are stored than the model has";
    for (const std::string& line : lines) text += "\n" + line;
    if (fit == Fit::kSame) text += "\n`--partial`, or `params = partial(\"PATH\")`, takes what is there";
    return Error{ExitCode::kInput, text};
  }
  if (auto error = Agree(comm, stored.value().Load(matched.value().found, comm.mesh(), comm.rank()))) return *error;
  Result<std::optional<CheckpointBase>> base = stored.value().BaseOf(UnchangedOf(parameters), checkpoints);
  if (auto error = Agree(comm, ErrorOf(base))) return *error;
  std::set<std::string> found;
  for (const StateTensor& tensor : matched.value().found) found.insert(tensor.name);
  return InitialValues{std::move(found), lines, std::move(base.value())};
}

void SetOtherParts(const Comm& comm, uint64_t seed, const std::vector<ParameterView>& parameters,
                   const std::set<std::string>& found) {
  std::vector<float> rows;
  for (const ParameterView& view : parameters) {
    const bool is_set =
        !view.part.has_value() || view.part->first == FirstValues::kOfFile || found.count(view.name) > 0;
    if (is_set || !IsHeldBy(view.layout, comm.mesh(), comm.rank())) continue;
    const StateTensor tensor = TensorOf(view);
    const Region piece = RegionOf(SourceOf(tensor).layout, comm.mesh(), comm.rank());
    rows.resize(static_cast<size_t>(ElementCount(piece.size)));
    FillRows(*view.part, seed, piece, rows.data());
    SetFrom(tensor, RegionOf(view.layout, comm.mesh(), comm.rank()), rows);
  }
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
