#include "tools/weights/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/file/file.h"
#include "runtime/json/json_writer.h"
#include "runtime/mesh/mesh.h"

namespace cleave::tools {
namespace {

namespace output_fs = std::filesystem;
using OutputError = std::optional<runtime::Error>;

std::string Beside(const std::string& path) { return path + ".unfinished"; }

runtime::Error CannotWriteTo(const std::string& path) {
  return {runtime::ExitCode::kEnvironment, absl::StrCat("cannot write ", QuotedPath(path), ": ", std::strerror(errno))};
}

// What is renamed is on disk when its folder is.
bool SyncFolderOf(const std::string& path) {
  const std::string folder = output_fs::path(path).parent_path().string();
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  // Some file systems have no fsync of folders.
  const bool is_done = fsync(descriptor) == 0 || errno == EINVAL;
  close(descriptor);
  return is_done;
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

runtime::Result<WeightOutput> WeightOutput::Create(const std::string& path, const std::vector<OutputTensor>& tensors,
                                                   bool replaced) {
  WeightOutput output;
  output.tensors_ = tensors;
  const bool is_file = absl::EndsWith(path, ".safetensors");
  std::error_code ignored;
  if (!is_file && !output_fs::is_directory(path, ignored)) {
    return runtime::Error{runtime::ExitCode::kUsage,
                          absl::StrCat(QuotedPath(path), " is neither a .safetensors file nor a folder that exists")};
  }
  if (auto error = CheckNames(tensors, !is_file)) return *error;
  if (!is_file) {
    output.folder_ = path;
    for (const OutputTensor& tensor : tensors) {
      if (auto error = CheckPlace(NpyPath(path, tensor.name), replaced)) return *error;
    }
    return output;
  }
  if (auto error = CheckPlace(path, replaced)) return *error;
  for (const OutputTensor& tensor : tensors) {
    const std::optional<int64_t> bytes = runtime::SafetensorsBytes("F32", tensor.shape);
    if (!bytes.has_value()) {
      return runtime::Error{runtime::ExitCode::kInput, absl::StrCat("`", runtime::JsonEscaped(tensor.name),
                                                                    "` has more bytes than can be counted")};
    }
    output.entries_.push_back({tensor.name, "F32", tensor.shape, 0, *bytes});
  }
  // Hugging Face's libraries read files that say of which framework they are.
  const runtime::Result<std::string> header = runtime::SafetensorsHeader(output.entries_, {{"format", "pt"}});
  if (!header.ok()) return header.error();
  runtime::Result<PendingFile> file = PendingFile::Create(path);
  if (!file.ok()) return file.error();
  if (auto error = file.value().Write(0, header.value().data(), static_cast<int64_t>(header.value().size()))) {
    return *error;
  }
  output.files_.push_back(std::move(file.value()));
  return output;
}

OutputError WeightOutput::WriteNpy(size_t tensor, const std::vector<float>& values) {
  runtime::Result<PendingFile> file = PendingFile::Create(NpyPath(folder_, tensors_[tensor].name));
  if (!file.ok()) return file.error();
  const std::string header = NpyHeaderText(tensors_[tensor].shape);
  const auto header_bytes = static_cast<int64_t>(header.size());
  if (auto error = file.value().Write(0, header.data(), header_bytes)) return error;
  if (auto error =
          file.value().Write(header_bytes, values.data(), static_cast<int64_t>(values.size() * sizeof(float)))) {
    return error;
  }
  if (auto error = file.value().Close()) return error;
  files_.push_back(std::move(file.value()));
  return std::nullopt;
}

OutputError WeightOutput::Write(size_t tensor, const std::vector<float>& values) {
  if (!folder_.empty()) return WriteNpy(tensor, values);
  const runtime::SafetensorsEntry& entry = entries_[tensor];
  return files_[0].Write(entry.offset, values.data(), entry.bytes);
}

OutputError WeightOutput::Finish() {
  if (folder_.empty()) {
    if (auto error = files_[0].Close()) return error;
  }
  for (PendingFile& file : files_) {
    if (auto error = file.Rename()) return error;
  }
  return std::nullopt;
}

}  // namespace cleave::tools
