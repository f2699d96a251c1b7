#include "tools/driver/files.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "runtime/npy/npy.h"

namespace cleave::tools {
namespace {

class FileCheck {
 public:
  FileCheck(const frontend::Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics), folder_(std::filesystem::path(module.graph.file).parent_path()) {}

  bool Run() {
    for (const ir::Op& op : module_.graph.ops) {
      if (op.kind == ir::OpKind::kParameter && op.attributes.Get(ir::attribute::kInit) == "npy") CheckParameter(op);
    }
    CheckData();
    return !failed_;
  }

 private:
  void Add(Diagnostic diagnostic, const std::string& tensor) {
    failed_ = failed_ || diagnostic.severity == Severity::kError;
    const auto place = module_.npy_places.find(tensor);
    if (place != module_.npy_places.end()) diagnostic.labels.push_back({place->second, "named here"});
    diagnostics_.Add(std::move(diagnostic));
  }

  // The file for `tensor`; nullopt after reporting why there is none.
  std::optional<runtime::NpyFile> Open(const std::string& path, const std::string& tensor) {
    const std::string place = (folder_ / path).lexically_normal().string();
    std::error_code ignored;
    if (!std::filesystem::exists(place, ignored)) {
      Add(Warning(Code::kW0617, absl::StrCat("there is no file `", place, "`"))
              .Note("the program reads it at its start: paths start from the folder of the model file"),
          tensor);
      return std::nullopt;
    }
    runtime::Result<runtime::NpyFile> file = runtime::NpyFile::Open(place);
    if (file.ok()) return std::move(file.value());
    Add(Error(Code::kE0513, file.error().message), tensor);
    return std::nullopt;
  }

  void CheckParameter(const ir::Op& op) {
    const std::optional<runtime::NpyFile> file = Open(op.attributes.Get(ir::attribute::kFile), op.name);
    if (!file) return;
    const auto error = file->CheckFits(absl::StrCat("parameter `", op.name, "`"), /*is_float=*/true, op.type.shape);
    if (error) Add(Error(Code::kE0514, error->message), op.name);
  }

  void CheckData() {
    std::vector<runtime::NpyFile> files;
    int64_t batch = 0;
    for (const auto& [name, path] : module_.training.data.files) {
      std::optional<runtime::NpyFile> file = Open(path, name);
      const std::optional<ir::OpId> input = module_.graph.Find(name);
      if (!file || !input) continue;
      const ir::TensorType& type = module_.graph.op(*input).type;
      batch = type.shape[0];
      const auto error =
          file->CheckFitsBatches(absl::StrCat("input `", name, "`"), type.dtype == ir::DType::kF32, type.shape);
      if (error) {
        Add(Error(Code::kE0514, error->message), name);
      } else {
        files.push_back(*std::move(file));
      }
    }
    if (failed_ || files.empty()) return;
    const std::string& first = module_.training.data.files[0].first;
    const int64_t samples = files[0].header().shape[0];
    if (const auto error = runtime::CheckSampleCounts(files)) {
      Add(Error(Code::kE0515, error->message), first);
    } else if (samples < batch) {
      Add(Error(Code::kE0515, absl::StrCat("`", files[0].path(), "` has ", Plural(samples, "sample"),
                                           ", fewer than one batch of ", batch)),
          first);
    }
  }

  const frontend::Module& module_;
  Diagnostics& diagnostics_;
  const std::filesystem::path folder_;
  bool failed_ = false;
};

}  // namespace

bool CheckFiles(const frontend::Module& module, Diagnostics& diagnostics) {
  return FileCheck(module, diagnostics).Run();
}

}  // namespace cleave::tools
