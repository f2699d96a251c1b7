// Private to runtime/data: what a source of samples offers to Batches.
#ifndef CLEAVE_RUNTIME_DATA_SOURCE_H_
#define CLEAVE_RUNTIME_DATA_SOURCE_H_

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/data.h"
#include "runtime/error/error.h"
#include "runtime/mesh/mesh.h"
#include "runtime/progress/progress.h"

namespace cleave::runtime {

// One sample of a source.
struct Sample {
  static constexpr int64_t kNotTrained = -1;

  DataSplit split = DataSplit::kTrain;
  int64_t number = 0;  // Of the samples of `split`.
  // How often it was read for training before: what differs each time is a function of this. kNotTrained where it is
  // evaluated, whatever its split.
  int64_t epoch = kNotTrained;

  bool is_trained() const { return epoch != kNotTrained; }
};

class Source {
 public:
  virtual ~Source() = default;

  virtual int64_t Samples(DataSplit split) const = 0;
  // Training samples without this share of them. Samples that have values in common are not on both sides.
  virtual Division Divide(double share) const {
    const int64_t all = Samples(DataSplit::kTrain);
    const int64_t count = ValidationSamples(share, all);
    return {.train = all - count, .first = all - count, .stride = 1, .count = count};
  }
  virtual int64_t Bytes() const = 0;
  virtual std::string Note() const { return ""; }

  // Whether Prepare is worth to be called for many samples at once.
  virtual bool HasToPrepare() const { return false; }

  // Makes field number `field` of these samples ready to be read; some may be ready, or be named twice. Free where all
  // are from the beginning, or where a sample is too large to be kept.
  virtual void Prepare(int /*field*/, const std::vector<Sample>& /*samples*/) {}

  // Whether Read takes so long that it is worth to read a batch while the step before it is computed: it reads files,
  // decodes them, or calls functions of the model.
  virtual bool ReadsSlowly() const { return false; }

  // Writes a sample's field number `field` to row `row` of the input's local piece, or says why it cannot. Has been
  // prepared.
  virtual std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const = 0;
};

// The piece of one sample that an input holds: its region without the batch.
inline Region SampleRegion(const Region& region) {
  return {{region.shape.begin() + 1, region.shape.end()},
          {region.begin.begin() + 1, region.begin.end()},
          {region.size.begin() + 1, region.size.end()}};
}

inline int64_t ElementsPerSample(const Region& region) { return ElementCount(SampleRegion(region).shape); }

// Writes one row of an input: value(i) is element i of the whole sample.
template <typename Value>
void WriteRow(const ModelInput& input, int64_t row, Value value) {
  const Region sample = SampleRegion(input.region);
  const int64_t offset = row * ElementCount(sample.size);
  ForEachRun(sample, [&](int64_t global, int64_t local, int64_t count) {
    if (input.is_float) {
      for (int64_t i = 0; i < count; ++i) input.floats[offset + local + i] = static_cast<float>(value(global + i));
    } else {
      for (int64_t i = 0; i < count; ++i) input.integers[offset + local + i] = static_cast<int32_t>(value(global + i));
    }
  });
}

// "`image` is f32[256, 1, 28, 28]"
std::string Describe(const ModelInput& input);

// For each input the number of its field; an Error when they do not fit. `source` names the source in it: "mnist".
Result<std::vector<int>> MatchFields(const std::string& source, const std::vector<std::string>& fields,
                                     const std::vector<ModelInput>& inputs);

// What the inputs read of files whose columns or tensors DataSpec::columns names: for each input the number of its
// field, and of each field the names. An Error as of MatchFields.
struct MatchedColumns {
  std::vector<int> fields;
  std::vector<std::vector<std::string>> names;
};
Result<MatchedColumns> MatchColumns(const std::string& source, const DataSpec& spec,
                                    const std::vector<ModelInput>& inputs);

// Calls `read` for each file that the paths of `spec` stand for; `part` is what the paths are for: "train", "test". All
// mistakes are one Error. Where a file takes long, `read` may add the bytes that it has read to `progress`.
constexpr char kReading[] = "reading the data";
std::optional<Error> ReadFiles(
    const DataSpec& spec,
    const std::function<std::optional<Error>(const std::string& part, const std::string& path, Progress& progress)>&
        read);

// What is said of a bad sample or file in front of which `count` are left out: nothing where none is.
inline std::string LeftOutBefore(int64_t count) {
  return count == 0 ? "" : Format("; %" PRId64 " before it are left out, as many as `skip_bad` allows", count);
}

// The samples of several files, one file after another.
template <typename File>
class FilesInOrder {
 public:
  void Add(File file, int64_t samples) {
    ends_.push_back(count() + samples);
    files_.push_back(std::move(file));
  }

  int64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  const std::vector<File>& files() const { return files_; }

  // The file of a sample, and the sample's number there.
  std::pair<const File&, int64_t> At(int64_t sample) const {
    const auto number = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), sample) - ends_.begin());
    return {files_[number], sample - (number == 0 ? 0 : ends_[number - 1])};
  }

 private:
  std::vector<File> files_;
  std::vector<int64_t> ends_;  // For each file the number of samples in it and in those before.
};

// What a source is opened with. Inputs are those without the sample mask.
struct OpenRequest {
  const DataSpec& spec;
  const std::vector<ModelInput>& inputs;
  uint64_t seed;
  bool is_mixed = false;  // Values mean the same in other sources.
};
struct OpenedSource {
  std::unique_ptr<Source> source;
  std::vector<int> fields;  // Per input the number of its field.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_SOURCE_H_
