// Several sources as one. Reading guide: training sample k of an epoch is occurrence j of a part (Occurrence), and that
// is place epoch * count + j of the endless row of the part's own epochs (Arrange). Both are functions of the seed and
// the epoch alone.
#include "runtime/data/mixture.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "runtime/data/interleave.h"
#include "runtime/data/source.h"
#include "runtime/random/random.h"

namespace cleave::runtime {
namespace {

struct MixedPart {
  OpenedSource opened;
  Division division;
  int64_t tests = 0;
  int64_t count = 0;                  // Samples of an epoch of the mixture.
  std::vector<int64_t> numbers = {};  // Of these samples, in the epoch that is arranged.
};

class MixtureSource final : public Source {
 public:
  MixtureSource(std::vector<MixedPart> parts, uint64_t seed, bool shuffle, std::string note)
      : parts_(std::move(parts)), seed_(seed), shuffle_(shuffle), note_(std::move(note)) {
    std::vector<int64_t> counts;
    for (const MixedPart& part : parts_) {
      train_ += part.division.train;
      validation_ += part.division.count;
      tests_ += part.tests;
      counts.push_back(part.count);
    }
    if (shuffle_) return;
    std::vector<int64_t> taken(parts_.size());
    for (const uint32_t part : Interleaved(counts)) occurrences_.emplace_back(part, taken[part]++);
  }

  int64_t Samples(DataSplit split) const override { return split == DataSplit::kTrain ? train_ : tests_; }
  Division Divide(double) const override { return {train_, train_, 1, validation_}; }

  int64_t Bytes() const override {
    int64_t bytes = train_ * 8 + static_cast<int64_t>(occurrences_.size() * sizeof(Place));
    for (const MixedPart& part : parts_) bytes += part.opened.source->Bytes();
    return bytes;
  }

  std::string Note() const override { return note_; }

  bool HasToPrepare() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const MixedPart& part) { return part.opened.source->HasToPrepare(); });
  }

  void Prepare(int field, const std::vector<Sample>& samples) override {
    for (const Sample& sample : samples) {
      if (sample.is_trained()) Arrange(sample.epoch);
    }
    std::vector<std::vector<Sample>> own(parts_.size());
    for (const Sample& sample : samples) {
      const auto [part, its] = Find(sample);
      own[part].push_back(its);
    }
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (!own[i].empty()) parts_[i].opened.source->Prepare(FieldOf(i, field), own[i]);
    }
  }

  bool ReadsSlowly() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const MixedPart& part) { return part.opened.source->ReadsSlowly(); });
  }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    const auto [part, its] = Find(sample);
    return parts_[part].opened.source->Read(its, FieldOf(part, field), input, row);
  }

 private:
  using Place = std::pair<size_t, int64_t>;  // A part, and a number there.

  int FieldOf(size_t part, int field) const { return parts_[part].opened.fields[static_cast<size_t>(field)]; }

  // The place in a row in which the parts lie one after another, each with as many numbers as `count` says.
  template <typename Count>
  Place OneAfterAnother(int64_t number, Count count) const {
    size_t part = 0;
    while (number >= count(parts_[part])) number -= count(parts_[part++]);
    return {part, number};
  }

  Place Occurrence(int64_t number) const {
    if (!shuffle_) return occurrences_[static_cast<size_t>(number)];
    return OneAfterAnother(number, [](const MixedPart& part) { return part.count; });
  }

  std::pair<size_t, Sample> Find(const Sample& sample) const {
    if (sample.is_trained()) {
      const auto [part, occurrence] = Occurrence(sample.number);
      const MixedPart& own = parts_[part];
      const int64_t epoch = (sample.epoch * own.count + occurrence) / own.division.train;
      return {part, {DataSplit::kTrain, own.numbers[static_cast<size_t>(occurrence)], epoch}};
    }
    if (sample.split == DataSplit::kTest) {
      const auto [part, number] = OneAfterAnother(sample.number, [](const MixedPart& own) { return own.tests; });
      return {part, {DataSplit::kTest, number}};
    }
    if (sample.number < train_) {
      const auto [part, number] =
          OneAfterAnother(sample.number, [](const MixedPart& own) { return own.division.train; });
      return {part, {DataSplit::kTrain, number}};
    }
    const auto [part, number] =
        OneAfterAnother(sample.number - train_, [](const MixedPart& own) { return own.division.count; });
    const Division& division = parts_[part].division;
    return {part, {DataSplit::kTrain, division.first + number * division.stride}};
  }

  void Arrange(int64_t epoch) {
    if (epoch == arranged_) return;
    arranged_ = epoch;
    for (size_t i = 0; i < parts_.size(); ++i) {
      MixedPart& part = parts_[i];
      part.numbers.clear();
      const int64_t all = part.division.train, end = (epoch + 1) * part.count;
      for (int64_t place = epoch * part.count; place < end;) {
        const int64_t own_epoch = place / all, first = place % all, count = std::min(all - first, end - place);
        const std::string name = Format("order of part %zu", i);
        std::vector<int64_t> order(shuffle_ ? 0 : static_cast<size_t>(all));
        std::iota(order.begin(), order.end(), 0);
        if (shuffle_) order = Permutation({seed_, name.c_str(), static_cast<uint64_t>(own_epoch)}, all);
        part.numbers.insert(part.numbers.end(), order.begin() + first, order.begin() + first + count);
        place += count;
      }
    }
  }

  std::vector<MixedPart> parts_;
  const uint64_t seed_;
  const bool shuffle_;
  const std::string note_;
  int64_t train_ = 0;
  int64_t validation_ = 0;
  int64_t tests_ = 0;
  std::vector<Place> occurrences_;  // Of an epoch that is not shuffled.
  int64_t arranged_ = -1;
};

// `all` samples by weight: each part has its share rounded down, and those with the largest rests one more.
std::vector<int64_t> SharesOf(const std::vector<double>& weights, int64_t all) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> counts;
  std::vector<std::pair<double, size_t>> rests;
  for (const double weight : weights) {
    const double share = static_cast<double>(all) * (weight / sum);
    counts.push_back(static_cast<int64_t>(share));
    rests.emplace_back(static_cast<double>(counts.back()) - share, rests.size());
  }
  std::sort(rests.begin(), rests.end());
  const int64_t missing = all - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (int64_t i = 0; i < missing; ++i) ++counts[rests[static_cast<size_t>(i)].second];
  return counts;
}

Result<OpenedSource> OpenMixture(const OpenRequest& request) {
  std::vector<MixedPart> parts;
  std::string mistakes, note;
  int64_t all = 0;
  for (DataSpec spec : request.spec.parts) {
    spec.only_tests = request.spec.only_tests;
    spec.validation = request.spec.validation;
    spec.shows_progress = request.spec.shows_progress;
    Result<OpenedSource> opened = spec.open({spec, request.inputs, request.seed, /*is_mixed=*/true});
    if (!opened.ok()) {
      mistakes += (mistakes.empty() ? "" : "\nerror: ") + opened.error().message;
      continue;
    }
    MixedPart part = {std::move(opened.value()), {}};
    part.division = part.opened.source->Divide(spec.validation);
    part.tests = part.opened.source->Samples(DataSplit::kTest);
    all += part.division.train;
    if (part.division.train == 0 && !spec.only_tests) {
      mistakes += (mistakes.empty() ? "" : "\nerror: ") +
                  Format("%s%s of `mix` has no training samples", spec.name,
                         spec.path.empty() ? "" : Format(" `%s`", spec.path.c_str()).c_str());
    }
    if (const std::string own = part.opened.source->Note(); !own.empty()) note += (note.empty() ? "" : "; ") + own;
    parts.push_back(std::move(part));
  }
  if (!mistakes.empty()) return Error{ExitCode::kInput, mistakes};
  const std::vector<int64_t> counts = SharesOf(request.spec.weights, all);
  std::string shares;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].count = counts[i];
    shares += Format("%s%" PRId64 " of %" PRId64, i == 0 ? "" : ", ", counts[i], parts[i].division.train);
  }
  note = "mix: an epoch has " + shares + " samples" + (note.empty() ? "" : "; ") + note;
  std::vector<int> fields(request.inputs.size());
  std::iota(fields.begin(), fields.end(), 0);
  return OpenedSource{
      std::make_unique<MixtureSource>(std::move(parts), request.seed, request.spec.shuffle, std::move(note)),
      std::move(fields)};
}

}  // namespace

DataSpec Mix(std::vector<DataSpec> parts, std::vector<double> weights) {
  DataSpec spec{"mix", OpenMixture, "", 0, 0};
  spec.parts = std::move(parts);
  spec.weights = std::move(weights);
  return spec;
}

}  // namespace cleave::runtime
