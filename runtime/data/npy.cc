// Samples in .npy files, one file per input. They are not kept in memory: a row is read when a batch needs it.
#include "runtime/data/npy.h"

#include <utility>

#include "runtime/data/source.h"
#include "runtime/npy/npy.h"

namespace cleave::runtime {
namespace {

class NpySource final : public Source {
 public:
  explicit NpySource(std::vector<NpyFile> files) : files_(std::move(files)) {}

  int64_t Samples(DataSplit split) const override {
    return split == DataSplit::kTrain ? files_[0].header().shape[0] : 0;
  }
  int64_t Bytes() const override { return 0; }

  bool ReadsSlowly() const override { return true; }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    const NpyFile& file = files_[static_cast<size_t>(field)];
    const Region piece = SampleRegion(input.region);
    const int64_t source = sample.number * ElementCount(piece.shape);
    const int64_t target = row * ElementCount(piece.size);
    // It was whole when it was opened: what fails now is the disk, or somebody who writes to the file.
    std::optional<Error> error;
    ForEachRun(piece, [&](int64_t global, int64_t local, int64_t count) {
      if (error.has_value()) return;
      error = input.is_float ? file.ReadRun(source + global, count, input.floats + target + local)
                             : file.ReadRun(source + global, count, input.integers + target + local);
    });
    return error;
  }

 private:
  const std::vector<NpyFile> files_;
};

// The file of an input, checked by itself.
Result<NpyFile> OpenFor(const InputFile& wanted, const ModelInput& input) {
  Result<NpyFile> file = NpyFile::Open(wanted.path);
  if (!file.ok()) return file;
  const std::string what = "input `" + input.name + "`";
  if (auto error = file.value().CheckFitsBatches(what, input.is_float, input.region.shape)) return *error;
  if (auto error = file.value().CheckValues(input.limit, input.besides)) return *error;
  return file;
}

Result<OpenedSource> OpenNpy(const OpenRequest& request) {
  std::vector<std::string> names;
  for (const InputFile& file : request.spec.files) names.push_back(file.input);
  const Result<std::vector<int>> fields = MatchFields("npy", names, request.inputs);
  if (!fields.ok()) return fields.error();
  std::vector<NpyFile> files;
  std::vector<int> numbers;
  std::string mistakes;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const InputFile& wanted = request.spec.files[static_cast<size_t>(fields.value()[i])];
    Result<NpyFile> file = OpenFor(wanted, request.inputs[i]);
    if (!file.ok()) {
      mistakes += (mistakes.empty() ? "" : "\nerror: ") + file.error().message;
      continue;
    }
    numbers.push_back(static_cast<int>(files.size()));
    files.push_back(std::move(file.value()));
  }
  if (!mistakes.empty()) return Error{ExitCode::kInput, mistakes};
  if (auto error = CheckSampleCounts(files)) return *error;
  return OpenedSource{std::make_unique<NpySource>(std::move(files)), std::move(numbers)};
}

}  // namespace

DataSpec Npy(std::vector<InputFile> files) { return {"npy", OpenNpy, "", 0, 0, std::move(files)}; }

}  // namespace cleave::runtime
