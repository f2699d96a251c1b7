// Samples made from shapes and a seed. Reading guide: Element says what value stands where; everything else caches or
// copies it.
//
// Targets are learnable: each value of one is a function of a few values of the first input of its sample.
#include "runtime/data/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "runtime/data/source.h"
#include "runtime/random/random.h"

namespace cleave::runtime {
namespace {

// How many values of the first input a value of a target depends on.
constexpr int kTerms = 8;

// Inputs that need less than this together are made once, at the start; larger ones are made for every batch.
constexpr int64_t kCacheBytes = int64_t{256} << 20;

// The deviation of numbers that are uniform in [-1, 1) is 1 / kRootOfThree.
constexpr float kRootOfThree = 1.7320508f;

// Classes where the model does not say how many there are.
constexpr int64_t kDefaultLimit = 2;

struct SyntheticField {
  std::string name;
  int64_t elements = 1;  // Per sample.
  bool is_float = true;
  int64_t limit = kDefaultLimit;
};

class SyntheticSource final : public Source {
 public:
  SyntheticSource(uint64_t seed, std::vector<SyntheticField> fields, int64_t train, int64_t test)
      : seed_(seed), fields_(std::move(fields)), train_(train), test_(test) {
    for (const SyntheticField& field : fields_) {
      words_.emplace_back(Stream{seed, field.name.c_str()});
      terms_.push_back(MakeTerms(field));
    }
    double bytes = 0;  // Of all samples together, which may be more than fit an integer.
    for (const SyntheticField& field : fields_)
      bytes += static_cast<double>(field.elements) * static_cast<double>(train + test) * sizeof(float);
    if (bytes > static_cast<double>(kCacheBytes)) return;
    for (size_t field = 0; field < fields_.size(); ++field) {
      std::vector<float> values;
      values.reserve(static_cast<size_t>(fields_[field].elements * (train + test)));
      for (int64_t sample = 0; sample < train + test; ++sample) {
        for (int64_t i = 0; i < fields_[field].elements; ++i)
          values.push_back(Element(static_cast<int>(field), sample, i));
      }
      cache_.push_back(std::move(values));
    }
  }

  int64_t Samples(DataSplit split) const override { return split == DataSplit::kTrain ? train_ : test_; }

  int64_t Bytes() const override {
    size_t bytes = 0;
    for (const std::vector<float>& values : cache_) bytes += values.size() * sizeof(float);
    for (const std::vector<Term>& terms : terms_) bytes += terms.size() * sizeof(Term);
    return static_cast<int64_t>(bytes);
  }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    const int64_t number = sample.number + (sample.split == DataSplit::kTest ? train_ : 0);
    if (cache_.empty()) {
      WriteRow(input, row, [&](int64_t i) { return Element(field, number, i); });
      return std::nullopt;
    }
    const float* values =
        cache_[static_cast<size_t>(field)].data() + number * fields_[static_cast<size_t>(field)].elements;
    WriteRow(input, row, [&](int64_t i) { return values[i]; });
    return std::nullopt;
  }

 private:
  struct Term {
    int64_t element = 0;  // Of the first input.
    float weight = 0;
  };

  // Value i of a sample. Integers below 2^24 are exact in a float; larger limits lose their lowest bits, which is no
  // harm here.
  float Element(int field, int64_t sample, int64_t i) const {
    const SyntheticField& about = fields_[static_cast<size_t>(field)];
    if (field == 0) return Free(sample, i);
    const SyntheticField& first = fields_[0];
    if (about.is_float) return std::tanh(Project(field, sample, i));
    if (first.is_float && about.elements == 1) return static_cast<float>(Class(field, sample));
    if (!first.is_float && about.elements == first.elements) {
      // A fixed map of symbols. Its factor is odd and not 1, so that symbols that are neighbours do not stay
      // neighbours.
      return static_cast<float>((5 * static_cast<int64_t>(Free(sample, i)) + 3) % about.limit);
    }
    return Draw(field, sample, i);
  }

  float Free(int64_t sample, int64_t i) const { return Draw(0, sample, i); }

  // The same with deviation 1; of integers about so.
  float Signal(int64_t sample, int64_t i) const {
    const float value = Free(sample, i);
    if (fields_[0].is_float) return value;
    return kRootOfThree * ((2 * value + 1) / static_cast<float>(fields_[0].limit) - 1);
  }

  // A value that depends only on its place: uniform with deviation 1, or an integer.
  float Draw(int field, int64_t sample, int64_t i) const {
    const SyntheticField& about = fields_[static_cast<size_t>(field)];
    const uint64_t place = static_cast<uint64_t>(sample * about.elements + i);
    const uint32_t word = words_[static_cast<size_t>(field)].Block(place / 4)[place % 4];
    if (!about.is_float) return static_cast<float>(uint64_t{word} * static_cast<uint64_t>(about.limit) >> 32);
    return kRootOfThree * (2 * UnitFloat(word) - 1);
  }

  float Project(int field, int64_t sample, int64_t i) const {
    const Term* terms = terms_[static_cast<size_t>(field)].data() + i * kTerms;
    float sum = 0;
    for (int term = 0; term < kTerms; ++term) sum += terms[term].weight * Signal(sample, terms[term].element);
    return sum;
  }

  // The class whose projection is largest.
  int64_t Class(int field, int64_t sample) const {
    int64_t best = 0;
    float most = Project(field, sample, 0);
    for (int64_t candidate = 1; candidate < fields_[static_cast<size_t>(field)].limit; ++candidate) {
      const float value = Project(field, sample, candidate);
      if (value > most) {
        most = value;
        best = candidate;
      }
    }
    return best;
  }

  std::vector<Term> MakeTerms(const SyntheticField& field) const {
    const SyntheticField& first = fields_[0];
    if (&field == &first || (!first.is_float && !field.is_float)) return {};
    const int64_t count = kTerms * (field.is_float ? field.elements : field.limit);
    const Region all = WholeRegion({count});
    std::vector<int32_t> elements(static_cast<size_t>(count));
    std::vector<float> weights(static_cast<size_t>(count));
    const int64_t choices = std::min<int64_t>(first.elements, INT32_MAX);
    FillIntegers({seed_, (field.name + ".terms").c_str()}, all, static_cast<int32_t>(choices), elements.data());
    FillNormal({seed_, (field.name + ".weights").c_str()}, all, 0, 1 / std::sqrt(static_cast<float>(kTerms)),
               weights.data());
    std::vector<Term> terms;
    for (size_t i = 0; i < elements.size(); ++i) terms.push_back({elements[i], weights[i]});
    return terms;
  }

  const uint64_t seed_;
  const std::vector<SyntheticField> fields_;
  const int64_t train_;
  const int64_t test_;
  std::vector<StreamWords> words_;         // Per field.
  std::vector<std::vector<Term>> terms_;   // Per field; kTerms for each value, or class.
  std::vector<std::vector<float>> cache_;  // Per field; empty when the samples are made on the way.
};

Result<OpenedSource> OpenSynthetic(const OpenRequest& request) {
  std::vector<SyntheticField> fields;
  std::vector<int> numbers;
  for (const ModelInput& input : request.inputs) {
    SyntheticField field;
    field.name = "synthetic." + input.name;
    field.elements = ElementsPerSample(input.region);
    field.is_float = input.is_float;
    if (input.limit > 0) field.limit = std::min<int64_t>(input.limit, INT32_MAX);
    numbers.push_back(static_cast<int>(fields.size()));
    fields.push_back(std::move(field));
  }
  return OpenedSource{std::make_unique<SyntheticSource>(request.seed, std::move(fields), request.spec.train_samples,
                                                        request.spec.test_samples),
                      std::move(numbers)};
}

}  // namespace

DataSpec Synthetic(int64_t train_samples, int64_t test_samples) {
  return {"synthetic", OpenSynthetic, "", train_samples, test_samples};
}

}  // namespace cleave::runtime
