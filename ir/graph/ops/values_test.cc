// Compares values of every op with results that were computed by hand.

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  OpKind op;
  std::vector<Tensor> inputs;
  Attributes attributes;
  Tensor expected;
  int64_t step = 1;
};

Tensor T(Shape shape, std::vector<double> values) { return {.shape = std::move(shape), .values = std::move(values)}; }

// Inputs that are i32, by op and index.
bool IsInteger(OpKind op, size_t input) {
  static const std::set<std::pair<OpKind, size_t>> integers = {{OpKind::kEmbedding, 0},
                                                               {OpKind::kQuotient, 0},
                                                               {OpKind::kQuotient, 1},
                                                               {OpKind::kRemainder, 0},
                                                               {OpKind::kRemainder, 1},
                                                               {OpKind::kMaxPoolGradient, 1},
                                                               {OpKind::kEmbeddingGradient, 1},
                                                               {OpKind::kOneHot, 0},
                                                               {OpKind::kGather, 1},
                                                               {OpKind::kScatterAdd, 1},
                                                               {OpKind::kGroupBy, 0},
                                                               {OpKind::kGroupedMatmul, 2},
                                                               {OpKind::kGroupedMatmulSum, 2},
                                                               {OpKind::kScatter, 2},
                                                               {OpKind::kSegmentMax, 1},
                                                               {OpKind::kSegmentArgmax, 1},
                                                               {OpKind::kSegmentFirst, 2},
                                                               {OpKind::kSegmentMaxGradient, 1},
                                                               {OpKind::kSegmentMaxGradient, 2},
                                                               {OpKind::kDistinct, 0},
                                                               {OpKind::kSumEqual, 1},
                                                               {OpKind::kSumEqual, 2},
                                                               {OpKind::kRopeAt, 1},
                                                               {OpKind::kRangeMask, 1},
                                                               {OpKind::kRangeMask, 2},
                                                               {OpKind::kRun, 0},
                                                               {OpKind::kAccuracy, 1},
                                                               {OpKind::kCrossEntropyGradient, 1},
                                                               {OpKind::kCrossEntropy, 1},
                                                               {OpKind::kLabelLoss, 1},
                                                               {OpKind::kLabelLossGradient, 1},
                                                               {OpKind::kShareOfEqual, 0},
                                                               {OpKind::kShareOfEqual, 1},
                                                               {OpKind::kTopKMerge, 1},
                                                               {OpKind::kTopKGradient, 1}};
  return integers.count({op, input}) > 0;
}

Tensor ValueOf(const Case& item) {
  const OpDefinition& op = DefinitionOf(item.op);
  Attributes attributes = item.attributes;
  const auto error = CompleteAttributes(op, item.inputs.size(), attributes);
  EXPECT_FALSE(error.has_value()) << item.op << ": " << error->message;
  std::vector<TensorType> types;
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < item.inputs.size(); ++i) {
    types.push_back({IsInteger(item.op, i) ? DType::kI32 : DType::kF32, item.inputs[i].shape});
    inputs.push_back(&item.inputs[i]);
  }
  const InferResult result = op.infer(types, attributes);
  EXPECT_TRUE(std::holds_alternative<TensorType>(result)) << item.op << ": " << std::get<OpError>(result).message;
  const TensorType& type = std::get<TensorType>(result);
  Tensor output = Zeros(type.shape);
  const std::vector<FactorRange> ranges = WholeRanges(op.rule(types, type, attributes));
  op.evaluate({.attributes = attributes, .inputs = inputs, .ranges = ranges, .output = output, .step = item.step});
  return output;
}

void Check(const std::vector<Case>& cases) {
  for (const Case& item : cases) {
    const Tensor actual = ValueOf(item);
    ASSERT_EQ(actual.shape, item.expected.shape) << item.op;
    for (size_t i = 0; i < actual.values.size(); ++i) {
      EXPECT_NEAR(actual.values[i], item.expected.values[i], 1e-6) << item.op << ", element " << i;
    }
  }
}

TEST(ValuesTest, Elementwise) {
  const Tensor x = T({3}, {-2, 0, 1});
  const Tensor positive = T({2}, {1, 4});
  Check({{OpKind::kNeg, {x}, {}, T({3}, {2, 0, -1})},
         {OpKind::kExp, {x}, {}, T({3}, {0.1353352832, 1, 2.7182818285})},
         {OpKind::kLog, {positive}, {}, T({2}, {0, 1.3862943611})},
         {OpKind::kSqrt, {positive}, {}, T({2}, {1, 2})},
         {OpKind::kRsqrt, {positive}, {}, T({2}, {1, 0.5})},
         {OpKind::kTanh, {x}, {}, T({3}, {-0.9640275801, 0, 0.7615941560})},
         {OpKind::kSigmoid, {x}, {}, T({3}, {0.1192029220, 0.5, 0.7310585786})},
         {OpKind::kRelu, {x}, {}, T({3}, {0, 0, 1})},
         {OpKind::kGelu, {x}, {}, T({3}, {-0.0454023059, 0, 0.8411919906})},
         {OpKind::kAbs, {x}, {}, T({3}, {2, 0, 1})},
         {OpKind::kSquare, {x}, {}, T({3}, {4, 0, 1})},
         {OpKind::kSign, {x}, {}, T({3}, {-1, 0, 1})},
         {OpKind::kScale, {x}, {{attribute::kFactor, 0.5}}, T({3}, {-1, 0, 0.5})},
         {OpKind::kCast, {T({3}, {-1.7, 0.9, 2})}, {{attribute::kDType, DType::kI32}}, T({3}, {-1, 0, 2})},
         {OpKind::kErf, {x}, {}, T({3}, {-0.9953222650, 0, 0.8427007929})},
         {OpKind::kSin, {x}, {}, T({3}, {-0.9092974268, 0, 0.8414709848})},
         {OpKind::kCos, {x}, {}, T({3}, {-0.4161468365, 1, 0.5403023059})},
         {OpKind::kSilu, {x}, {}, T({3}, {-0.2384058440, 0, 0.7310585786})},
         {OpKind::kSoftplus, {T({4}, {-800, 0, 1, 800})}, {}, T({4}, {0, 0.6931471806, 1.3132616875, 800})},
         {OpKind::kSoftsign, {x}, {}, T({3}, {-0.6666666667, 0, 0.5})},
         {OpKind::kMish, {x}, {}, T({3}, {-0.2525014827, 0, 0.8650983883})},
         {OpKind::kHardSwish, {T({5}, {-4, -2, 0, 1, 4})}, {}, T({5}, {0, -0.3333333333, 0, 0.6666666667, 4})},
         {OpKind::kCelu, {x}, {}, T({3}, {-0.8646647168, 0, 1})},
         {OpKind::kCelu, {x}, {{Attribute<double>{"alpha"}, 0.5}}, T({3}, {-0.4908421806, 0, 1})},
         {OpKind::kLeakyRelu, {x}, {}, T({3}, {-0.02, 0, 1})},
         {OpKind::kLeakyRelu, {x}, {{attribute::kSlope, -1.0}}, T({3}, {2, 0, 1})},
         {OpKind::kClamp, {x}, {{attribute::kLow, -1.0}, {attribute::kHigh, 0.25}}, T({3}, {-1, 0, 0.25})},
         {OpKind::kPower, {x}, {{attribute::kExponent, 3.0}}, T({3}, {-8, 0, 1})},
         {OpKind::kPower, {positive}, {{attribute::kExponent, -1.5}}, T({2}, {1, 0.125})}});
}

TEST(ValuesTest, ComparisonsAndChoices) {
  const Tensor x = T({3}, {1, 2, 3});
  const Tensor two = T({}, {2});
  Check({{OpKind::kEqual, {x, two}, {}, T({3}, {0, 1, 0})},
         {OpKind::kNotEqual, {x, two}, {}, T({3}, {1, 0, 1})},
         {OpKind::kLess, {x, two}, {}, T({3}, {1, 0, 0})},
         {OpKind::kLessEqual, {x, two}, {}, T({3}, {1, 1, 0})},
         {OpKind::kGreater, {x, two}, {}, T({3}, {0, 0, 1})},
         {OpKind::kGreaterEqual, {x, two}, {}, T({3}, {0, 1, 1})},
         {OpKind::kMaximum, {x, two}, {}, T({3}, {2, 2, 3})},
         {OpKind::kMinimum, {x, two}, {}, T({3}, {1, 2, 2})},
         {OpKind::kPow, {x, T({2, 1}, {2, -1})}, {}, T({2, 3}, {1, 4, 9, 1, 0.5, 1.0 / 3})},
         {OpKind::kWhere, {T({3}, {1, 0, -2}), x, T({2, 1}, {7, 8})}, {}, T({2, 3}, {1, 7, 3, 1, 8, 3})}});
}

TEST(ValuesTest, Broadcasting) {
  const Tensor matrix = T({2, 3}, {1, 2, 3, 4, 5, 6});
  Check({{OpKind::kAdd, {matrix, T({3}, {10, 20, 30})}, {}, T({2, 3}, {11, 22, 33, 14, 25, 36})},
         {OpKind::kSub, {matrix, T({2, 1}, {1, 2})}, {}, T({2, 3}, {0, 1, 2, 2, 3, 4})},
         {OpKind::kMul, {T({2, 1}, {1, 2}), T({3}, {1, 2, 3})}, {}, T({2, 3}, {1, 2, 3, 2, 4, 6})},
         {OpKind::kDiv, {matrix, T({}, {2})}, {}, T({2, 3}, {0.5, 1, 1.5, 2, 2.5, 3})},
         {OpKind::kQuotient, {T({5}, {7, -7, 7, -7, 7}), T({5}, {2, 2, -2, -2, 0})}, {}, T({5}, {3, -3, -3, 3, 0})},
         {OpKind::kRemainder, {T({5}, {7, -7, 7, -7, 7}), T({5}, {2, 2, -2, -2, 0})}, {}, T({5}, {1, -1, 1, -1, 0})},
         {OpKind::kBiasAdd, {matrix, T({3}, {1, 1, 0})}, {}, T({2, 3}, {2, 3, 3, 5, 6, 6})},
         {OpKind::kBroadcastTo, {T({2, 1}, {7, 8})}, {{attribute::kShape, Ints{2, 2}}}, T({2, 2}, {7, 7, 8, 8})}});
}

TEST(ValuesTest, ElementwiseGradients) {
  const Tensor dy = T({2}, {10, 10});
  const Tensor y = T({2}, {0.5, 0});
  Check({{OpKind::kReluGradient, {dy, y}, {}, T({2}, {10, 0})},
         {OpKind::kTanhGradient, {dy, y}, {}, T({2}, {7.5, 10})},
         {OpKind::kSigmoidGradient, {dy, y}, {}, T({2}, {2.5, 0})},
         {OpKind::kGeluGradient, {dy, T({2}, {0, 100})}, {}, T({2}, {5, 10})},
         {OpKind::kLeakyReluGradient, {dy, y}, {{attribute::kSlope, 0.1}}, T({2}, {10, 1})},
         {OpKind::kMseGradient, {T({2}, {3, 1}), T({2}, {1, 2}), T({}, {1})}, {}, T({2}, {2, -1})},
         {OpKind::kMaeGradient, {T({2}, {3, 1}), T({2}, {1, 2}), T({}, {4})}, {}, T({2}, {2, -2})}});
}

TEST(ValuesTest, Products) {
  const Tensor a = T({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor a_stored = T({3, 2}, {1, 4, 2, 5, 3, 6});
  const Tensor b = T({3, 2}, {1, 0, 0, 1, 1, 1});
  const Tensor b_stored = T({2, 3}, {1, 0, 1, 0, 1, 1});
  const Tensor c = T({2, 2}, {4, 5, 10, 11});
  Check({{OpKind::kMatmul, {a, b}, {}, c},
         {OpKind::kMatmul, {a_stored, b}, {{attribute::kTransposeA, true}}, c},
         {OpKind::kMatmul, {a, b_stored}, {{attribute::kTransposeB, true}}, c},
         {OpKind::kMatmul, {a_stored, b_stored}, {{attribute::kTransposeA, true}, {attribute::kTransposeB, true}}, c},
         {OpKind::kMatmul, {T({2, 1, 2}, {1, 2, 3, 4}), T({2, 1}, {1, 10})}, {}, T({2, 1, 1}, {21, 43})},
         {OpKind::kMatmul, {T({2, 1, 2}, {1, 2, 3, 4}), T({2, 2, 1}, {1, 10, 1, 0})}, {}, T({2, 1, 1}, {21, 3})},
         {OpKind::kMatmulSum, {T({2, 1, 2}, {1, 2, 3, 4}), T({2, 1, 1}, {1, 10})}, {}, T({2, 1}, {31, 42})}});
}

TEST(ValuesTest, Einsums) {
  const Tensor a = T({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor v = T({3}, {1, 0, 2});
  const Tensor square = T({2, 2}, {1, 2, 3, 4});
  const auto equation = [](const char* text) { return Attributes{{attribute::kEquation, std::string(text)}}; };
  Check({{OpKind::kEinsum, {a, v}, equation("ik,k->i"), T({2}, {7, 16})},
         {OpKind::kEinsum, {a, T({3, 2}, {1, 0, 0, 1, 1, 1})}, equation("i k, k j -> j i"), T({2, 2}, {4, 10, 5, 11})},
         {OpKind::kEinsum, {a}, equation("ij->ji"), T({3, 2}, {1, 4, 2, 5, 3, 6})},
         {OpKind::kEinsum, {a}, equation("rows columns ->"), T({}, {21})},
         {OpKind::kEinsum, {T({2}, {1, 2}), v, a}, equation("i,k,ik->k"), T({3}, {9, 0, 30})},
         {OpKind::kEinsum, {square}, equation("ii->"), T({}, {5})},
         {OpKind::kEinsum, {square}, equation("ii->i"), T({2}, {1, 4})},
         {OpKind::kEinsum, {v}, equation("i->ii"), T({3, 3}, {1, 0, 0, 0, 0, 0, 0, 0, 2})}});
}

TEST(ValuesTest, Reductions) {
  const Tensor x = T({2, 3}, {1, 5, 3, -4, -2, -6});
  Check({{OpKind::kReduceSum, {x}, {}, T({}, {-3})},
         {OpKind::kReduceSum, {x}, {{attribute::kAxes, Ints{0}}}, T({3}, {-3, 3, -3})},
         {OpKind::kReduceMean, {x}, {{attribute::kAxes, Ints{-1}}, {attribute::kKeepDims, true}}, T({2, 1}, {3, -4})},
         {OpKind::kReduceMax, {x}, {{attribute::kAxes, Ints{1}}}, T({2}, {5, -2})},
         {OpKind::kReduceMax, {x}, {{attribute::kAxes, Ints{0, 1}}}, T({}, {5})},
         {OpKind::kReduceMaxAbs, {T({2, 2}, {1, -7, 3, 0})}, {}, T({}, {7})},
         {OpKind::kReduceMin, {x}, {{attribute::kAxes, Ints{1}}}, T({2}, {1, -6})},
         {OpKind::kReduceMin,
          {x},
          {{attribute::kAxes, Ints{0}}, {attribute::kKeepDims, true}},
          T({1, 3}, {-4, -2, -6})}});
}

TEST(ValuesTest, Rows) {
  const double e = std::exp(1.0);
  const Tensor x = T({2, 2}, {0, 1, 1000, 1000});
  const double p = 1 / (1 + e);
  Check(
      {{OpKind::kSoftmax, {x}, {}, T({2, 2}, {p, 1 - p, 0.5, 0.5})},
       {OpKind::kLogSoftmax, {x}, {}, T({2, 2}, {std::log(p), std::log(1 - p), std::log(0.5), std::log(0.5)})},
       {OpKind::kSoftmax, {T({1, 2}, {-1e9, -1e9})}, {}, T({1, 2}, {0.5, 0.5})},
       {OpKind::kLogSoftmax, {T({1, 2}, {-1e9, -1e9})}, {}, T({1, 2}, {std::log(0.5), std::log(0.5)})},
       {OpKind::kSoftmaxGradient, {T({1, 2}, {1, 0}), T({1, 2}, {0.25, 0.75})}, {}, T({1, 2}, {0.1875, -0.1875})},
       {OpKind::kLogSoftmaxGradient,
        {T({1, 2}, {1, 1}), T({1, 2}, {std::log(0.25), std::log(0.75)})},
        {},
        T({1, 2}, {0.5, -0.5})},
       // Mean 2, variance 1.
       {OpKind::kLayerNorm,
        {T({1, 2}, {1, 3}), T({2}, {10, 100}), T({2}, {1, 2})},
        {{attribute::kEpsilon, 1e-12}},
        T({1, 2}, {-9, 102})},
       // Mean square 25.
       {OpKind::kRmsNorm, {T({1, 2}, {1, 7}), T({2}, {10, 100})}, {{attribute::kEpsilon, 1e-12}}, T({1, 2}, {2, 140})},
       {OpKind::kLayerNormGradientScale,
        {T({2, 2}, {1, 1, 5, 7}), T({2, 2}, {1, 3, 3, 1})},
        {{attribute::kEpsilon, 1e-12}},
        T({2}, {4, -6})},
       // Two elements are always normalized to -1 and 1.
       {OpKind::kLayerNormGradientInput,
        {T({1, 2}, {1, 5}), T({1, 2}, {1, 3}), T({2}, {1, 1})},
        {{attribute::kEpsilon, 1e-12}},
        T({1, 2}, {0, 0})},
       {OpKind::kCausalMask,
        {T({2, 3}, {1, 2, 3, 4, 5, 6})},
        {{attribute::kFill, -9.0}},
        T({2, 3}, {1, -9, -9, 4, 5, -9})},
       {OpKind::kCausalMask,
        {T({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})},
        {{attribute::kFill, -9.0}, {attribute::kWindow, 2}},
        T({3, 3}, {1, -9, -9, 4, 5, -9, -9, 8, 9})},
       {OpKind::kRangeMask,
        {T({1, 2, 3}, {1, 2, 3, 4, 5, 6}), T({2}, {1, 2}), T({2}, {3, 2})},
        {{attribute::kFill, -9.0}},
        T({1, 2, 3}, {-9, 2, 3, -9, -9, -9})},
       {OpKind::kRun, {T({2, 4}, {5, 5, 1, 5, 2, 2, 2, 2})}, {}, T({2, 4}, {0, 0, 2, 3, 0, 0, 0, 0})},
       {OpKind::kRun,
        {T({2, 4}, {5, 5, 1, 5, 2, 2, 2, 2})},
        {{attribute::kReverse, true}},
        T({2, 4}, {2, 2, 3, 4, 4, 4, 4, 4})}});
}

TEST(ValuesTest, Losses) {
  const Tensor logits = T({2, 2}, {0, 0, std::log(3.0), 0});
  const Tensor label = T({2}, {1, 0});
  const double first = std::log(2.0);
  const double second = std::log(4.0 / 3.0);
  Check({{OpKind::kCrossEntropy, {logits, label}, {}, T({}, {(first + second) / 2})},
         {OpKind::kCrossEntropy, {logits, label, T({2}, {0, 1})}, {}, T({}, {second / 2})},
         {OpKind::kCrossEntropy, {logits, T({2}, {1, 7})}, {}, T({}, {first / 2})},
         {OpKind::kCrossEntropy,
          {logits, label, T({2}, {0, 1})},
          {{attribute::kLabelSmoothing, 0.2}},
          T({}, {(std::log(4.0) - 0.9 * std::log(3.0)) / 2})},
         {OpKind::kCrossEntropyGradient, {logits, label, T({}, {2})}, {}, T({2, 2}, {0.5, -0.5, -0.25, 0.25})},
         {OpKind::kCrossEntropyGradient,
          {logits, label, T({}, {2})},
          {{attribute::kLabelSmoothing, 0.2}},
          T({2, 2}, {0.4, -0.4, -0.15, 0.15})},
         // The first of equal logits counts.
         {OpKind::kAccuracy, {logits, label}, {}, T({}, {0.5})},
         {OpKind::kAccuracy, {logits, T({2}, {0, 0}), T({2}, {1, 0})}, {}, T({}, {0.5})},
         {OpKind::kMse, {T({2, 1}, {1, 5}), T({2, 1}, {0, 2})}, {}, T({}, {5})},
         {OpKind::kMse, {T({2, 1}, {1, 5}), T({2, 1}, {0, 2}), T({2}, {1, 0})}, {}, T({}, {0.5})},
         {OpKind::kHuber, {T({2}, {3, 1}), T({2}, {1, 1.5})}, {}, T({}, {(1.5 + 0.125) / 2})},
         {OpKind::kHuber,
          {T({2}, {3, 1}), T({2}, {1, 2}), T({2}, {1, 0})},
          {{attribute::kDelta, 0.5}},
          T({}, {0.875 / 2})},
         {OpKind::kBceWithLogits, {T({2}, {0, 1000}), T({2}, {0.25, 0})}, {}, T({}, {(0.6931471806 + 1000) / 2})},
         {OpKind::kMae, {T({2, 1}, {1, 5}), T({2, 1}, {0, 2})}, {}, T({}, {2})}});
}

TEST(ValuesTest, Rankings) {
  const Tensor x = T({2, 4}, {1, 7, 7, 3, -1, -4, -2, -1});
  const double none = 2147483647;
  const double least = -std::numeric_limits<double>::infinity();
  const Tensor candidates = ValueOf({OpKind::kTopKCandidates,
                                     {T({1, 5}, {4, 1, 3, 9, 2})},
                                     {{attribute::kK, 2}, {attribute::kPieces, 3}, {attribute::kElements, 5}},
                                     x});
  EXPECT_EQ(candidates, T({1, 6}, {4, least, 3, 1, 9, 2}));
  Check({{OpKind::kArgmax, {x}, {}, T({2}, {1, 0})},
         {OpKind::kArgmax, {x}, {{attribute::kAxis, 0}}, T({4}, {0, 0, 0, 0})},
         {OpKind::kFirstEqual, {x, T({2, 1}, {7, 5})}, {}, T({2}, {1, none})},
         {OpKind::kTopK, {x}, {{attribute::kK, 3}}, T({2, 3}, {7, 7, 3, -1, -1, -2})},
         {OpKind::kTopKIndices, {x}, {{attribute::kK, 3}}, T({2, 3}, {1, 2, 3, 0, 3, 2})},
         {OpKind::kTopKCandidateIndices,
          {T({1, 5}, {4, 1, 3, 9, 2})},
          {{attribute::kK, 2}, {attribute::kPieces, 3}, {attribute::kElements, 5}},
          T({1, 6}, {0, none, 2, 1, 3, 4})},
         {OpKind::kTopKMerge,
          {T({1, 4}, {5, least, 5, 6}), T({1, 4}, {3, none, 1, 8})},
          {{attribute::kK, 3}},
          T({1, 3}, {8, 1, 3})},
         {OpKind::kTopKGradient,
          {T({1, 2}, {10, 20}), T({1, 2}, {2, 0})},
          {{attribute::kElements, 3}},
          T({1, 3}, {20, 0, 10})}});
}

TEST(ValuesTest, LossesOfKnownSums) {
  const Tensor logits = T({2, 2}, {1, 2, 3, 4});
  const Tensor log_sum = T({2, 1}, {5, 6});
  const double e = std::exp(-2.0);
  Check({{OpKind::kLabelLoss, {logits, T({2}, {1, 0}), log_sum}, {}, T({}, {3})},
         {OpKind::kLabelLoss, {logits, T({2}, {1, 9}), log_sum}, {}, T({}, {1.5})},
         {OpKind::kLabelLoss, {logits, T({2}, {1, 0}), log_sum, T({2}, {0, 1})}, {}, T({}, {1.5})},
         {OpKind::kLabelLossGradient,
          {logits, T({2}, {9, 1}), log_sum, T({}, {2})},
          {},
          T({2, 2}, {0, 0, std::exp(-3.0), e - 1})},
         {OpKind::kShareOfEqual, {T({2}, {1, 0}), T({2}, {1, 1})}, {}, T({}, {0.5})}});
}

// The values of rank 0, and of the last rank.
TEST(ValuesTest, OfOneRank) {
  const auto on = [](int rank, OpKind op, const std::vector<Tensor>& inputs, const Attributes& values) {
    const OpDefinition& definition = DefinitionOf(op);
    const Attributes attributes = values;
    std::vector<TensorType> types;
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) {
      types.push_back({DType::kF32, input.shape});
      pointers.push_back(&input);
    }
    const TensorType type = std::get<TensorType>(definition.infer(types, attributes));
    Tensor output = Zeros(type.shape);
    const std::vector<FactorRange> ranges = WholeRanges(definition.rule(types, type, attributes));
    definition.evaluate(
        {.attributes = attributes, .inputs = pointers, .ranges = ranges, .output = output, .rank = rank});
    return output;
  };
  const Tensor x = T({2, 3}, {1, 2, 3, 4, 5, 6});
  const Attributes columns = {{attribute::kAxis, 1}, {attribute::kSize, 2}, {attribute::kStarts, Ints{0, 1}}};
  EXPECT_EQ(on(0, OpKind::kRankSlice, {x}, columns), T({2, 2}, {1, 2, 4, 5}));
  EXPECT_EQ(on(1, OpKind::kRankSlice, {x}, columns), T({2, 2}, {2, 3, 5, 6}));
  const Attributes rows = {{attribute::kAxis, 0}, {attribute::kSize, 3}, {attribute::kStarts, Ints{0, 1}}};
  EXPECT_EQ(on(0, OpKind::kRankPad, {x}, rows), T({3, 3}, {1, 2, 3, 4, 5, 6, 0, 0, 0}));
  EXPECT_EQ(on(1, OpKind::kRankPad, {x}, rows), T({3, 3}, {0, 0, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(on(1, OpKind::kRankValue, {}, {{attribute::kValues, std::vector<double>{0.5, -2}}}), T({}, {-2}));
}

TEST(ValuesTest, Movements) {
  const Tensor x = T({2, 3}, {1, 2, 3, 4, 5, 6});
  Check(
      {{OpKind::kReshape, {x}, {{attribute::kShape, Ints{3, -1}}}, T({3, 2}, {1, 2, 3, 4, 5, 6})},
       {OpKind::kIdentity, {T({2, 2}, {1, 2, 3, 4})}, {}, T({2, 2}, {1, 2, 3, 4})},
       {OpKind::kStopGradient, {T({2, 2}, {1, 2, 3, 4})}, {}, T({2, 2}, {1, 2, 3, 4})},
       {OpKind::kFlatten, {T({1, 2, 2}, {1, 2, 3, 4})}, {}, T({1, 4}, {1, 2, 3, 4})},
       {OpKind::kTranspose, {x}, {}, T({3, 2}, {1, 4, 2, 5, 3, 6})},
       {OpKind::kTranspose,
        {T({1, 2, 2}, {1, 2, 3, 4})},
        {{attribute::kPermutation, Ints{1, 2, 0}}},
        T({2, 2, 1}, {1, 2, 3, 4})},
       {OpKind::kSlice, {x}, {{attribute::kBegin, Ints{0, 1}}, {attribute::kEnd, Ints{2, 3}}}, T({2, 2}, {2, 3, 5, 6})},
       {OpKind::kPad,
        {T({1, 2}, {7, 8})},
        {{attribute::kBefore, Ints{1, 0}}, {attribute::kAfter, Ints{0, 1}}},
        T({2, 3}, {0, 0, 0, 7, 8, 0})},
       {OpKind::kCumsum, {x}, {{attribute::kAxis, 1}}, T({2, 3}, {1, 3, 6, 4, 9, 15})},
       {OpKind::kCumsum, {x}, {{attribute::kAxis, -2}, {attribute::kReverse, true}}, T({2, 3}, {5, 7, 9, 4, 5, 6})},
       {OpKind::kScan, {x, T({2, 3}, {1, 1, 1, 2, 2, 2})}, {{attribute::kAxis, 1}}, T({2, 3}, {1, 3, 10, 2, 12, 74})},
       {OpKind::kScan,
        {T({2, 1}, {2, 3}), T({2, 3}, {1, 1, 1, 2, 2, 2})},
        {{attribute::kAxis, 0}, {attribute::kReverse, true}},
        T({2, 3}, {5, 5, 5, 2, 2, 2})},
       {OpKind::kConcat, {x, T({2, 1}, {8, 9})}, {{attribute::kAxis, -1}}, T({2, 4}, {1, 2, 3, 8, 4, 5, 6, 9})},
       {OpKind::kEmbedding, {T({3}, {1, 0, 5}), T({2, 2}, {1, 2, 3, 4})}, {}, T({3, 2}, {3, 4, 1, 2, 0, 0})},
       {OpKind::kEmbeddingGradient,
        {T({3, 1}, {1, 2, 4}), T({3}, {1, 0, 1})},
        {{attribute::kRows, 3}},
        T({3, 1}, {2, 5, 0})},
       {OpKind::kGather, {x, T({2, 2}, {2, 0, 7, 1})}, {{attribute::kAxis, 1}}, T({2, 2, 2}, {3, 1, 0, 2, 6, 4, 0, 5})},
       {OpKind::kGather, {x, T({}, {1})}, {}, T({3}, {4, 5, 6})},
       {OpKind::kScatter, {x, T({2, 1}, {8, 9}), T({1}, {2})}, {{attribute::kAxis, 1}}, T({2, 3}, {1, 2, 8, 4, 5, 9})},
       {OpKind::kScatter, {x, T({1, 3}, {7, 8, 9}), T({1}, {2})}, {}, x},
       {OpKind::kScatter,
        {x, T({2, 1}, {8, 9}), T({2, 1}, {2, 0})},
        {{attribute::kAxis, 1}, {attribute::kBatch, 1}},
        T({2, 3}, {1, 2, 8, 9, 5, 6})},
       {OpKind::kScatterAdd,
        {x, T({3}, {1, 1, -4})},
        {{attribute::kSize, 2}, {attribute::kAxis, -1}},
        T({2, 2}, {0, 3, 0, 9})},
       {OpKind::kSegmentMax,
        {T({4, 2}, {1, 6, -3, 8, 5, 8, 9, 9}), T({4}, {2, 0, 2, 7})},
        {{attribute::kSize, 3}, {attribute::kFill, -7.0}},
        T({3, 2}, {-3, 8, -7, -7, 5, 8})},
       {OpKind::kSegmentArgmax,
        {T({4, 2}, {1, 6, 8, -7.5, 5, 8, 8, 9}), T({4}, {0, 2, 0, 2})},
        {{attribute::kSize, 3}, {attribute::kFill, 5.0}},
        T({3, 2}, {2, 2, 2147483647, 2147483647, 1, 3})},
       {OpKind::kSegmentFirst,
        {T({3, 1}, {5, 8, 8}), T({2, 1}, {0, 8}), T({3}, {1, 1, 1})},
        {},
        T({2, 1}, {2147483647, 1})},
       {OpKind::kSegmentMaxGradient,
        {T({2, 1}, {4, 3}), T({2, 1}, {2147483647, 1}), T({3}, {1, 1, 1})},
        {},
        T({3, 1}, {0, 3, 0})},
       {OpKind::kGroupBy,
        {T({2, 4}, {1, 0, 1, 1, -1, 0, 2, 0})},
        {{attribute::kGroups, 2}, {attribute::kCapacity, 2}},
        T({2, 2, 2}, {1, 4, 0, 2, 1, 3, 4, 4})},
       {OpKind::kDistinct, {T({6}, {3, 1, 3, 4, -1, 1})}, {{attribute::kRows, 4}}, T({6}, {3, 1, -1, -1, -1, -1})},
       {OpKind::kSumEqual,
        {T({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), T({4}, {3, 9, 3, 0}), T({4}, {3, -1, -1, 0})},
        {},
        T({4, 2}, {6, 8, 0, 0, 0, 0, 7, 8})},
       {OpKind::kOneHot, {T({3}, {1, 0, 9})}, {{attribute::kDepth, 2}}, T({3, 2}, {0, 1, 1, 0, 0, 0})}});
}

TEST(ValuesTest, Sources) {
  Check({{OpKind::kConstant, {}, {{attribute::kValue, 2.0}, {attribute::kShape, Ints{2}}}, T({2}, {2, 2})},
         {OpKind::kStepScalar, {}, {{attribute::kFormula, "div(1.0, sub(1.0, pow(0.9, step)))"}}, T({}, {1 / 0.19}), 2},
         {OpKind::kStepScalar, {}, {{attribute::kFormula, "mul(0.4, minimum(1.0, div(step, 4.0)))"}}, T({}, {0.3}), 3},
         {OpKind::kStepScalar, {}, {{attribute::kFormula, "mul(0.4, step)"}}, T({}, {0}), 0},
         {OpKind::kStepScalar, {}, {{attribute::kFormula, "loss.kl.weight=0.4"}}, T({}, {0.4}), 0}});
}

TEST(ValuesTest, Zigzag) {
  const Tensor x = T({8}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor in_pairs = T({8}, {0, 1, 6, 7, 2, 3, 4, 5});
  const Attributes two = {{attribute::kAxis, 0}, {attribute::kZigzag, 2}};
  Attributes back = two;
  back.Set(attribute::kInverse, true);
  Check({{OpKind::kZigzag, {x}, two, in_pairs}, {OpKind::kZigzag, {in_pairs}, back, x}});
}

TEST(ValuesTest, Rounds) {
  const double nothing = -std::numeric_limits<double>::infinity(), log3 = std::log(3.0);
  const Attributes turn = {{attribute::kAxis, 1}, {attribute::kPieces, 3}, {attribute::kTurn, 2}};
  Check({{OpKind::kTurn, {T({1, 6}, {0, 1, 2, 3, 4, 5})}, turn, T({1, 6}, {4, 5, 0, 1, 2, 3})},
         {OpKind::kLogAddExp, {T({3}, {0, nothing, 1}), T({3}, {std::log(2.0), 1, nothing})}, {}, T({3}, {log3, 1, 1})},
         {OpKind::kMeanByLogs,
          {T({4, 1}, {3, 7, 7, 0}), T({4, 1}, {0, nothing, 1, nothing}), T({4, 1}, {6, 2, 2, 0}),
           T({4, 1}, {std::log(2.0), 1, nothing, nothing})},
          {},
          T({4, 1}, {5, 2, 7, 0})}});
}

// For a head of 4: the second pair turns 100 times slower than the first.
TEST(ValuesTest, Rope) {
  const double c = std::cos(1.0), s = std::sin(1.0), slow_c = std::cos(0.01), slow_s = std::sin(0.01);
  const Tensor x = T({2, 4}, {1, 2, 3, 4, 1, 2, 3, 4});
  const Tensor turned = T({2, 4}, {1, 2, 3, 4, c - 3 * s, 2 * slow_c - 4 * slow_s, 3 * c + s, 4 * slow_c + 2 * slow_s});
  Check({{OpKind::kRope, {x}, {}, turned},
         {OpKind::kRope, {turned}, {{attribute::kInverse, true}}, x},
         {OpKind::kRopeAt, {x, T({2}, {0, 1})}, {}, turned},
         {OpKind::kRopeAt,
          {T({1, 4}, {1, 2, 3, 4}), T({1}, {1})},
          {},
          T({1, 4}, {turned.values.begin() + 4, turned.values.end()})},
         {OpKind::kRopeAt,
          {T({2, 1, 4}, x.values), T({2, 1}, {0, 1})},
          {{attribute::kBatch, 1}},
          T({2, 1, 4}, turned.values)}});
}

TEST(ValuesTest, Total) {
  const Tensor x = T({2}, {1, -2});
  Check({{OpKind::kTotal, {x}, {{attribute::kKey, "metric.total"}}, x}});
}

// The share of dropped elements in ten thousand draws; elements, steps and keys draw independently.
TEST(ValuesTest, Dropout) {
  const Tensor x = T({10000}, std::vector<double>(10000, 3));
  const auto draw = [&](const std::string& key, int64_t step) {
    return ValueOf({OpKind::kDropout, {x}, {{attribute::kRate, 0.25}, {attribute::kKey, key}}, x, step});
  };
  const Tensor first = draw("a", 1);
  int dropped = 0;
  for (double value : first.values) {
    EXPECT_TRUE(value == 0 || value == 4) << value;
    dropped += value == 0 ? 1 : 0;
  }
  EXPECT_NEAR(dropped, 2500, 130);  // Three deviations.
  EXPECT_EQ(first, draw("a", 1));
  EXPECT_NE(first, draw("a", 2));
  EXPECT_NE(first, draw("b", 1));
  EXPECT_EQ(draw("a", 0), x);
}

// Mean, deviation and bounds of ten thousand draws, which are those of the first values of parameters.
TEST(ValuesTest, RandomValues) {
  const Tensor x = T({10000}, std::vector<double>(10000, 3));
  const auto draw = [&](OpKind kind, Attributes attributes, int64_t step) {
    attributes.Set(attribute::kKey, "a");
    return ValueOf({kind, {x}, std::move(attributes), x, step}).values;
  };
  const auto moments = [](const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (double value : values) sum += value, squares += value * value;
    const double mean = sum / 10000;
    return std::pair(mean, std::sqrt(squares / 10000 - mean * mean));
  };
  const Attributes normal = {{attribute::kMean, 2.0}, {attribute::kDeviation, 0.5}};
  const auto [mean, deviation] = moments(draw(OpKind::kNormal, normal, 1));
  EXPECT_NEAR(mean, 2, 0.015);  // Three deviations.
  EXPECT_NEAR(deviation, 0.5, 0.011);
  const Attributes uniform = {{attribute::kLow, -1.0}, {attribute::kHigh, 3.0}};
  const std::vector<double> first = draw(OpKind::kUniform, uniform, 1);
  EXPECT_NEAR(moments(first).first, 1, 0.035);
  EXPECT_NEAR(moments(first).second, 4 / std::sqrt(12.0), 0.016);
  for (double value : first) EXPECT_TRUE(value >= -1 && value < 3) << value;
  EXPECT_EQ(first, draw(OpKind::kUniform, uniform, 1));
  EXPECT_NE(first, draw(OpKind::kUniform, uniform, 2));
  EXPECT_NE(first, draw(OpKind::kUniform, uniform, 0));
}

// One rank's part of an op that depends on its place in the whole.
TEST(ValuesTest, Places) {
  const OpDefinition& mask = DefinitionOf(OpKind::kCausalMask);
  const Attributes attributes{{attribute::kFill, -9.0}, {attribute::kWindow, 0}};
  const Tensor piece = T({1, 2}, {1, 2});
  Tensor output = Zeros({1, 2});
  const std::vector<FactorRange> ranges = {{.begin = 1, .size = 1, .global = 3}, {.begin = 1, .size = 2, .global = 3}};
  const std::vector<const Tensor*> inputs = {&piece};
  mask.evaluate({.attributes = attributes, .inputs = inputs, .ranges = ranges, .output = output});
  EXPECT_EQ(output, T({1, 2}, {1, -9}));
}

TEST(ValuesTest, Convolution) {
  const Tensor x = T({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor filter = T({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor dy = T({1, 1, 2, 2}, {1, 2, 3, 4});
  Check({{OpKind::kConv2d, {x, filter}, {}, T({1, 1, 2, 2}, {37, 47, 67, 77})},
         {OpKind::kConv2d,
          {x, filter},
          {{attribute::kStride, Ints{2}}, {attribute::kPadding, Ints{1}}},
          T({1, 1, 2, 2}, {4, 18, 36, 77})},
         {OpKind::kConv2d, {x, filter}, {{attribute::kDilation, Ints{2, 2}}}, T({1, 1, 1, 1}, {64})},
         {OpKind::kConv2d,
          {T({1, 2, 1, 2}, {1, 2, 3, 4}), T({2, 1, 1, 1}, {10, 100})},
          {{attribute::kGroups, 2}},
          T({1, 2, 1, 2}, {10, 20, 300, 400})},
         {OpKind::kConv2dGradientInput,
          {dy, filter},
          {{attribute::kImageSize, Ints{3, 3}}},
          T({1, 1, 3, 3}, {1, 4, 4, 6, 20, 16, 9, 24, 16})},
         {OpKind::kConv2dGradientFilter,
          {dy, x},
          {{attribute::kKernel, Ints{2, 2}}},
          T({1, 1, 2, 2}, {37, 47, 67, 77})}});
}

// As PyTorch's conv_transpose2d has them.
TEST(ValuesTest, TransposedConvolution) {
  const Tensor x = T({1, 1, 2, 2}, {1, 2, 3, 4});
  Check({{OpKind::kConvTranspose2d, {x, x}, {}, T({1, 1, 3, 3}, {1, 4, 4, 6, 20, 16, 9, 24, 16})},
         {OpKind::kConvTranspose2d,
          {T({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
           T({2, 1, 3, 3}, {1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3})},
          {{attribute::kStride, Ints{2}}, {attribute::kPadding, Ints{1}}, {attribute::kOutputPadding, Ints{1}}},
          T({1, 1, 4, 4}, {20, 27, 24, 2, 26, 56, 34, 54, 28, 43, 32, 4, 23, 49, 28, 40})},
         {OpKind::kConvTranspose2d,
          {x, T({1, 2, 1, 2}, {1, 2, 3, 4})},
          {{attribute::kStride, Ints{2, 3}}, {attribute::kOutputPadding, Ints{0, 2}}},
          T({1, 2, 3, 7}, {1, 2, 0, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 6,  0, 4,  8,  0, 0,
                           3, 4, 0, 6, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 12, 0, 12, 16, 0, 0})},
         {OpKind::kConvTranspose2d,
          {T({1, 2, 1, 2}, {1, 2, 3, 4}), T({2, 1, 1, 2}, {1, 2, 3, 4})},
          {{attribute::kGroups, 2}, {attribute::kDilation, Ints{1, 2}}},
          T({1, 2, 1, 4}, {1, 2, 2, 4, 9, 12, 12, 16})}});
}

TEST(ValuesTest, Pooling) {
  const Tensor x = T({1, 1, 2, 4}, {1, 5, 2, 2, 3, 4, 9, 9});
  const Tensor four = T({1, 1, 2, 2}, {4, 8, 12, 16});
  const Attributes kernel = {{attribute::kKernel, Ints{2}}};
  Attributes padded = {{attribute::kKernel, Ints{2}}, {attribute::kPadding, Ints{1}}};
  Check({{OpKind::kMaxPool, {x}, kernel, T({1, 1, 1, 2}, {5, 9})},
         {OpKind::kMaxPoolIndex, {x}, kernel, T({1, 1, 1, 2}, {1, 2})},
         {OpKind::kMaxPool, {four}, padded, four},
         {OpKind::kMaxPoolIndex, {four}, padded, T({1, 1, 2, 2}, {3, 2, 1, 0})},
         {OpKind::kAvgPool, {x}, kernel, T({1, 1, 1, 2}, {3.25, 5.5})},
         {OpKind::kAvgPool, {four}, padded, T({1, 1, 2, 2}, {1, 2, 3, 4})}});
  Attributes sized = kernel;
  sized.Set(attribute::kImageSize, {2, 4});
  padded.Set(attribute::kImageSize, {2, 2});
  const Tensor dy = T({1, 1, 1, 2}, {10, 20});
  Check({{OpKind::kMaxPoolGradient, {dy, T({1, 1, 1, 2}, {1, 2})}, sized, T({1, 1, 2, 4}, {0, 10, 0, 0, 0, 0, 20, 0})},
         {OpKind::kAvgPoolGradient, {dy}, sized, T({1, 1, 2, 4}, {2.5, 2.5, 5, 5, 2.5, 2.5, 5, 5})},
         {OpKind::kAvgPoolGradient, {four}, padded, T({1, 1, 2, 2}, {1, 2, 3, 4})}});
}

}  // namespace
}  // namespace cleave::ir
