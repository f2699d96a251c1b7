#include "ir/graph/ops/custom_reference.h"

#include <cmath>

#include "ir/graph/ops/factor_walk.h"
#include "ir/graph/ops/random_stream.h"

namespace cleave::ir {
namespace {

// The purpose of a weight: weights of different purposes have nothing in common.
constexpr uint64_t kPlace = 1;
constexpr uint64_t kOutput = 2;
constexpr uint64_t kCoefficient = 3;
constexpr uint64_t kInput = 4;  // And the numbers above it, one per input.

// In [0.5, 1.5).
double WeightOf(uint64_t hash) { return 0.5 + static_cast<double>(hash >> 11) * 0x1p-53; }

uint64_t SeedOf(const std::string& name) {
  uint64_t seed = 0;
  for (const char c : name) seed = MixBits(seed ^ static_cast<unsigned char>(c));
  return seed;
}

}  // namespace

CustomReference::CustomReference(const std::string& name, const Rule& rule, absl::Span<const FactorRange> ranges)
    : rule_(rule), ranges_(ranges), seed_(SeedOf(name)), group_of_(rule.inputs.size(), -1), index_(ranges.size(), 0) {
  for (size_t g = 0; g < rule.linear.size(); ++g) {
    for (const int input : rule.linear[g]) group_of_[static_cast<size_t>(input)] = static_cast<int>(g);
  }
  for (int f = 0; f < static_cast<int>(rule.factors.size()); ++f) {
    if (!IsWhole(f)) cut_.push_back(f);
  }
}

std::vector<int> CustomReference::FactorsOf(const std::vector<FactorList>& dimensions, bool whole) const {
  std::vector<int> factors;
  for (const FactorList& dimension : dimensions) {
    for (const int factor : dimension) {
      if (IsWhole(factor) == whole) factors.push_back(factor);
    }
  }
  return factors;
}

double CustomReference::WeightAt(uint64_t purpose, const std::vector<int>& factors) const {
  uint64_t hash = MixBits(seed_ ^ purpose);
  for (const int factor : factors) {
    const auto f = static_cast<size_t>(factor);
    hash = MixBits(hash ^ static_cast<uint64_t>(ranges_[f].begin + index_[f]));
  }
  return WeightOf(hash);
}

double CustomReference::InputWeight(size_t input) const {
  return WeightOf(MixBits(MixBits(seed_ ^ kCoefficient) ^ input));
}

CustomReference::Mixture CustomReference::EmptyMixture(size_t input) const {
  const std::vector<int> cut = FactorsOf(rule_.inputs[input], false);
  Mixture mixture{.values = {}, .strides = FactorStrides({FactorList(cut.begin(), cut.end())}, ranges_)};
  int64_t elements = 1;
  for (const int factor : cut) elements *= ranges_[static_cast<size_t>(factor)].size;
  mixture.values.assign(static_cast<size_t>(elements), 0.0);
  return mixture;
}

CustomReference::Mixture CustomReference::Mixed(const Tensor& tensor, size_t input) {
  Mixture mixture = EmptyMixture(input);
  const std::vector<int64_t> strides = FactorStrides(rule_.inputs[input], ranges_);
  const std::vector<int> whole = FactorsOf(rule_.inputs[input], true);
  ForEachIndex(FactorsOf(rule_.inputs[input], false), ranges_, index_, [&] {
    double& sum = mixture.values[static_cast<size_t>(OffsetOf(index_, mixture.strides))];
    ForEachIndex(whole, ranges_, index_, [&] {
      sum += WeightAt(kInput + input, whole) * tensor.values[static_cast<size_t>(OffsetOf(index_, strides))];
    });
  });
  return mixture;
}

std::vector<CustomReference::Mixture> CustomReference::MixedInputs(absl::Span<const Tensor* const> inputs) {
  std::vector<Mixture> mixtures;
  for (size_t i = 0; i < inputs.size(); ++i) mixtures.push_back(Mixed(*inputs[i], i));
  return mixtures;
}

double CustomReference::Term(const std::vector<Mixture>& mixtures, std::optional<size_t> by) const {
  double phase = 1;
  std::vector<double> sums(rule_.linear.size(), 0.0);
  for (size_t i = 0; i < mixtures.size(); ++i) {
    const double mixed = mixtures[i].values[static_cast<size_t>(OffsetOf(index_, mixtures[i].strides))];
    (group_of_[i] < 0 ? phase : sums[static_cast<size_t>(group_of_[i])]) += InputWeight(i) * mixed;
  }
  double term = WeightAt(kPlace, cut_);
  const int group = by.has_value() ? group_of_[*by] : -1;
  term *= by.has_value() && group < 0 ? std::cos(phase) : std::sin(phase);
  if (by.has_value()) term *= InputWeight(*by);
  for (size_t g = 0; g < sums.size(); ++g) term *= static_cast<int>(g) == group ? 1.0 : sums[g];
  return term;
}

void CustomReference::Forward(absl::Span<const Tensor* const> inputs, Tensor& output) {
  const std::vector<Mixture> mixtures = MixedInputs(inputs);
  const std::vector<int64_t> strides = FactorStrides(rule_.output, ranges_);
  const std::vector<int> whole = FactorsOf(rule_.output, true);
  ForEachIndex(cut_, ranges_, index_, [&] {
    const double term = Term(mixtures, std::nullopt);
    ForEachIndex(whole, ranges_, index_, [&] {
      output.values[static_cast<size_t>(OffsetOf(index_, strides))] += WeightAt(kOutput, whole) * term;
    });
  });
}

void CustomReference::Backward(const Tensor& dy, absl::Span<const Tensor* const> inputs, size_t input,
                               Tensor& gradient) {
  const std::vector<Mixture> mixtures = MixedInputs(inputs);
  const std::vector<int64_t> output_strides = FactorStrides(rule_.output, ranges_);
  const std::vector<int> output_whole = FactorsOf(rule_.output, true);
  Mixture by_mixture = EmptyMixture(input);
  ForEachIndex(cut_, ranges_, index_, [&] {
    double weighed = 0;
    ForEachIndex(output_whole, ranges_, index_, [&] {
      weighed += WeightAt(kOutput, output_whole) * dy.values[static_cast<size_t>(OffsetOf(index_, output_strides))];
    });
    by_mixture.values[static_cast<size_t>(OffsetOf(index_, by_mixture.strides))] += weighed * Term(mixtures, input);
  });
  const std::vector<int64_t> strides = FactorStrides(rule_.inputs[input], ranges_);
  const std::vector<int> whole = FactorsOf(rule_.inputs[input], true);
  ForEachIndex(FactorsOf(rule_.inputs[input], false), ranges_, index_, [&] {
    const double outer = by_mixture.values[static_cast<size_t>(OffsetOf(index_, by_mixture.strides))];
    ForEachIndex(whole, ranges_, index_, [&] {
      gradient.values[static_cast<size_t>(OffsetOf(index_, strides))] += WeightAt(kInput + input, whole) * outer;
    });
  });
}

}  // namespace cleave::ir
