// Reading guide: Open looks at what the path leads to; one function opens each kind.
#include "tools/weights/source.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "runtime/npy/npy.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;
using runtime::Error;
using runtime::Result;

constexpr absl::string_view kSafetensors = ".safetensors";
constexpr absl::string_view kIndex = ".safetensors.index.json";
constexpr absl::string_view kNpy = ".npy";
constexpr int64_t kMostIndexBytes = int64_t{1} << 28;

Error Wrong(const std::string& path, absl::string_view what) {
  return {runtime::ExitCode::kInput, absl::StrCat(QuotedPath(path), " ", what)};
}

// Names of the files in a folder, sorted.
Result<std::vector<std::string>> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return Wrong(folder, absl::StrCat("cannot be read: ", error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> WithEnding(const std::vector<std::string>& names, absl::string_view ending) {
  std::vector<std::string> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found),
               [&](const std::string& name) { return absl::EndsWith(name, ending) && name.size() > ending.size(); });
  return found;
}

WeightTensor TensorOf(const runtime::SafetensorsEntry& entry, size_t file) {
  return {.name = entry.name, .type = entry.type, .shape = entry.shape, .bytes = entry.bytes, .file = file};
}

const char* TypeName(runtime::NpyType type) {
  switch (type) {
    case runtime::NpyType::kFloat16:
      return "F16";
    case runtime::NpyType::kFloat32:
      return "F32";
    case runtime::NpyType::kFloat64:
      return "F64";
    case runtime::NpyType::kBool:
      return "BOOL";
    case runtime::NpyType::kInt8:
      return "I8";
    case runtime::NpyType::kUint8:
      return "U8";
    case runtime::NpyType::kInt16:
      return "I16";
    case runtime::NpyType::kUint16:
      return "U16";
    case runtime::NpyType::kInt32:
      return "I32";
    case runtime::NpyType::kUint32:
      return "U32";
    case runtime::NpyType::kInt64:
      break;
  }
  return "I64";
}

// Says which tensors are states: those that are named as another one, and one part more. No parameter is, because a
// name in a model stands either for a tensor or for what a call has made.
void FindStates(std::vector<WeightTensor>& tensors) {
  std::map<std::string, const WeightTensor*> by_name;
  for (const WeightTensor& tensor : tensors) by_name[tensor.name] = &tensor;
  for (WeightTensor& tensor : tensors) {
    const size_t dot = tensor.name.rfind('.');
    if (dot == std::string::npos) continue;
    const auto found = by_name.find(tensor.name.substr(0, dot));
    if (found != by_name.end()) tensor.parameter = found->first;
  }
}

// From the name of each tensor to that of its file, as an index says.
Result<std::map<std::string, std::string>> ReadIndex(const std::string& path) {
  const Result<std::vector<uint8_t>> bytes = runtime::ReadFile(path, kMostIndexBytes);
  if (!bytes.ok()) return bytes.error();
  const Result<runtime::Json> json = runtime::ParseJson(std::string(bytes.value().begin(), bytes.value().end()));
  if (!json.ok()) return Wrong(path, json.error().message);
  const Result<const runtime::Json*> members = runtime::ObjectMember(json.value(), "weight_map");
  if (!members.ok()) return Wrong(path, members.error().message);
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : members.value()->members) {
    const bool is_file_name = file.kind == runtime::Json::Kind::kString && absl::EndsWith(file.text, kSafetensors) &&
                              !absl::StrContains(file.text, "/");
    if (!is_file_name) {
      return Wrong(path, absl::StrCat("names no .safetensors file beside it for `", ShownName(name), "`"));
    }
    files[name] = file.text;
  }
  return files;
}

}  // namespace

bool IsReadAsFloat(const WeightTensor& tensor) { return runtime::IsSafetensorsFloat(tensor.type); }

int64_t ValueCount(const std::vector<int64_t>& shape) { return runtime::ElementCount(shape); }

std::string ShownName(const std::string& name) { return runtime::JsonEscaped(name); }

Result<WeightSource> WeightSource::OpenCheckpoint(const std::string& folder) {
  Result<runtime::Checkpoint> checkpoint = runtime::Checkpoint::Open(folder);
  if (!checkpoint.ok()) return checkpoint.error();
  std::vector<WeightTensor> tensors;
  for (const runtime::StateTensor& tensor : checkpoint.value().tensors()) {
    const char* const type = runtime::StoredTypeOf(tensor);
    const std::optional<int64_t> bytes = runtime::SafetensorsBytes(type, tensor.layout.shape);
    if (!bytes.has_value()) return Wrong(folder, absl::StrCat("gives `", ShownName(tensor.name), "` no shape"));
    tensors.push_back({.name = tensor.name, .type = type, .shape = tensor.layout.shape, .bytes = *bytes});
  }
  FindStates(tensors);
  WeightSource source(folder, std::move(checkpoint.value()));
  source.tensors_ = std::move(tensors);
  return source;
}

Result<WeightSource> WeightSource::OpenFile(const std::string& path) {
  Result<runtime::SafetensorsFile> file = runtime::SafetensorsFile::Open(path);
  if (!file.ok()) return file.error();
  std::vector<runtime::SafetensorsFile> files;
  files.push_back(std::move(file.value()));
  std::vector<WeightTensor> tensors;
  for (const runtime::SafetensorsEntry& entry : files[0].entries()) tensors.push_back(TensorOf(entry, 0));
  WeightSource source(path, std::move(files));
  source.tensors_ = std::move(tensors);
  return source;
}

Result<WeightSource> WeightSource::OpenIndex(const std::string& path) {
  Result<std::map<std::string, std::string>> index = ReadIndex(path);
  if (!index.ok()) return index.error();
  std::set<std::string> names;
  for (const auto& [tensor, file] : index.value()) names.insert(file);
  std::vector<runtime::SafetensorsFile> files;
  std::vector<WeightTensor> tensors;
  for (const std::string& name : names) {
    Result<runtime::SafetensorsFile> file = runtime::SafetensorsFile::Open(fs::path(path).parent_path() / name);
    if (!file.ok()) return file.error();
    for (const runtime::SafetensorsEntry& entry : file.value().entries()) {
      const auto found = index.value().find(entry.name);
      if (found == index.value().end() || found->second != name) continue;
      tensors.push_back(TensorOf(entry, files.size()));
      index.value().erase(found);
    }
    files.push_back(std::move(file.value()));
  }
  if (!index.value().empty()) {
    const auto& [tensor, file] = *index.value().begin();
    return Wrong(path,
                 absl::StrCat("says that `", ShownName(tensor), "` is in `", ShownName(file), "`, which lacks it"));
  }
  WeightSource source(path, std::move(files));
  source.tensors_ = std::move(tensors);
  return source;
}

Result<WeightSource> WeightSource::OpenNpyFolder(const std::string& folder, const std::vector<std::string>& names) {
  WeightSource source(folder, NpyFolder());
  for (const std::string& name : names) {
    const Result<runtime::NpyFile> file = runtime::NpyFile::Open(fs::path(folder) / name);
    if (!file.ok()) return file.error();
    WeightTensor tensor = {.name = name.substr(0, name.size() - kNpy.size()),
                           .type = TypeName(file.value().header().type),
                           .shape = file.value().header().shape};
    tensor.bytes = runtime::SafetensorsBytes(tensor.type, tensor.shape).value_or(0);
    source.tensors_.push_back(std::move(tensor));
  }
  return source;
}

Result<WeightSource> WeightSource::OpenFolder(const std::string& folder) {
  const Result<std::vector<std::string>> names = FilesIn(folder);
  if (!names.ok()) return names.error();
  const auto has = [&](absl::string_view name) {
    return std::find(names.value().begin(), names.value().end(), name) != names.value().end();
  };
  const std::vector<std::string> checkpoints = runtime::CheckpointsIn(folder);
  if (!checkpoints.empty()) return OpenCheckpoint(checkpoints.front());
  const std::string prefix = absl::StrCat(folder, absl::EndsWith(folder, "/") ? "" : "/");
  for (const absl::string_view ending : {kIndex, kSafetensors}) {
    const std::vector<std::string> files = WithEnding(names.value(), ending);
    if (files.empty()) continue;
    const std::string preferred = absl::StrCat("model", ending);
    if (files.size() > 1 && !has(preferred)) {
      return Wrong(folder, absl::StrCat("has ", QuotedList(files, "and"), ": name one of them"));
    }
    const std::string path = prefix + (files.size() > 1 ? preferred : files[0]);
    return ending == kIndex ? OpenIndex(path) : OpenFile(path);
  }
  const std::vector<std::string> arrays = WithEnding(names.value(), kNpy);
  if (!arrays.empty()) return OpenNpyFolder(folder, arrays);
  return Wrong(folder, "holds no weights: neither a checkpoint nor .safetensors or .npy files");
}

Result<WeightSource> WeightSource::Open(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return Wrong(path, error && status.type() != fs::file_type::not_found ? "cannot be read: " + error.message()
                                                                          : "does not exist");
  }
  if (fs::is_directory(status)) return OpenFolder(path);
  return absl::EndsWith(path, kIndex) ? OpenIndex(path) : OpenFile(path);
}

const WeightTensor* WeightSource::Find(const std::string& name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const WeightTensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

std::optional<Error> WeightSource::Read(const WeightTensor& tensor, std::vector<float>& values) const {
  const int64_t count = ValueCount(tensor.shape);
  values.resize(static_cast<size_t>(count));
  if (const auto* const checkpoint = std::get_if<runtime::Checkpoint>(&content_)) {
    return checkpoint->Load({{tensor.name, {tensor.shape}, values.data()}}, {}, 0);
  }
  if (const auto* const files = std::get_if<std::vector<runtime::SafetensorsFile>>(&content_)) {
    const runtime::SafetensorsFile& file = (*files)[tensor.file];
    return file.ReadRun(*file.Find(tensor.name), 0, count, values.data());
  }
  const Result<runtime::NpyFile> file = runtime::NpyFile::Open(fs::path(path_) / absl::StrCat(tensor.name, kNpy));
  if (!file.ok()) return file.error();
  if (!file.value().is_float() || file.value().header().shape != tensor.shape) {
    return Wrong(file.value().path(), "was changed while it was read");
  }
  return file.value().ReadRun(0, count, values.data());
}

}  // namespace cleave::tools
