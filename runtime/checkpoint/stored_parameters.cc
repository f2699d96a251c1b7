#include "runtime/checkpoint/stored_parameters.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "runtime/checkpoint/messages.h"
#include "runtime/checkpoint/slices.h"
#include "runtime/device/rounded.h"
#include "runtime/digest/digest.h"

namespace cleave::runtime {
namespace {

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Without links as far as it exists.
std::filesystem::path AbsolutePath(const std::string& path) {
  std::error_code error;
  std::filesystem::path canonical = std::filesystem::weakly_canonical(path, error);
  return canonical.is_absolute() ? canonical : std::filesystem::absolute(path, error).lexically_normal();
}

// "`w0`, `b0` and 7 more"
std::string QuotedNames(std::vector<std::string> names) {
  for (std::string& name : names) name = "`" + ShownSafetensorsName(name) + "`";
  return names.empty() ? "none" : Listed(names);
}

// Reads a piece as it is wanted; `values`: of floats, or the bytes of whole numbers in their place.
std::optional<Error> ReadPieceOf(const StateTensor& tensor, const SafetensorsFile& file, const SafetensorsEntry& entry,
                                 const Region& piece, float* values) {
  if (!IsInteger(tensor)) return file.ReadPiece(entry, piece, values);
  constexpr auto kBytes = static_cast<int64_t>(sizeof(int32_t));
  std::optional<Error> error;
  ForEachRun(piece, [&](int64_t global, int64_t local, int64_t count) {
    if (!error.has_value()) error = file.Read(entry.offset + global * kBytes, count * kBytes, values + local);
  });
  return error;
}

std::optional<Error> LoadFromFile(const SafetensorsFile& file, const std::vector<StateTensor>& found, const Mesh& mesh,
                                  int64_t rank) {
  std::vector<float> on_host;
  for (const StateTensor& tensor : found) {
    if (!IsHeldBy(tensor.layout, mesh, rank)) continue;
    const ValueSource source = SourceOf(tensor);
    const Region piece = RegionOf(StoredLayout(source.layout, mesh), mesh, rank);
    const SafetensorsEntry& entry = *file.Find(source.name);
    if (IsReadInPlace(tensor)) {
      if (auto error = ReadPieceOf(tensor, file, entry, piece, tensor.values.As<float>())) return error;
      continue;
    }
    on_host.resize(static_cast<size_t>(ElementCount(piece.size)));
    if (auto error = ReadPieceOf(tensor, file, entry, piece, on_host.data())) return error;
    SetFrom(tensor, RegionOf(StoredLayout(tensor.layout, mesh), mesh, rank), on_host);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> MatchedParameters::Lines(const std::string& path) const {
  std::set<std::string> names;
  for (const StateTensor& tensor : found) names.insert(SourceOf(tensor).name);
  std::vector<std::string> lines = {Format("%zu of %zu parameters begin with the values in `%s`", names.size(),
                                           names.size() + missing.size(), path.c_str())};
  if (!missing.empty()) lines.push_back("not there, so with initial values: " + QuotedNames(missing));
  if (!unknown.empty()) lines.push_back("there, but not in the model: " + QuotedNames(unknown));
  return lines;
}

std::string StoredParametersPath(const std::string& path) {
  const std::vector<std::string> checkpoints = CheckpointsIn(path);
  return checkpoints.empty() ? path : checkpoints.front();
}

Result<StoredParameters> StoredParameters::Open(const std::string& path) {
  if (!IsFolder(path)) {
    Result<SafetensorsFile> file = SafetensorsFile::Open(path);
    if (!file.ok()) return file.error();
    StoredParameters result(path, std::move(file.value()));
    for (const SafetensorsEntry& entry : std::get<SafetensorsFile>(result.source_).entries()) {
      result.tensors_.push_back({entry.name, entry.type, entry.shape});
    }
    return result;
  }
  if (!IsCheckpoint(path)) {
    return Error{
        ExitCode::kInput,
        Format("no checkpoint is in `%s`; parameters are read from a safetensors file or a checkpoint", path.c_str())};
  }
  Result<Checkpoint> checkpoint = Checkpoint::Open(path);
  if (!checkpoint.ok()) return checkpoint.error();
  StoredParameters result(path, std::move(checkpoint.value()));
  for (const StateTensor& tensor : std::get<Checkpoint>(result.source_).Parameters()) {
    result.tensors_.push_back({tensor.name, StoredTypeOf(tensor), tensor.layout.shape});
  }
  return result;
}

Result<MatchedParameters> StoredParameters::Match(const std::vector<StateTensor>& parameters, const Mesh& mesh) const {
  std::map<std::string, const Tensor*> stored;
  for (const Tensor& tensor : tensors_) stored[tensor.name] = &tensor;
  MatchedParameters matched;
  std::string mistakes;
  std::set<std::string> seen;
  for (const StateTensor& parameter : parameters) {
    const ValueSource source = SourceOf(parameter);
    const bool is_new = seen.insert(source.name).second;
    const auto found = stored.find(source.name);
    if (found == stored.end()) {
      if (is_new) matched.missing.push_back(source.name);
      continue;
    }
    const Tensor& tensor = *found->second;
    const std::vector<int64_t> shape = StoredLayout(source.layout, mesh).shape;
    const bool is_of_type = IsInteger(parameter) ? tensor.type == "I32" : IsSafetensorsFloat(tensor.type);
    const bool is_wrong = !is_of_type || tensor.shape != shape;
    if (is_wrong && is_new) {
      mistakes += Format("%s`%s` holds `%s` as %s%s, and the %s%s", mistakes.empty() ? "" : "\nerror: ", path_.c_str(),
                         source.name.c_str(), tensor.type.c_str(), ShapeText(tensor.shape).c_str(),
                         IsInteger(parameter) ? "state is i32" : "parameter is f32", ShapeText(shape).c_str());
    }
    matched.found.push_back(parameter);
  }
  if (!mistakes.empty()) return Error{ExitCode::kInput, mistakes};
  for (const Tensor& tensor : tensors_) {
    if (seen.count(tensor.name) == 0) matched.unknown.push_back(tensor.name);
  }
  if (!matched.found.empty()) return matched;
  return Error{ExitCode::kInput,
               Format("`%s` has no parameter of the model; it has %s, and the parameters are %s", path_.c_str(),
                      QuotedNames(matched.unknown).c_str(), QuotedNames(matched.missing).c_str())};
}

Result<std::optional<CheckpointBase>> StoredParameters::BaseOf(const std::vector<StateTensor>& unchanged,
                                                               const std::string& folder) const {
  const auto* const checkpoint = std::get_if<Checkpoint>(&source_);
  CheckpointBase base;
  std::set<std::string> names;
  if (checkpoint == nullptr) {
    base.path = AbsolutePath(path_).string();
    for (const Tensor& tensor : tensors_) names.insert(tensor.name);
  } else if (checkpoint->facts().base.has_value()) {
    base.path = AbsolutePath(checkpoint->facts().base->path).string();
    for (const StateTensor& tensor : checkpoint->facts().base->tensors) names.insert(tensor.name);
  }
  for (const StateTensor& tensor : unchanged) {
    if (names.count(tensor.name) > 0) base.tensors.push_back(tensor);
  }
  if (base.tensors.empty()) return std::optional<CheckpointBase>();
  const Result<StoredParameters> file = Open(base.path);
  if (!file.ok()) return file.error();
  Result<std::string> digest = file.value().DigestOf(base.tensors);
  if (!digest.ok()) return digest.error();
  base.digest = std::move(digest.value());
  base.beside = std::filesystem::path(base.path).lexically_relative(AbsolutePath(folder)).string();
  return std::optional(std::move(base));
}

Result<std::string> StoredParameters::DigestOf(const std::vector<StateTensor>& tensors) const {
  const auto& file = std::get<SafetensorsFile>(source_);
  constexpr int64_t kBytes = 64 * 1024;
  std::vector<char> first(kBytes);
  Digest digest;
  for (const StateTensor& tensor : tensors) {
    const std::string& name = tensor.name;
    const SafetensorsEntry* const entry = file.Find(name);
    if (entry == nullptr) {
      return Error{ExitCode::kInput,
                   Format("`%s` does not have `%s`", path_.c_str(), ShownSafetensorsName(name).c_str())};
    }
    const std::string type = name + " " + SafetensorsTypeText(*entry);
    digest.Add(type.data(), static_cast<int64_t>(type.size()));
    const int64_t count = std::min(entry->bytes, kBytes);
    if (auto error = file.Read(entry->offset, count, first.data())) return *error;
    digest.Add(first.data(), count);
  }
  return DigestText(digest.Value());
}

std::optional<Error> StoredParameters::Load(const std::vector<StateTensor>& found, const Mesh& mesh,
                                            int64_t rank) const {
  if (const auto* checkpoint = std::get_if<Checkpoint>(&source_)) return checkpoint->Load(found, mesh, rank);
  return LoadFromFile(std::get<SafetensorsFile>(source_), found, mesh, rank);
}

}  // namespace cleave::runtime
