// Samples in safetensors files. They are not kept in memory: a row is read when a batch needs it.
#include "runtime/data/tensor_files.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "runtime/data/source.h"
#include "runtime/safetensors/safetensors.h"

namespace cleave::runtime {
namespace {

// Integers of larger tensors are compared with the model's classes where they are read.
constexpr int64_t kCheckedBytesOfTensor = int64_t{256} << 20;

struct IntegerType {
  int64_t bytes;
  bool is_signed;
};

const IntegerType* IntegerTypeOf(const std::string& type) {
  static const std::map<std::string, IntegerType>& types = *new std::map<std::string, IntegerType>{
      {"BOOL", {1, false}}, {"U8", {1, false}}, {"I8", {1, true}},   {"U16", {2, false}}, {"I16", {2, true}},
      {"U32", {4, false}},  {"I32", {4, true}}, {"U64", {8, false}}, {"I64", {8, true}}};
  const auto found = types.find(type);
  return found == types.end() ? nullptr : &found->second;
}

// Little endian. What int64 does not hold becomes its largest number, which no model takes.
int64_t IntegerAt(const unsigned char* bytes, const IntegerType& type) {
  uint64_t number = 0;
  for (int64_t i = 0; i < type.bytes; ++i) number |= uint64_t{bytes[i]} << (8 * i);
  const int64_t unused = 64 - 8 * type.bytes;
  if (type.is_signed) return static_cast<int64_t>(number << unused) >> unused;
  return static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX));
}

bool GivesFloats(const std::string& type) {
  const IntegerType* integer = IntegerTypeOf(type);
  return IsSafetensorsFloat(type) || (integer != nullptr && integer->bytes == 1);
}

class TensorFile {
 public:
  // `tensors`: the name of the tensor of each input.
  static Result<TensorFile> Open(const std::string& path, const std::vector<ModelInput>& inputs,
                                 const std::vector<std::vector<std::string>>& tensors) {
    Result<SafetensorsFile> opened = SafetensorsFile::Open(path);
    if (!opened.ok()) return opened.error();
    TensorFile file(std::move(opened.value()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (auto error = file.Add(inputs[i], tensors[i].front())) return *error;
    }
    return file;
  }

  int64_t samples() const { return entries_.front().shape.front(); }

  std::optional<Error> Read(int64_t sample, size_t field, const ModelInput& input, int64_t row) const {
    const Region piece = SampleRegion(input.region);
    const int64_t source = sample * ElementCount(piece.shape), target = row * ElementCount(piece.size);
    std::optional<Error> error;
    ForEachRun(piece, [&](int64_t global, int64_t local, int64_t count) {
      if (!error.has_value()) error = ReadRun(field, source + global, count, input, target + local);
    });
    return error;
  }

 private:
  explicit TensorFile(SafetensorsFile file) : file_(std::move(file)) {}

  Error Wrong(const std::string& why) const {
    return {ExitCode::kInput, Format("`%s` %s", file_.path().c_str(), why.c_str())};
  }

  std::optional<Error> Add(const ModelInput& input, const std::string& name) {
    const SafetensorsEntry* entry = file_.Find(name);
    const std::string shown = "tensor `" + ShownSafetensorsName(name) + "`";
    if (entry == nullptr) return Wrong("has no " + shown);
    const auto refuse = [&](const char* why) {
      return Wrong(Format("has %s as %s, and input %s: %s", shown.c_str(), SafetensorsTypeText(*entry).c_str(),
                          Describe(input).c_str(), why));
    };
    if (input.is_float ? !GivesFloats(entry->type) : IntegerTypeOf(entry->type) == nullptr) {
      return refuse("f32 takes floats and integers of 8 bits, i32 integers");
    }
    const std::vector<int64_t>& shape = input.region.shape;
    if (entry->shape.size() != shape.size() || !std::equal(shape.begin() + 1, shape.end(), entry->shape.begin() + 1)) {
      return refuse("all dimensions but the first, of the samples, must be equal");
    }
    if (!entries_.empty() && entry->shape[0] != samples()) {
      return Wrong(Format("has %" PRId64 " samples of `%s`, and %" PRId64 " of `%s`", samples(),
                          ShownSafetensorsName(entries_.front().name).c_str(), entry->shape[0],
                          ShownSafetensorsName(name).c_str()));
    }
    entries_.push_back(*entry);
    return CheckIntegers(input);
  }

  // Of the tensor that was added last.
  std::optional<Error> CheckIntegers(const ModelInput& input) const {
    const SafetensorsEntry& entry = entries_.back();
    if (input.is_float || entry.bytes > kCheckedBytesOfTensor) return std::nullopt;
    constexpr int64_t kAtOnce = int64_t{1} << 18;
    std::vector<int32_t> values(static_cast<size_t>(kAtOnce));
    ModelInput checked = input;
    checked.integers = values.data();
    const int64_t all = ElementCount(entry.shape);
    for (int64_t first = 0; first < all; first += kAtOnce) {
      if (auto error = ReadRun(entries_.size() - 1, first, std::min(kAtOnce, all - first), checked, 0)) return error;
    }
    return std::nullopt;
  }

  // Values of a tensor from value `first` on, to the input's from `target` on.
  std::optional<Error> ReadRun(size_t field, int64_t first, int64_t count, const ModelInput& input,
                               int64_t target) const {
    const SafetensorsEntry& entry = entries_[field];
    if (IsSafetensorsFloat(entry.type)) return file_.ReadRun(entry, first, count, input.floats + target);
    const IntegerType& type = *IntegerTypeOf(entry.type);
    std::vector<unsigned char> bytes(static_cast<size_t>(count * type.bytes));
    if (auto error = file_.Read(entry.offset + first * type.bytes, count * type.bytes, bytes.data())) return error;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = IntegerAt(bytes.data() + i * type.bytes, type);
      if (input.is_float) {
        input.floats[target + i] = static_cast<float>(number);
        continue;
      }
      if (!input.Takes(number)) return OutOfRange(entry, number, first + i, input.limit);
      input.integers[target + i] = static_cast<int32_t>(number);
    }
    return std::nullopt;
  }

  Error OutOfRange(const SafetensorsEntry& entry, int64_t number, int64_t index, int64_t limit) const {
    const std::string why = limit > 0 ? Format("the model has %" PRId64 " classes", limit) : "i32 does not hold it";
    return {ExitCode::kInput,
            Format("value %" PRId64 " at index %" PRId64 " of tensor `%s` in `%s` is out of range: %s", number, index,
                   ShownSafetensorsName(entry.name).c_str(), file_.path().c_str(), why.c_str())};
  }

  SafetensorsFile file_;
  std::vector<SafetensorsEntry> entries_;  // By input.
};

using TensorSamples = FilesInOrder<TensorFile>;

class TensorFilesSource final : public Source {
 public:
  TensorFilesSource(TensorSamples train, TensorSamples test) : train_(std::move(train)), test_(std::move(test)) {}

  int64_t Samples(DataSplit split) const override { return Of(split).count(); }
  int64_t Bytes() const override { return 0; }

  bool ReadsSlowly() const override { return true; }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    const auto [file, own] = Of(sample.split).At(sample.number);
    // A value that was not checked before, or the disk.
    return file.Read(own, static_cast<size_t>(field), input, row);
  }

 private:
  const TensorSamples& Of(DataSplit split) const { return split == DataSplit::kTrain ? train_ : test_; }

  const TensorSamples train_;
  const TensorSamples test_;
};

Result<OpenedSource> OpenTensorFiles(const OpenRequest& request) {
  Result<MatchedColumns> matched = MatchColumns("safetensors", request.spec, request.inputs);
  if (!matched.ok()) return matched.error();
  TensorSamples train, test;
  const auto read = [&](const std::string& part, const std::string& path, Progress&) -> std::optional<Error> {
    Result<TensorFile> file = TensorFile::Open(path, request.inputs, matched.value().names);
    if (!file.ok()) return file.error();
    const int64_t samples = file.value().samples();
    (part == "test" ? test : train).Add(std::move(file.value()), samples);
    return std::nullopt;
  };
  if (auto error = ReadFiles(request.spec, read)) return *error;
  return OpenedSource{std::make_unique<TensorFilesSource>(std::move(train), std::move(test)),
                      std::move(matched.value().fields)};
}

}  // namespace

DataSpec TensorFiles(std::vector<InputFile> files, std::vector<InputColumns> tensors) {
  DataSpec spec{"safetensors", OpenTensorFiles, files.front().path, 0, 0, std::move(files)};
  spec.columns = std::move(tensors);
  return spec;
}

}  // namespace cleave::runtime
