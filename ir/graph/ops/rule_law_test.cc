// Tests laws that the rule of every op must keep: what a rule says about cutting, partial sums and sizes must be true
// for the op's evaluation.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rules.h"
#include "ir/graph/ops/samples.h"

namespace cleave::ir {
namespace {

constexpr uint64_t kLawSeed = 31;
constexpr int kRounds = 12;

// Calls `check` with random samples of every op of the table.
void ForEachSample(const std::function<void(const Sample&, Random&)>& check) {
  Random random(kLawSeed);
  for (int round = 0; round < kRounds; ++round) {
    for (const OpDefinition* op : AllOps()) {
      for (const Sample& sample : SamplesOf(op->kind, random)) {
        SCOPED_TRACE(absl::StrCat("seed ", kLawSeed, ", round ", round, ": ", sample.Text()));
        check(sample, random);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(RuleLawTest, EveryOpHasSamples) {
  Random random(kLawSeed);
  for (const OpDefinition* op : AllOps()) EXPECT_FALSE(SamplesOf(op->kind, random).empty()) << op->name();
}

TEST(RuleLawTest, RulesAreWellFormed) {
  ForEachSample([](const Sample& sample, Random&) {
    std::vector<Shape> shapes;
    for (const TensorType& type : sample.types) shapes.push_back(type.shape);
    EXPECT_EQ(FindRuleError(sample.rule, shapes, sample.output.shape), "");
  });
}

// For every element of a local dimension its index in the whole one.
std::vector<int64_t> DimensionIndex(const FactorList& factors, const std::vector<FactorRange>& ranges) {
  std::vector<int64_t> index = {0};
  for (int factor : factors) {
    const FactorRange& range = ranges[static_cast<size_t>(factor)];
    std::vector<int64_t> next;
    for (int64_t outer : index) {
      for (int64_t i = 0; i < range.size; ++i) next.push_back(outer * range.global + range.begin + i);
    }
    index = std::move(next);
  }
  return index;
}

// The same for a dimension that is read in windows of its factor.
std::vector<int64_t> WindowIndex(const Window& window, const FactorRange& range) {
  const Piece piece =
      range.is_cut ? window.Of({.begin = range.begin, .size = range.size}) : Piece{.begin = 0, .size = window.elements};
  std::vector<int64_t> index(static_cast<size_t>(piece.size));
  std::iota(index.begin(), index.end(), piece.begin);
  return index;
}

// The place in the whole tensor of every element of the local one, and the local shape.
struct LocalPart {
  Shape shape;
  std::vector<int64_t> elements;
};

// `input`: of the rule; -1 for its output.
LocalPart PartOf(const Shape& whole, const Rule& rule, int input, const std::vector<FactorRange>& ranges) {
  LocalPart part{.shape = {}, .elements = {0}};
  const std::vector<FactorList>& dimensions = input < 0 ? rule.output : rule.inputs[static_cast<size_t>(input)];
  for (size_t d = 0; d < whole.size(); ++d) {
    const Window* window = rule.WindowOf(input, d);
    const std::vector<int64_t> index = window == nullptr
                                           ? DimensionIndex(dimensions[d], ranges)
                                           : WindowIndex(*window, ranges[static_cast<size_t>(dimensions[d][0])]);
    part.shape.push_back(static_cast<int64_t>(index.size()));
    std::vector<int64_t> next;
    for (int64_t outer : part.elements) {
      for (int64_t i : index) next.push_back(outer * whole[d] + i);
    }
    part.elements = std::move(next);
  }
  return part;
}

Tensor Take(const Tensor& whole, const LocalPart& part) {
  Tensor local = Zeros(part.shape);
  for (size_t i = 0; i < part.elements.size(); ++i) {
    local.values[i] = whole.values[static_cast<size_t>(part.elements[i])];
  }
  return local;
}

// Cuts [0, size) into one to three pieces, of which some may be empty; into one where the op itself has no form for
// more.
std::vector<FactorRange> RandomPieces(const Factor& factor, Random& random) {
  std::vector<int64_t> bounds = {0, factor.size};
  if (factor.kind == FactorKind::kParallel || factor.kind == FactorKind::kReduced) {
    for (int64_t cuts = RandomInt(random, 0, 2); cuts > 0; --cuts) bounds.push_back(RandomInt(random, 0, factor.size));
  }
  std::sort(bounds.begin(), bounds.end());
  std::vector<FactorRange> pieces;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    pieces.push_back(
        {.begin = bounds[i], .size = bounds[i + 1] - bounds[i], .global = factor.size, .is_cut = bounds.size() > 2});
  }
  return pieces;
}

std::optional<Reduction> ReductionOf(const Rule& rule) {
  for (const Factor& factor : rule.factors) {
    if (factor.kind == FactorKind::kReduced) return factor.reduction;
  }
  return std::nullopt;
}

void Combine(std::optional<Reduction> reduction, double value, double& into) {
  if (!reduction.has_value()) {
    into = value;
    return;
  }
  switch (*reduction) {
    case Reduction::kSum:
      into += value;
      return;
    case Reduction::kMax:
      into = std::max(into, value);
      return;
    case Reduction::kMin:
      into = std::min(into, value);
      return;
    case Reduction::kProd:
      into *= value;
      return;
  }
}

void ExpectNear(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape, expected.shape);
  for (size_t i = 0; i < expected.values.size(); ++i) {
    if (actual.values[i] == expected.values[i]) continue;  // Infinite ones, too.
    ASSERT_NEAR(actual.values[i], expected.values[i], 1e-9 * (1 + std::abs(expected.values[i]))) << "element " << i;
  }
}

// Evaluating the pieces of a random cut of all factors at once, and joining them, gives the whole.
void CheckCut(const Sample& sample, Random& random) {
  // A piece of `turn` is on another rank: partition sends it, or has all pieces on one.
  if (sample.op->evaluate == nullptr || sample.op->kind == OpKind::kTurn) return;
  const Rule& rule = sample.rule;
  std::vector<std::vector<FactorRange>> pieces;
  for (const Factor& factor : rule.factors) pieces.push_back(RandomPieces(factor, random));

  const std::optional<Reduction> reduction = ReductionOf(rule);
  Tensor joined = Zeros(sample.output.shape);
  if (reduction == Reduction::kMax) {
    std::fill(joined.values.begin(), joined.values.end(), -std::numeric_limits<double>::infinity());
  } else if (reduction == Reduction::kMin) {
    std::fill(joined.values.begin(), joined.values.end(), std::numeric_limits<double>::infinity());
  } else if (reduction == Reduction::kProd) {
    std::fill(joined.values.begin(), joined.values.end(), 1);
  }
  std::vector<size_t> choice(pieces.size(), 0);
  while (true) {
    std::vector<FactorRange> ranges;
    for (size_t f = 0; f < pieces.size(); ++f) ranges.push_back(pieces[f][choice[f]]);
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      inputs.push_back(Take(sample.inputs[i], PartOf(sample.inputs[i].shape, rule, static_cast<int>(i), ranges)));
    }
    const LocalPart part = PartOf(sample.output.shape, rule, -1, ranges);
    const Tensor local = Evaluate(sample, inputs, part.shape, ranges);
    ASSERT_EQ(local.values.size(), part.elements.size());
    for (size_t i = 0; i < part.elements.size(); ++i) {
      Combine(reduction, local.values[i], joined.values[static_cast<size_t>(part.elements[i])]);
    }
    size_t f = 0;
    while (f < choice.size() && ++choice[f] == pieces[f].size()) choice[f++] = 0;
    if (f == choice.size()) break;
  }
  ExpectNear(joined, EvaluateWhole(sample, sample.inputs));
}

TEST(RuleLawTest, PiecesJoinToTheWhole) {
  ForEachSample([](const Sample& sample, Random& random) { CheckCut(sample, random); });
}

Tensor Sum(const Tensor& a, const Tensor& b) {
  Tensor sum = a;
  for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += b.values[i];
  return sum;
}

// f(a + b) = f(a) + f(b) holds in every linear group.
TEST(RuleLawTest, LinearGroupsAreLinear) {
  ForEachSample([](const Sample& sample, Random& random) {
    if (sample.op->evaluate == nullptr) return;
    for (const std::vector<int>& group : sample.rule.linear) {
      std::vector<Tensor> other = sample.inputs;
      std::vector<Tensor> sum = sample.inputs;
      for (int member : group) {
        const size_t input = static_cast<size_t>(member);
        other[input] = RandomTensor(sample.inputs[input].shape, -2, 2, random);
        sum[input] = Sum(sample.inputs[input], other[input]);
      }
      ExpectNear(EvaluateWhole(sample, sum), Sum(EvaluateWhole(sample, sample.inputs), EvaluateWhole(sample, other)));
    }
  });
}

// The same op with factors of other sizes has the same rule with these sizes; what is smaller may be cut into more.
TEST(RuleLawTest, Resize) {
  ForEachSample([](const Sample& sample, Random& random) {
    Rule expected = sample.rule;
    for (size_t f = 0; f < expected.factors.size(); ++f) {
      if (sample.rule.IsFree(static_cast<int>(f))) expected.factors[f].size = RandomInt(random, 2, 7);
    }
    std::vector<TensorType> types = sample.types;
    for (size_t i = 0; i < types.size(); ++i) types[i].shape = expected.InputShape(static_cast<int>(i));
    const Attributes attributes =
        sample.op->resize == nullptr ? sample.attributes : sample.op->resize(sample.attributes, expected);
    const InferResult result = InferType(*sample.op, types, attributes);
    ASSERT_TRUE(std::holds_alternative<TensorType>(result)) << std::get<OpError>(result).message;
    const TensorType& output = std::get<TensorType>(result);
    EXPECT_EQ(output.shape, expected.OutputShape());
    const Rule rule = sample.op->rule(types, output, attributes);
    for (size_t f = 0; f < expected.factors.size(); ++f) expected.factors[f].max_pieces = rule.factors[f].max_pieces;
    EXPECT_EQ(rule, expected);
  });
}

TEST(RuleLawTest, FlopsAreNotNegative) {
  ForEachSample([](const Sample& sample, Random&) {
    EXPECT_GE(sample.op->flops(sample.types, sample.output, sample.attributes).value(), 0);
  });
}

}  // namespace
}  // namespace cleave::ir
