#include "tools/data/arrays.h"

#include <array>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "runtime/npy/npy_writer.h"
#include "runtime/progress/progress.h"
#include "tools/data/packing.h"

namespace cleave::tools {
namespace {

constexpr int64_t kRowsAtOnce = 32;

// Some rows of all arrays.
class RowBuffer {
 public:
  explicit RowBuffer(const ArrayOptions& options) : options_(options) {}

  int64_t rows() const { return rows_; }

  const std::vector<int32_t>& array(size_t number) const { return arrays_[number]; }

  void BeginRow() {
    ++rows_;
    const size_t seq = options_.seq, size = static_cast<size_t>(rows_) * seq;
    const bool of_pairs = options_.kind == RowKind::kPair;
    const int32_t empty[] = {options_.padding, kNoLabel, of_pairs ? options_.padding : 0, of_pairs ? kNoLabel : 0};
    for (size_t i = 0; i < arrays_.size(); ++i) arrays_[i].resize(size, empty[i]);
    place_ = size - seq;
    document_ = 0;
  }

  void Add(const std::vector<LabelledToken>& sample) {
    ++document_;
    if (options_.kind == RowKind::kPair) {
      const size_t first = document_ == 1 ? 0 : 2;
      for (size_t i = 0; i < sample.size(); ++i) {
        arrays_[first][place_ + i] = sample[i].token;
        arrays_[first + 1][place_ + i] = sample[i].label;
      }
      return;
    }
    for (size_t i = 0; i < sample.size(); ++i, ++place_) {
      arrays_[0][place_] = sample[i].token;
      arrays_[1][place_] = sample[i].label;
      arrays_[2][place_] = document_;
      arrays_[3][place_] = static_cast<int32_t>(i);
    }
  }

  void Clear() {
    rows_ = 0;
    for (std::vector<int32_t>& array : arrays_) array.clear();
  }

 private:
  const ArrayOptions& options_;
  std::array<std::vector<int32_t>, 4> arrays_;
  int64_t rows_ = 0;
  size_t place_ = 0;
  int32_t document_ = 0;
};

Diagnostic CannotWrite(const runtime::Error& error) { return Error(Code::kE0602, error.message); }

// Of numbers within `samples`.
std::vector<std::vector<uint32_t>> RowsOf(const SampleStore& store, const std::vector<uint32_t>& samples,
                                          const ArrayOptions& options) {
  std::vector<std::vector<uint32_t>> rows;
  if (options.kind == RowKind::kPacked) {
    std::vector<uint32_t> lengths;
    lengths.reserve(samples.size());
    for (const uint32_t sample : samples) lengths.push_back(store.lengths()[sample]);
    return PackBestFit(lengths, options.seq);
  }
  for (uint32_t i = 0; i < samples.size(); ++i) {
    if (options.kind == RowKind::kPair && i % 2 == 1) {
      rows.back().push_back(i);
    } else {
      rows.push_back({i});
    }
  }
  return rows;
}

}  // namespace

const std::vector<std::string>& ArrayNames(bool of_pairs) {
  static const auto& single = *new std::vector<std::string>{"tokens", "labels", "documents", "positions"};
  static const auto& pairs = *new std::vector<std::string>{"chosen", "chosen_labels", "rejected", "rejected_labels"};
  return of_pairs ? pairs : single;
}

std::optional<Diagnostic> WriteArrays(const SampleStore& store, const std::vector<uint32_t>& samples,
                                      const std::string& folder, const ArrayOptions& options, DataFacts& facts) {
  std::vector<runtime::NpyWriter> writers;
  const bool of_pairs = options.kind == RowKind::kPair;
  for (const std::string& name : ArrayNames(of_pairs)) {
    const std::string path = (std::filesystem::path(folder) / absl::StrCat(name, ".npy")).string();
    runtime::Result<runtime::NpyWriter> writer = runtime::NpyWriter::Create(path, /*is_float=*/false, {options.seq});
    if (!writer.ok()) return CannotWrite(writer.error());
    writers.push_back(std::move(writer.value()));
  }
  const std::vector<std::vector<uint32_t>> rows = RowsOf(store, samples, options);
  runtime::Progress progress("writing the arrays", static_cast<int64_t>(rows.size()), {});
  RowBuffer buffer(options);
  std::vector<LabelledToken> sample;
  const auto write = [&]() -> std::optional<Diagnostic> {
    for (size_t i = 0; i < writers.size(); ++i) {
      if (auto error = writers[i].Append(buffer.array(i).data(), buffer.rows())) return CannotWrite(*error);
    }
    progress.Add(buffer.rows());
    buffer.Clear();
    return std::nullopt;
  };
  for (const std::vector<uint32_t>& row : rows) {
    buffer.BeginRow();
    for (const uint32_t number : row) {
      if (auto error = store.Read(samples[number], sample)) return error;
      buffer.Add(sample);
      facts.tokens += static_cast<int64_t>(sample.size());
      for (const LabelledToken& token : sample) facts.learned += token.label == kNoLabel ? 0 : 1;
    }
    if (buffer.rows() < kRowsAtOnce) continue;
    if (auto error = write()) return error;
  }
  if (auto error = write()) return error;
  for (runtime::NpyWriter& writer : writers) {
    if (auto error = writer.Finish()) return CannotWrite(*error);
  }
  facts.seq = options.seq;
  facts.rows = static_cast<int64_t>(rows.size());
  facts.pairs = of_pairs ? facts.rows : 0;
  facts.samples = static_cast<int64_t>(samples.size());
  return std::nullopt;
}

}  // namespace cleave::tools
