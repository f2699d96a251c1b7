#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <system_error>
#include <utility>

#include "runtime/data/data.h"
#include "runtime/data/source.h"
#include "runtime/file/file.h"
#include "runtime/random/random.h"

namespace cleave::runtime {
namespace {

constexpr int kMask = -1;     // The sample mask.
constexpr int kRecords = -2;  // An input with a file of its own.

// A thread reads as many rows at once as have so many elements: fewer cost more to share than they take.
constexpr int64_t kElementsAtOnce = 16384;

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : ", `") + name + "`";
  return text;
}

// The sample in row `row` of the input's local piece. Padding repeats a valid one: every value stays in its range.
Sample SampleAt(const ModelInput& input, int64_t row, const std::vector<Sample>& batch) {
  const auto place = static_cast<size_t>(input.region.begin[0] + row);
  return place < batch.size() ? batch[place] : Sample{batch[0].split, 0};
}

}  // namespace

struct Batches::Reading {
  // Rows of an input that one thread reads.
  struct Run {
    size_t input;
    int64_t begin;
    int64_t end;
  };
  std::vector<Run> runs;
  std::vector<Sample> samples;
  int64_t record = 0;            // Of inputs that have records.
  std::atomic<size_t> next = 0;  // Of the runs, the one that nobody reads yet.
  std::mutex mutex;              // Of what follows.
  std::condition_variable all_done;
  size_t done = 0;
  std::optional<Error> mistake;
  size_t mistaken = 0;  // The run of the mistake.

  // The runs of an input; no batch has begun.
  void Add(size_t number, const ModelInput& input) {
    if (input.has_samples()) {
      AddRows(number, input.region);
    } else {
      runs.push_back({number, 0, 1});
    }
    next = runs.size();
  }

 private:
  void AddRows(size_t input, const Region& region) {
    const int64_t elements = std::max<int64_t>(ElementCount(SampleRegion(region).size), 1);
    const int64_t rows = region.size[0], at_once = std::max<int64_t>(kElementsAtOnce / elements, 1);
    for (int64_t row = 0; row < rows; row += at_once) runs.push_back({input, row, std::min(row + at_once, rows)});
  }
};

int64_t ValidationSamples(double share, int64_t samples) {
  return static_cast<int64_t>(std::llround(share * static_cast<double>(samples)));
}

const char* DataPartName(DataPart part) { return part == DataPart::kValidation ? "validation" : "test"; }

std::string Describe(const ModelInput& input) {
  std::string text = "`" + input.name + "` is " + (input.is_float ? "f32[" : "i32[");
  for (size_t i = 0; i < input.region.shape.size(); ++i)
    text += Format("%s%" PRId64, i == 0 ? "" : ", ", input.region.shape[i]);
  return text + "]";
}

std::vector<ModelInput> InputsOfSteps(std::vector<ModelInput> inputs) {
  const auto is_read_once = [](const ModelInput& input) { return input.is_read_once(); };
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(), is_read_once), inputs.end());
  return inputs;
}

Result<std::vector<int>> MatchFields(const std::string& source, const std::vector<std::string>& fields,
                                     const std::vector<ModelInput>& inputs) {
  std::vector<std::string> names;
  for (const ModelInput& input : inputs) names.push_back(input.name);
  if (inputs.size() > fields.size()) {
    return Error{ExitCode::kInput, Format("the model has %zu inputs (%s), and %s offers %zu: %s", inputs.size(),
                                          Join(names).c_str(), source.c_str(), fields.size(), Join(fields).c_str())};
  }
  std::vector<int> by_name;
  for (const std::string& name : names) {
    const auto found = std::find(fields.begin(), fields.end(), name);
    if (found != fields.end()) by_name.push_back(static_cast<int>(found - fields.begin()));
  }
  if (by_name.size() == inputs.size()) return by_name;
  std::vector<int> by_order;
  for (size_t i = 0; i < inputs.size(); ++i) by_order.push_back(static_cast<int>(i));
  return by_order;
}

Result<MatchedColumns> MatchColumns(const std::string& source, const DataSpec& spec,
                                    const std::vector<ModelInput>& inputs) {
  std::vector<std::string> names;
  for (const InputColumns& columns : spec.columns) names.push_back(columns.input);
  const Result<std::vector<int>> numbers = MatchFields(source, names, inputs);
  if (!numbers.ok()) return numbers.error();
  MatchedColumns matched;
  for (const int number : numbers.value()) {
    matched.fields.push_back(static_cast<int>(matched.names.size()));
    matched.names.push_back(spec.columns[static_cast<size_t>(number)].columns);
  }
  return matched;
}

std::optional<Error> ReadFiles(
    const DataSpec& spec,
    const std::function<std::optional<Error>(const std::string& part, const std::string& path, Progress& progress)>&
        read) {
  struct Found {
    std::string part;
    Result<std::string> path;
    int64_t end;  // In the bytes of all files.
  };
  std::vector<Found> files;
  int64_t bytes = 0;
  for (const InputFile& named : spec.files) {
    const Result<std::vector<std::string>> paths = FilesOf(named.path);
    if (!paths.ok()) {
      files.push_back({named.input, paths.error(), bytes});
      continue;
    }
    for (const std::string& path : paths.value()) {
      std::error_code failure;
      const auto size = static_cast<int64_t>(std::filesystem::file_size(path, failure));
      bytes += failure ? 0 : size;
      files.push_back({named.input, path, bytes});
    }
  }
  Progress progress(kReading, bytes, {.is_shown = spec.shows_progress});
  std::string mistakes;
  for (const Found& file : files) {
    const std::optional<Error> error =
        file.path.ok() ? read(file.part, file.path.value(), progress) : std::optional<Error>(file.path.error());
    if (error.has_value()) mistakes += (mistakes.empty() ? "" : "\nerror: ") + error->message;
    progress.Reach(file.end);
  }
  if (mistakes.empty()) return std::nullopt;
  return Error{ExitCode::kInput, mistakes};
}

Result<std::unique_ptr<Batches>> Batches::Open(const DataSpec& spec, std::vector<ModelInput> inputs, uint64_t seed) {
  std::unique_ptr<Batches> batches(new Batches);
  batches->shuffle_ = spec.shuffle;
  batches->seed_ = seed;
  // Pieces of one input, for several micro-batches, share a field.
  std::vector<ModelInput> fields;
  std::vector<int> numbers;
  const auto number_of = [&](const ModelInput& input) {
    if (input.name == kSampleMask) return kMask;
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const ModelInput& field) {
      return field.name == input.name && field.is_float == input.is_float && field.region.shape == input.region.shape;
    });
    const int number = static_cast<int>(found - fields.begin());
    if (found == fields.end()) fields.push_back(input);
    return number;
  };
  for (const ModelInput& input : inputs) {
    batches->records_.emplace_back();
    if (!input.has_samples()) {
      Result<std::unique_ptr<Records>> records = input.file.open(input);
      if (!records.ok()) return records.error();
      batches->records_.back() = std::move(records.value());
      numbers.push_back(kRecords);
      continue;
    }
    if (input.region.shape.empty() || (batches->batch_ != 0 && input.region.shape[0] != batches->batch_)) {
      return Error{ExitCode::kInput,
                   Format("input %s; the first dimension of every input is the batch, %s", Describe(input).c_str(),
                          batches->batch_ == 0 ? "and it has none" : Format("%" PRId64, batches->batch_).c_str())};
    }
    batches->batch_ = input.region.shape[0];
    numbers.push_back(number_of(input));
  }
  if (fields.empty()) return Error{ExitCode::kInput, "the model has no inputs"};
  Result<OpenedSource> opened = spec.open({spec, fields, seed});
  if (!opened.ok()) return opened.error();
  for (const int number : numbers) {
    batches->fields_.push_back(number < 0 ? number : opened.value().fields[static_cast<size_t>(number)]);
  }
  batches->source_ = std::move(opened.value().source);
  batches->inputs_ = std::move(inputs);
  for (size_t i = 0; i < batches->inputs_.size(); ++i) batches->reading_->Add(i, batches->inputs_[i]);
  batches->validation_ = batches->source_->Divide(spec.validation);
  batches->tests_all_ = spec.only_tests && spec.validation == 0 && batches->samples(DataPart::kTest) == 0;
  if (!spec.only_tests) {
    if (std::optional<Error> error = batches->CheckSizes(spec)) return *error;
  }
  return batches;
}

std::optional<Error> Batches::CheckSizes(const DataSpec& spec) const {
  const std::string data = spec.name + (spec.path.empty() ? "" : Format(" `%s`", spec.path.c_str()));
  const auto too_few = [&](int64_t samples, const char* kind, const std::string& why) {
    return Error{ExitCode::kInput, Format("%s has %" PRId64 " %s samples%s, fewer than one batch of %" PRId64,
                                          data.c_str(), samples, kind, why.c_str(), batch_)};
  };
  const bool is_divided = spec.validation > 0;
  if (train_samples() < batch_) {
    return too_few(train_samples(), "training",
                   is_divided ? Format(" when a share of %g is set aside for validation", spec.validation) : "");
  }
  if (is_divided && samples(DataPart::kValidation) < batch_) {
    return too_few(samples(DataPart::kValidation), "validation", Format(", a share of %g", spec.validation));
  }
  return std::nullopt;
}

Batches::Batches() : reading_(std::make_unique<Reading>()) {}
Batches::~Batches() = default;

DataSplit Batches::SplitOf(DataPart part) const {
  return part == DataPart::kTest && !tests_all_ ? DataSplit::kTest : DataSplit::kTrain;
}

int64_t Batches::train_samples() const { return validation_.train; }
int64_t Batches::samples(DataPart part) const {
  return part == DataPart::kValidation ? validation_.count : source_->Samples(SplitOf(part));
}
int64_t Batches::steps_per_epoch() const { return train_samples() / batch_; }
int64_t Batches::batches(DataPart part) const { return (samples(part) + batch_ - 1) / batch_; }
std::string Batches::note() const { return source_->Note(); }

int64_t Batches::bytes() const { return source_->Bytes() + static_cast<int64_t>(order_.size() * sizeof(order_[0])); }

void Batches::WriteTo(const std::vector<void*>& places) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ModelInput& input = inputs_[i];
    if (input.is_float) {
      input.floats = static_cast<float*>(places[i]);
    } else {
      input.integers = static_cast<int32_t*>(places[i]);
    }
  }
}

std::vector<Sample> Batches::TrainingSamples(int64_t step) {
  const int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_ && shuffle_) {
    order_ = Permutation({seed_, "order of samples", static_cast<uint64_t>(epoch)}, train_samples());
    epoch_ = epoch;
  }
  std::vector<Sample> samples;
  for (int64_t row = 0; row < batch_; ++row) {
    const int64_t place = step % steps_per_epoch() * batch_ + row;
    samples.push_back({DataSplit::kTrain, shuffle_ ? order_[static_cast<size_t>(place)] : place, epoch});
  }
  return samples;
}

std::vector<Sample> Batches::PartSamples(DataPart part, int64_t index) const {
  const int64_t begin = index * batch_;
  const int64_t count = std::min(batch_, samples(part) - begin);
  std::vector<Sample> samples;
  for (int64_t place = begin; place < begin + count; ++place) {
    const int64_t number = part == DataPart::kTest ? place : validation_.first + place * validation_.stride;
    samples.push_back({SplitOf(part), number});
  }
  return samples;
}

void Batches::BeginTraining(int64_t step) { Begin(TrainingSamples(step), step); }

void Batches::LoadTraining(int64_t step) {
  BeginTraining(step);
  if (auto error = Finish()) Die(error->code, error->message);
}

int64_t Batches::LoadPart(DataPart part, int64_t index) {
  Begin(PartSamples(part, index), index);
  if (auto error = Finish()) Die(error->code, error->message);
  return static_cast<int64_t>(reading_->samples.size());
}

void Batches::PrepareTraining(int64_t step, int64_t count) {
  if (!source_->HasToPrepare()) return;
  std::vector<std::vector<Sample>> batches;
  for (int64_t i = 0; i < count; ++i) batches.push_back(TrainingSamples(step + i));
  Prepare(batches);
}

void Batches::PreparePart(DataPart part, int64_t count) {
  if (!source_->HasToPrepare()) return;
  std::vector<std::vector<Sample>> batches;
  for (int64_t i = 0; i < count; ++i) batches.push_back(PartSamples(part, i));
  Prepare(batches);
}

void Batches::Prepare(const std::vector<std::vector<Sample>>& batches) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (fields_[i] < 0) continue;
    std::vector<Sample> samples;
    for (const std::vector<Sample>& batch : batches) {
      for (int64_t row = 0; row < inputs_[i].region.size[0]; ++row) samples.push_back(SampleAt(inputs_[i], row, batch));
    }
    source_->Prepare(fields_[i], samples);
  }
}

void Batches::Begin(std::vector<Sample> samples, int64_t record) {
  Prepare({samples});
  reading_->samples = std::move(samples);
  reading_->record = record;
  reading_->mistake.reset();
  reading_->done = 0;
  reading_->next = 0;  // From here on any thread may read.
}

bool Batches::ReadSome() {
  Reading& reading = *reading_;
  const size_t number = reading.next.fetch_add(1);
  if (number >= reading.runs.size()) return false;
  const Reading::Run& run = reading.runs[number];
  const ModelInput& input = inputs_[run.input];
  const int field = fields_[run.input];
  std::optional<Error> mistake;
  if (field == kRecords) {
    const Records& records = *records_[run.input];
    mistake = records.Read(reading.record % records.count(), input);
  }
  for (int64_t row = run.begin; field != kRecords && row < run.end && !mistake.has_value(); ++row) {
    if (field == kMask) {
      const bool is_real = input.region.begin[0] + row < static_cast<int64_t>(reading.samples.size());
      WriteRow(input, row, [&](int64_t) { return is_real ? 1.0f : 0.0f; });
    } else {
      mistake = source_->Read(SampleAt(input, row, reading.samples), field, input, row);
    }
  }
  const std::lock_guard lock(reading.mutex);
  if (mistake.has_value() && (!reading.mistake.has_value() || number < reading.mistaken)) {
    reading.mistake = std::move(mistake);
    reading.mistaken = number;
  }
  if (++reading.done == reading.runs.size()) reading.all_done.notify_one();
  return true;
}

std::optional<Error> Batches::Finish() {
  Reading& reading = *reading_;
#pragma omp parallel if (reading.runs.size() > inputs_.size())
  while (ReadSome()) {
  }
  std::unique_lock lock(reading.mutex);
  reading.all_done.wait(lock, [&] { return reading.done == reading.runs.size(); });
  return reading.mistake;
}

bool Batches::ReadsSlowly() const {
  return source_->ReadsSlowly() || std::find(fields_.begin(), fields_.end(), kRecords) != fields_.end();
}

}  // namespace cleave::runtime
