// Reading guide: Create says which tensors lie in which file (PlanShards); Write opens the file of a tensor when its
// first one comes and closes it behind its last one; Finish gives all files their names.
#include "tools/weights/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "base/file/file.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/json/json_writer.h"
#include "runtime/safetensors/safetensors.h"

namespace cleave::tools {
namespace {

namespace output_fs = std::filesystem;
using OutputError = std::optional<runtime::Error>;

constexpr absl::string_view kFileEnding = ".safetensors";
constexpr absl::string_view kIndexEnding = ".index.json";  // Behind the other one.
constexpr size_t kMostShards = 99999;                      // Their numbers have five digits.

std::string Beside(const std::string& path) { return path + ".unfinished"; }

runtime::Error CannotWriteTo(const std::string& path) {
  return {runtime::ExitCode::kEnvironment, absl::StrCat("cannot write ", QuotedPath(path), ": ", std::strerror(errno))};
}

// What stands before the values of a file of format 1.0 (numpy.lib.format), a multiple of 64 bytes.
std::string NpyHeaderText(const std::vector<int64_t>& shape) {
  std::string header = absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (", absl::StrJoin(shape, ", "),
                                    shape.size() == 1 ? "," : "", "), }");
  constexpr size_t kPreamble = 10, kAlignment = 64;
  header.append(kAlignment - 1 - (kPreamble + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return text + header;
}

std::string NpyPath(const std::string& folder, const std::string& tensor) {
  return (output_fs::path(folder) / absl::StrCat(tensor, ".npy")).string();
}

OutputError CheckNames(const std::vector<OutputTensor>& tensors, bool are_files) {
  const auto wrong = [](const std::string& name, absl::string_view what) {
    return runtime::Error{runtime::ExitCode::kInput, absl::StrCat("`", runtime::JsonEscaped(name), "` ", what)};
  };
  std::set<std::string> names;
  for (const OutputTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) return wrong(tensor.name, "would be the name of two tensors");
    if (tensor.name == "__metadata__") return wrong(tensor.name, "is no name of a tensor in a .safetensors file");
    if (are_files && (tensor.name.empty() || absl::StrContains(tensor.name, "/"))) {
      return wrong(tensor.name, "is no name of a file");
    }
  }
  return std::nullopt;
}

runtime::Error CannotBeCounted(const std::string& what) {
  return {runtime::ExitCode::kInput,
          absl::StrCat("`", runtime::JsonEscaped(what), "` has more bytes than can be counted")};
}

// Rounds as many values as are in `to`; returns the index of the first number that is too large, or that of the end.
template <typename Narrow>
size_t Round(const float* from, std::vector<Narrow>& to) {
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = Narrow(from[i]);
    if (std::isinf(static_cast<float>(to[i])) && !std::isinf(from[i])) return i;
  }
  return to.size();
}

template <typename Narrow>
OutputError WriteRounded(const OutputTensor& tensor, WeightType type, int64_t offset, const std::vector<float>& values,
                         PendingFile& file) {
  constexpr size_t kAtATime = size_t{1} << 20;
  std::vector<Narrow> chunk;
  for (size_t first = 0; first < values.size(); first += kAtATime) {
    chunk.resize(std::min(kAtATime, values.size() - first));
    const size_t rounded = Round(values.data() + first, chunk);
    if (rounded < chunk.size()) {
      return runtime::Error{runtime::ExitCode::kInput,
                            absl::StrCat("`", runtime::JsonEscaped(tensor.name), "` has the value ",
                                         absl::StrFormat("%g", values[first + rounded]), ", which is too large for ",
                                         SafetensorsName(type))};
    }
    const int64_t bytes = static_cast<int64_t>(chunk.size() * sizeof(Narrow));
    if (auto error = file.Write(offset, chunk.data(), bytes)) return error;
    offset += bytes;
  }
  return std::nullopt;
}

// All of it is on disk, without its name.
runtime::Result<PendingFile> PendingText(const std::string& path, const std::string& text) {
  runtime::Result<PendingFile> file = PendingFile::Create(path);
  if (!file.ok()) return file;
  if (auto error = file.value().Write(0, text.data(), static_cast<int64_t>(text.size()))) return *error;
  if (auto error = file.value().Close()) return *error;
  return file;
}

OutputError CheckPlace(const std::string& path, bool replaced) {
  std::error_code ignored;
  const output_fs::file_status status = output_fs::symlink_status(path, ignored);
  if (!output_fs::exists(status)) return std::nullopt;
  if (output_fs::is_directory(status)) {
    return runtime::Error{runtime::ExitCode::kUsage, absl::StrCat(QuotedPath(path), " is a folder")};
  }
  if (replaced) return std::nullopt;
  return runtime::Error{runtime::ExitCode::kUsage, absl::StrCat(QuotedPath(path), " exists; `--force` replaces it")};
}

}  // namespace

bool SyncFolderOf(const std::string& path) {
  const std::string folder = output_fs::path(path).parent_path().string();
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  // Some file systems have no fsync of folders.
  const bool is_done = fsync(descriptor) == 0 || errno == EINVAL;
  close(descriptor);
  return is_done;
}

runtime::Result<PendingFile> PendingFile::Create(const std::string& path) {
  const int descriptor = open(Beside(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return CannotWriteTo(path);
  return PendingFile(path, descriptor);
}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!path_.empty()) unlink(Beside(path_).c_str());
}

OutputError PendingFile::Write(int64_t offset, const void* bytes, int64_t count) {
  constexpr int64_t kMost = int64_t{1} << 26;
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = pwrite(descriptor_, from, static_cast<size_t>(std::min(count, kMost)), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return CannotWriteTo(path_);
    from += written;
    offset += written;
    count -= written;
  }
  return std::nullopt;
}

OutputError PendingFile::Close() {
  if (fsync(descriptor_) != 0 || close(std::exchange(descriptor_, -1)) != 0) return CannotWriteTo(path_);
  return std::nullopt;
}

OutputError PendingFile::Rename() {
  if (std::rename(Beside(path_).c_str(), path_.c_str()) != 0) return CannotWriteTo(path_);
  const std::string path = std::exchange(path_, "");
  if (!SyncFolderOf(path)) return CannotWriteTo(path);
  return std::nullopt;
}

OutputError WriteText(const std::string& path, const std::string& text) {
  runtime::Result<PendingFile> file = PendingText(path, text);
  return file.ok() ? file.value().Rename() : file.error();
}

const char* SafetensorsName(WeightType type) {
  switch (type) {
    case WeightType::kF32:
      return "F32";
    case WeightType::kBf16:
      return "BF16";
    case WeightType::kF16:
      break;
  }
  return "F16";
}

int64_t BytesOf(WeightType type) { return type == WeightType::kF32 ? 4 : 2; }

runtime::Result<WeightOutput> WeightOutput::Create(const std::string& path, const std::vector<OutputTensor>& tensors,
                                                   const OutputOptions& options) {
  WeightOutput output;
  output.path_ = path;
  output.options_ = options;
  output.tensors_ = tensors;
  output.is_folder_ = !absl::EndsWith(path, kFileEnding);
  std::error_code ignored;
  if (output.is_folder_ && !output_fs::is_directory(path, ignored)) {
    return runtime::Error{runtime::ExitCode::kUsage,
                          absl::StrCat(QuotedPath(path), " is neither a .safetensors file nor a folder that exists")};
  }
  if (output.is_folder_ && (options.type != WeightType::kF32 || options.shard_bytes > 0)) {
    return runtime::Error{runtime::ExitCode::kUsage,
                          ".npy files are f32, a tensor each: another type or size of files is for .safetensors files"};
  }
  if (auto error = CheckNames(tensors, output.is_folder_)) return *error;
  std::vector<std::string> places;
  if (output.is_folder_) {
    for (const OutputTensor& tensor : tensors) places.push_back(NpyPath(path, tensor.name));
  } else {
    if (auto error = output.PlanShards()) return *error;
    // The file or the index, whichever of them is written: who opens the folder should find one.
    places = {path, absl::StrCat(path, kIndexEnding)};
    for (const Shard& shard : output.shards_) places.push_back(shard.path);
  }
  for (const std::string& place : places) {
    if (auto error = CheckPlace(place, options.is_replaced)) return *error;
  }
  return output;
}

// As transformers: a file takes tensors until the next one would make it too large, and one that is too large by itself
// has a file of its own.
OutputError WeightOutput::PlanShards() {
  const int64_t most = options_.shard_bytes > 0 ? options_.shard_bytes : INT64_MAX;
  const std::string type = SafetensorsName(options_.type);
  std::vector<std::vector<runtime::SafetensorsEntry>> entries(1);
  int64_t bytes = 0;  // Of the last one.
  for (const OutputTensor& tensor : tensors_) {
    const std::optional<int64_t> own = runtime::SafetensorsBytes(type, tensor.shape);
    if (!own.has_value()) return CannotBeCounted(tensor.name);
    if (!entries.back().empty() && *own > most - std::min(bytes, most)) {
      entries.emplace_back();
      bytes = 0;
    }
    if (*own > INT64_MAX - bytes) return CannotBeCounted(tensor.name);
    bytes += *own;
    entries.back().push_back({tensor.name, type, tensor.shape, 0, *own});
  }
  if (entries.size() > kMostShards) {
    return runtime::Error{runtime::ExitCode::kUsage,
                          absl::StrCat("files of ", options_.shard_bytes, " bytes would be ", entries.size(),
                                       ", and at most ", kMostShards, " can be numbered")};
  }
  const absl::string_view stem = absl::StripSuffix(path_, kFileEnding);
  size_t end = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    // Hugging Face's libraries read files that say of which framework they are.
    const runtime::Result<std::string> header = runtime::SafetensorsHeader(entries[i], {{"format", "pt"}});
    if (!header.ok()) return header.error();
    end += entries[i].size();
    const std::string number = absl::StrFormat("-%05d-of-%05d", i + 1, entries.size());
    shards_.push_back({entries.size() == 1 ? path_ : absl::StrCat(stem, number, kFileEnding), header.value(), end});
    for (const runtime::SafetensorsEntry& entry : entries[i]) offsets_.push_back(entry.offset);
  }
  return std::nullopt;
}

OutputError WeightOutput::WriteNpy(size_t tensor, const std::vector<float>& values) {
  runtime::Result<PendingFile> file = PendingFile::Create(NpyPath(path_, tensors_[tensor].name));
  if (!file.ok()) return file.error();
  const std::string header = NpyHeaderText(tensors_[tensor].shape);
  const auto header_bytes = static_cast<int64_t>(header.size());
  if (auto error = file.value().Write(0, header.data(), header_bytes)) return error;
  if (auto error = WriteValues(tensor, header_bytes, values, file.value())) return error;
  if (auto error = file.value().Close()) return error;
  files_.push_back(std::move(file.value()));
  return std::nullopt;
}

OutputError WeightOutput::WriteValues(size_t tensor, int64_t offset, const std::vector<float>& values,
                                      PendingFile& file) const {
  switch (options_.type) {
    case WeightType::kF32:
      return file.Write(offset, values.data(), static_cast<int64_t>(values.size() * sizeof(float)));
    case WeightType::kBf16:
      return WriteRounded<runtime::BFloat16>(tensors_[tensor], options_.type, offset, values, file);
    case WeightType::kF16:
      break;
  }
  return WriteRounded<runtime::Float16>(tensors_[tensor], options_.type, offset, values, file);
}

OutputError WeightOutput::OpenShard() {
  const Shard& shard = shards_[files_.size()];
  runtime::Result<PendingFile> file = PendingFile::Create(shard.path);
  if (!file.ok()) return file.error();
  if (auto error = file.value().Write(0, shard.header.data(), static_cast<int64_t>(shard.header.size()))) return error;
  files_.push_back(std::move(file.value()));
  return std::nullopt;
}

OutputError WeightOutput::Write(size_t tensor, const std::vector<float>& values) {
  CLEAVE_CHECK(tensor == written_++) << tensor;
  if (is_folder_) return WriteNpy(tensor, values);
  if (files_.empty() || shards_[files_.size() - 1].end == tensor) {
    if (auto error = OpenShard()) return error;
  }
  if (auto error = WriteValues(tensor, offsets_[tensor], values, files_.back())) return error;
  if (tensor + 1 < shards_[files_.size() - 1].end) return std::nullopt;
  return files_.back().Close();
}

// Which tensor is in which file, as transformers writes it.
OutputError WeightOutput::WriteIndex() {
  runtime::JsonObject index, metadata, files;
  int64_t values = 0;
  for (size_t i = 0, shard = 0; i < tensors_.size(); ++i) {
    if (i == shards_[shard].end) ++shard;
    files.Add(tensors_[i].name, output_fs::path(shards_[shard].path).filename().string());
    values += runtime::ElementCount(tensors_[i].shape);
  }
  metadata.AddInteger("total_parameters", values);
  metadata.AddInteger("total_size", values * BytesOf(options_.type));
  index.Add("metadata", metadata);
  index.Add("weight_map", files);
  runtime::Result<PendingFile> file = PendingText(absl::StrCat(path_, kIndexEnding), index.Text() + "\n");
  if (!file.ok()) return file.error();
  files_.push_back(std::move(file.value()));
  return std::nullopt;
}

OutputError WeightOutput::Finish() {
  CLEAVE_CHECK(written_ == tensors_.size()) << written_;
  if (!is_folder_ && tensors_.empty()) {
    if (auto error = OpenShard()) return error;
    if (auto error = files_.back().Close()) return error;
  }
  if (shards_.size() > 1) {
    if (auto error = WriteIndex()) return error;
  }
  for (PendingFile& file : files_) {
    if (auto error = file.Rename()) return error;
  }
  if (is_folder_) return std::nullopt;
  const std::string replaced = shards_.size() > 1 ? path_ : absl::StrCat(path_, kIndexEnding);
  if (unlink(replaced.c_str()) != 0 && errno != ENOENT) {
    return runtime::Error{runtime::ExitCode::kEnvironment,
                          absl::StrCat("cannot remove ", QuotedPath(replaced), ": ", std::strerror(errno))};
  }
  return std::nullopt;
}

}  // namespace cleave::tools
