// Compares the gradient of every op with central finite differences, in double.

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/samples.h"

namespace cleave::ir {
namespace {

constexpr uint64_t kSeed = 77;

// A graph of the sample's op on inputs, and the gradients by them.
struct GradientGraph {
  Graph graph;
  std::vector<OpId> inputs;
  OpId op;
  OpId output_gradient;
  std::vector<std::optional<OpId>> gradients;
};

GradientGraph Build(const Sample& sample) {
  GraphBuilder builder;
  auto source = [&](const TensorType& type, const std::string& name) {
    Attributes attributes = {{attribute::kDType, type.dtype}, {attribute::kShape, type.shape}};
    const bool is_stored = type.dtype == DType::kI8;  // Of a matrix.
    is_stored ? attributes.Set(attribute::kStores, name) : attributes.Set(attribute::kData, name);
    return builder.Add(is_stored ? OpKind::kParameter : OpKind::kInput, {}, std::move(attributes), name);
  };
  GradientGraph result;
  for (size_t i = 0; i < sample.types.size(); ++i) {
    result.inputs.push_back(source(sample.types[i], absl::StrCat("x", i)));
  }
  result.op = builder.Add(sample.op->kind, result.inputs, sample.attributes, "op");
  result.output_gradient = source(sample.output, "dy");
  const Op forward = builder.graph().op(result.op);
  result.gradients = sample.op->gradient(builder, forward, result.output_gradient);
  result.graph = std::move(builder).Build();
  return result;
}

// The gradients read the op's value multiplied by `scale`.
IdVector<OpId, Tensor> EvaluateGraph(const GradientGraph& gradient, const Sample& sample, const Tensor& dy,
                                     double scale = 1) {
  IdVector<OpId, Tensor> values(gradient.graph.ops.size());
  for (size_t i = 0; i < gradient.inputs.size(); ++i) values[gradient.inputs[i]] = sample.inputs[i];
  values[gradient.output_gradient] = dy;
  for (const Op& op : gradient.graph.ops) {
    if (op.kind == OpKind::kInput || op.kind == OpKind::kParameter) continue;
    std::vector<const Tensor*> inputs;
    for (OpId input : op.inputs) inputs.push_back(&values[input]);
    values[op.id] = Zeros(op.type.shape);
    const std::vector<FactorRange> ranges = WholeRanges(RuleOf(gradient.graph, op));
    DefinitionOf(op).evaluate(
        Evaluation{.attributes = op.attributes, .inputs = inputs, .ranges = ranges, .output = values[op.id]});
    if (op.id != gradient.op) continue;
    for (double& value : values[op.id].values) value *= scale;
  }
  return values;
}

// sum(dy * op(inputs))
double Weighted(const Sample& sample, std::vector<Tensor> inputs, const Tensor& dy) {
  if (sample.complete != nullptr) sample.complete(sample.attributes, inputs);
  const Tensor y = EvaluateWhole(sample, inputs);
  double sum = 0;
  for (size_t i = 0; i < y.values.size(); ++i) sum += dy.values[i] * y.values[i];
  return sum;
}

void CheckGradients(const Sample& sample, Random& random) {
  const GradientGraph gradient = Build(sample);
  EXPECT_TRUE(VerifyGraph(gradient.graph).empty()) << VerifyGraph(gradient.graph)[0];
  ASSERT_EQ(gradient.gradients.size(), sample.inputs.size());
  const Tensor dy = RandomTensor(sample.output.shape, -1, 1, random);
  const IdVector<OpId, Tensor> values = EvaluateGraph(gradient, sample, dy);
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    if (!gradient.gradients[i].has_value()) continue;
    ASSERT_EQ(gradient.graph.op(*gradient.gradients[i]).type, sample.types[i]) << "gradient by input " << i;
    const Tensor& actual = values[*gradient.gradients[i]];
    for (size_t e = 0; e < sample.inputs[i].values.size(); ++e) {
      std::vector<Tensor> inputs = sample.inputs;
      inputs[i].values[e] += kStep;
      const double above = Weighted(sample, inputs, dy);
      inputs[i].values[e] -= 2 * kStep;
      const double expected = (above - Weighted(sample, inputs, dy)) / (2 * kStep);
      ASSERT_NEAR(actual.values[e], expected, 1e-6 * (1 + std::abs(expected))) << "input " << i << ", element " << e;
    }
  }
}

// With a fill of -1e9, small differences are lost.
bool IsTooCoarse(const Sample& sample) {
  return sample.op->kind == OpKind::kCausalMask && sample.attributes.Get(attribute::kFill) < -1e6;
}

TEST(GradientTest, EveryGradientEqualsFiniteDifferences) {
  Random random(kSeed);
  for (int round = 0; round < 4; ++round) {
    for (const OpDefinition* op : AllOps()) {
      // These are tested over all ranks at once: ir/transforms/differentiate/manual_gradients_test.cc.
      if (op->rank_use != RankUse::kNone) continue;
      if (op->gradient == nullptr) continue;
      int checked = 0;
      for (const Sample& sample : SamplesOf(op->kind, random)) {
        if (IsTooCoarse(sample)) continue;
        SCOPED_TRACE(absl::StrCat("seed ", kSeed, ", round ", round, ": ", sample.Text()));
        CheckGradients(sample, random);
        if (HasFatalFailure()) return;
        ++checked;
      }
      EXPECT_GT(checked, 0) << op->name() << " has a gradient and no sample";
    }
  }
}

// Ranks may have added up the value that a gradient reads in another order than the inputs that it reads beside it, so
// none may ask whether they are the same.
TEST(GradientTest, NoGradientHangsOnTheLastBitsOfTheValue) {
  constexpr double kLastBits = 1e-12;
  constexpr double kSmall = 1e-6;
  Random random(kSeed);
  for (const OpDefinition* op : AllOps()) {
    if (op->rank_use != RankUse::kNone || op->gradient == nullptr) continue;
    for (const Sample& sample : SamplesOf(op->kind, random)) {
      if (sample.output.dtype != DType::kF32) continue;
      SCOPED_TRACE(absl::StrCat("seed ", kSeed, ": ", sample.Text()));
      const GradientGraph gradient = Build(sample);
      const Tensor dy = RandomTensor(sample.output.shape, -1, 1, random);
      const IdVector<OpId, Tensor> exact = EvaluateGraph(gradient, sample, dy);
      for (const double scale : {1 - kLastBits, 1 + kLastBits}) {
        const IdVector<OpId, Tensor> moved = EvaluateGraph(gradient, sample, dy, scale);
        for (const std::optional<OpId>& by : gradient.gradients) {
          if (!by.has_value()) continue;
          for (size_t e = 0; e < exact[*by].values.size(); ++e) {
            ASSERT_NEAR(moved[*by].values[e], exact[*by].values[e], kSmall * (1 + std::abs(exact[*by].values[e])));
          }
        }
      }
    }
  }
}

// The gradients by all inputs that have one, one after another, where the gradient by the op's value is 1.
std::vector<double> GradientsAt(OpKind op, std::vector<Tensor> inputs, Attributes attributes = {}) {
  Sample sample{.op = &DefinitionOf(op),
                .attributes = std::move(attributes),
                .types = {},
                .inputs = std::move(inputs),
                .fills = {},
                .output = {},
                .rule = {}};
  for (const Tensor& input : sample.inputs) sample.types.push_back({DType::kF32, input.shape});
  EXPECT_FALSE(CompleteAttributes(*sample.op, sample.inputs.size(), sample.attributes).has_value()) << op;
  sample.output = std::get<TensorType>(sample.op->infer(sample.types, sample.attributes));
  const GradientGraph gradient = Build(sample);
  Tensor dy = Zeros(sample.output.shape);
  for (double& value : dy.values) value = 1;
  const IdVector<OpId, Tensor> values = EvaluateGraph(gradient, sample, dy);
  std::vector<double> result;
  for (const std::optional<OpId>& by : gradient.gradients) {
    if (by.has_value()) result.insert(result.end(), values[*by].values.begin(), values[*by].values.end());
  }
  return result;
}

// Places where a derivative jumps or does not exist, as docs/language.md defines it there.
TEST(GradientTest, ChosenWhereThereIsNoDerivative) {
  using Numbers = std::vector<double>;
  const Tensor zero{.shape = {1}, .values = {0}};
  const Tensor two{.shape = {1}, .values = {2}};
  EXPECT_EQ(GradientsAt(OpKind::kRelu, {zero}), Numbers{0});
  EXPECT_EQ(GradientsAt(OpKind::kLeakyRelu, {zero}, {{attribute::kSlope, 0.25}}), Numbers{0.25});
  EXPECT_EQ(GradientsAt(OpKind::kAbs, {zero}), Numbers{0});
  EXPECT_EQ(GradientsAt(OpKind::kClamp, {{.shape = {4}, .values = {-1, 0, 2, 3}}},
                        {{attribute::kLow, 0.0}, {attribute::kHigh, 2.0}}),
            (Numbers{0, 1, 1, 0}));
  EXPECT_EQ(GradientsAt(OpKind::kMaximum, {two, two}), (Numbers{1, 0}));
  EXPECT_EQ(GradientsAt(OpKind::kMinimum, {two, two}), (Numbers{1, 0}));
  EXPECT_EQ(GradientsAt(OpKind::kPow, {zero, zero}), (Numbers{0, 0}));
  EXPECT_EQ(GradientsAt(OpKind::kPow, {zero, two}), (Numbers{0, 0}));
  for (const OpKind op : {OpKind::kReduceMax, OpKind::kReduceMin}) {
    EXPECT_EQ(GradientsAt(op, {{.shape = {2}, .values = {3, 3}}}), (Numbers{0.5, 0.5})) << op;
  }
  EXPECT_TRUE(GradientsAt(OpKind::kLess, {two, two}).empty());
  EXPECT_EQ(GradientsAt(OpKind::kWhere, {zero, two, two}), (Numbers{0, 1}));
}

// Ops that a model can call and that carry reals have a gradient, except these.
TEST(GradientTest, CallableOpsHaveGradients) {
  const std::set<OpKind> without = {OpKind::kAccuracy, OpKind::kTotal};
  for (const OpDefinition* op : AllOps()) {
    if (!op->callable) continue;
    EXPECT_EQ(op->gradient == nullptr, without.count(op->kind) > 0) << op->name();
  }
}

}  // namespace
}  // namespace cleave::ir
