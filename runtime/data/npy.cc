// Samples in .npy files, one file per input, and inputs that have a file of their own. They are not kept in memory: a
// row or a record is read when a batch needs it.
#include "runtime/data/npy.h"

#include <utility>

#include "runtime/data/source.h"
#include "runtime/npy/npy.h"

namespace cleave::runtime {
namespace {

// Writes the piece of a record to row `row` of what the rank holds of the input.
std::optional<Error> ReadRecord(const NpyFile& file, int64_t record, const Region& piece, const ModelInput& input,
                                int64_t row) {
  const int64_t source = record * ElementCount(piece.shape), target = row * ElementCount(piece.size);
  // The file was whole when it was opened: what fails now is the disk, or somebody who writes to it.
  std::optional<Error> error;
  ForEachRun(piece, [&](int64_t global, int64_t local, int64_t count) {
    if (error.has_value()) return;
    error = input.is_float ? file.ReadRun(source + global, count, input.floats + target + local)
                           : file.ReadRun(source + global, count, input.integers + target + local);
  });
  return error;
}

class NpySource final : public Source {
 public:
  explicit NpySource(std::vector<NpyFile> files) : files_(std::move(files)) {}

  int64_t Samples(DataSplit split) const override {
    return split == DataSplit::kTrain ? files_[0].header().shape[0] : 0;
  }
  int64_t Bytes() const override { return 0; }

  bool ReadsSlowly() const override { return true; }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    return ReadRecord(files_[static_cast<size_t>(field)], sample.number, SampleRegion(input.region), input, row);
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

class NpyRecords final : public Records {
 public:
  NpyRecords(NpyFile file, int64_t count) : file_(std::move(file)), count_(count) {}

  int64_t count() const override { return count_; }

  std::optional<Error> Read(int64_t record, const ModelInput& input) const override {
    return ReadRecord(file_, record, input.region, input, /*row=*/0);
  }

 private:
  const NpyFile file_;
  const int64_t count_;
};

Result<std::unique_ptr<Records>> OpenRecords(const ModelInput& input) {
  Result<NpyFile> opened = NpyFile::Open(input.file.path);
  if (!opened.ok()) return opened.error();
  const NpyFile& file = opened.value();
  const bool is_per_step = input.file.is_per_step;
  const int64_t count = is_per_step && !file.header().shape.empty() ? file.header().shape[0] : 1;
  std::vector<int64_t> shape = input.region.shape;
  if (is_per_step) shape.insert(shape.begin(), count);
  const std::string what = "input `" + input.name + "`" + (is_per_step ? " with a record for each step" : "");
  if (auto error = file.CheckFits(what, input.is_float, shape)) return *error;
  if (count == 0) return Error{ExitCode::kInput, Format("`%s` has no records", input.file.path.c_str())};
  if (auto error = file.CheckValues(input.limit, input.besides)) return *error;
  return std::unique_ptr<Records>(std::make_unique<NpyRecords>(std::move(opened.value()), count));
}

}  // namespace

RecordsFile OnceFromNpy(std::string path) { return {std::move(path), /*is_per_step=*/false, OpenRecords}; }
RecordsFile EachStepFromNpy(std::string path) { return {std::move(path), /*is_per_step=*/true, OpenRecords}; }

DataSpec Npy(std::vector<InputFile> files) { return {"npy", OpenNpy, "", 0, 0, std::move(files)}; }

}  // namespace cleave::runtime
