// Tests, word for word, the errors of inference for arguments that do not fit.

#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

using Ints = std::vector<int64_t>;

TensorType F(Shape shape) { return {DType::kF32, std::move(shape)}; }
TensorType B(Shape shape) { return {DType::kBf16, std::move(shape)}; }
TensorType I(Shape shape) { return {DType::kI32, std::move(shape)}; }

// "E0401 message | 1: about input 1 | note: … | help: …", or the type.
std::string Infer(OpKind kind, const std::vector<TensorType>& types, const Attributes& values = {}) {
  const OpDefinition& op = DefinitionOf(kind);
  Attributes attributes = values;
  const auto incomplete = CompleteAttributes(op, types.size(), attributes);
  const InferResult result = incomplete.has_value() ? InferResult(*incomplete) : InferType(op, types, attributes);
  if (const TensorType* type = std::get_if<TensorType>(&result)) return type->ToString();
  const OpError& error = std::get<OpError>(result);
  std::string text = absl::StrCat(CodeName(error.code), " ", error.message);
  for (const OpError::AboutInput& about : error.about) absl::StrAppend(&text, " | ", about.input, ": ", about.text);
  for (const std::string& note : error.notes) absl::StrAppend(&text, " | note: ", note);
  for (const std::string& help : error.help) absl::StrAppend(&text, " | help: ", help);
  return text;
}

TEST(ErrorsTest, Matmul) {
  EXPECT_EQ(Infer(OpKind::kMatmul, {F({256, 784}), F({512, 784})}, {{attribute::kTransposeB, true}}), "f32[256, 512]");
  EXPECT_EQ(Infer(OpKind::kMatmul, {F({256, 784}), F({512, 784})}),
            "E0401 inner sizes 784 and 512 of a matrix product differ: 256x784 by 512x784 | 1: has 512 in dimension 0 "
            "| 0: has 784 in dimension 1 | help: transpose_b = true");
  EXPECT_EQ(Infer(OpKind::kMatmul, {F({5, 3}), F({5, 7})}),
            "E0401 inner sizes 3 and 5 of a matrix product differ: 5x3 by 5x7 | 1: has 5 in dimension 0 | 0: has 3 in "
            "dimension 1 | help: transpose_a = true");
  EXPECT_EQ(Infer(OpKind::kMatmul, {F({2, 3}), F({4, 5})}),
            "E0401 inner sizes 3 and 4 of a matrix product differ: 2x3 by 4x5 | 1: has 4 in dimension 0 | 0: has 3 in "
            "dimension 1");
  EXPECT_EQ(Infer(OpKind::kMatmul, {F({2, 3, 4}), F({5, 4, 6})}),
            "E0401 leading dimensions of 2x3x4 and 5x4x6 differ | 1: is 5x4x6 | 0: is 2x3x4 | note: the second input "
            "has the leading dimensions of the first, or none");
  EXPECT_EQ(Infer(OpKind::kMatmul, {F({2}), F({2, 3})}),
            "E0408 expected at least 2 dimensions, found 1 | 0: has 1 dimension");
  EXPECT_EQ(Infer(OpKind::kMatmul, {I({2, 3}), F({3, 4})}),
            "E0406 expected f32, found i32 | 0: holds i32 | help: cast(a, f32)");
}

TEST(ErrorsTest, Bf16) {
  const DType f32 = DType::kF32;
  EXPECT_EQ(Infer(OpKind::kMatmul, {B({2, 3}), B({3, 4})}), "bf16[2, 4]");
  EXPECT_EQ(Infer(OpKind::kMatmul, {B({2, 3}), B({3, 4})}, {{attribute::kResult, f32}}), "f32[2, 4]");
  EXPECT_EQ(Infer(OpKind::kMatmul, {F({2, 3}), F({3, 4})}, {{attribute::kResult, f32}}),
            "E0409 `result` is `f32` for factors of f32");
  EXPECT_EQ(Infer(OpKind::kMatmul, {B({2, 3}), F({3, 4})}),
            "E0406 expected bf16, found f32 | 1: holds f32 | help: cast(b, bf16)");
  EXPECT_EQ(Infer(OpKind::kConv2d, {B({2, 3, 4, 4}), B({5, 3, 3, 3})}), "bf16[2, 5, 2, 2]");
  EXPECT_EQ(Infer(OpKind::kConv2d, {B({2, 3, 4, 4}), F({5, 3, 3, 3})}),
            "E0406 expected bf16, found f32 | 1: holds f32 | help: cast(filter, bf16)");
  EXPECT_EQ(Infer(OpKind::kAdd, {B({2, 3}), B({3})}), "bf16[2, 3]");
  EXPECT_EQ(Infer(OpKind::kAdd, {B({2, 3}), F({3})}),
            "E0406 expected bf16, found f32 | 1: holds f32 | help: cast(y, bf16)");
  // A scalar takes the type of the tensor beside it.
  EXPECT_EQ(Infer(OpKind::kMul, {B({2, 3}), F({})}), "bf16[2, 3]");
  EXPECT_EQ(Infer(OpKind::kMul, {F({}), B({2, 3})}), "bf16[2, 3]");
  EXPECT_EQ(Infer(OpKind::kMul, {B({}), F({2, 3})}), "f32[2, 3]");
  EXPECT_EQ(Infer(OpKind::kMul, {B({}), F({})}), "E0406 expected bf16, found f32 | 1: holds f32 | help: cast(y, bf16)");
  EXPECT_EQ(Infer(OpKind::kLess, {B({2}), B({2})}), "bf16[2]");
  EXPECT_EQ(Infer(OpKind::kReluGradient, {B({2}), F({2})}),
            "E0406 expected bf16, found f32 | 1: holds f32 | help: cast(value, bf16)");
  EXPECT_EQ(Infer(OpKind::kSoftmax, {B({2, 3})}), "f32[2, 3]");
  EXPECT_EQ(Infer(OpKind::kSoftmax, {F({2, 3})}, {{attribute::kResult, DType::kBf16}}), "bf16[2, 3]");
  EXPECT_EQ(Infer(OpKind::kSoftmax, {B({2, 3})}, {{attribute::kResult, f32}}),
            "E0409 `result` is `f32`, and none of 16 bits");
  EXPECT_EQ(Infer(OpKind::kAvgPool, {B({2, 3, 4, 4})}, {{attribute::kKernel, Ints{2}}}),
            "E0406 expected f32, found bf16 | 0: holds bf16 | help: cast(x, f32)");
  EXPECT_EQ(Infer(OpKind::kCast, {F({2})}, {{attribute::kDType, DType::kBf16}}), "bf16[2]");
}

Attributes OfGroup(int64_t size, Attributes attributes) {
  attributes.Set(attribute::kGroup, std::string("world"));
  attributes.Set(attribute::kSize, size);
  return attributes;
}

TEST(ErrorsTest, Groups) {
  EXPECT_EQ(Infer(OpKind::kAllGather, {I({3, 2})}, OfGroup(4, {{attribute::kAxis, 1}})), "i32[3, 8]");
  EXPECT_EQ(Infer(OpKind::kAllGather, {F({3, 2})}, OfGroup(4, {{attribute::kAxis, -1}})),
            "E0404 axis -1 of a tensor with 2 dimensions | 0: has 2 dimensions | help: axes are 0 to 1");
  EXPECT_EQ(Infer(OpKind::kReduceScatter, {F({6, 4})}, OfGroup(4, {{attribute::kAxis, 1}})), "f32[6, 1]");
  EXPECT_EQ(Infer(OpKind::kReduceScatter, {F({6, 4})}, OfGroup(4, {{attribute::kAxis, 0}})),
            "E0710 dimension 0 with 6 elements for a group of 4 ranks | 0: has 6 in dimension 0 | note: every rank of "
            "the group gets a part of the same size");
  EXPECT_EQ(
      Infer(OpKind::kAllToAll, {F({6, 4})}, OfGroup(2, {{attribute::kSplitAxis, 1}, {attribute::kConcatAxis, 0}})),
      "f32[12, 2]");
  EXPECT_EQ(
      Infer(OpKind::kAllToAll, {F({6, 4})}, OfGroup(2, {{attribute::kSplitAxis, 1}, {attribute::kConcatAxis, 2}})),
      "E0404 axis 2 of a tensor with 2 dimensions | 0: has 2 dimensions | help: axes are 0 to 1");
  EXPECT_EQ(Infer(OpKind::kBroadcast, {F({6})}, OfGroup(4, {{attribute::kRoot, 4}})),
            "E0709 `root` is 4 in a group of 4 ranks | help: the members of the group are 0 to 3");
  EXPECT_EQ(Infer(OpKind::kAllReduce, {I({6})}, OfGroup(4, {})),
            "E0406 expected f32, found i32 | 0: holds i32 | help: cast(x, f32)");
  EXPECT_EQ(Infer(OpKind::kAllReduce, {F({6})}, OfGroup(4, {{attribute::kReduction, "mean"}})),
            "E0409 `reduction` is `mean` | help: use `sum`, `max`, `min` or `prod`");
}

TEST(ErrorsTest, OwnPlaces) {
  const auto at = [](int64_t axis, int64_t size, Ints starts) {
    return Attributes{{attribute::kAxis, axis}, {attribute::kSize, size}, {attribute::kStarts, std::move(starts)}};
  };
  EXPECT_EQ(Infer(OpKind::kRankSlice, {F({8, 3})}, at(0, 4, {0, 4})), "f32[4, 3]");
  EXPECT_EQ(Infer(OpKind::kRankSlice, {F({8, 3})}, at(0, 4, {0, 5})),
            "E0412 on rank 1 a slice of 4 from 5 of dimension 0 with 8 elements | 0: has 8 in dimension 0 | note: a "
            "slice a..b needs 0 <= a < b <= size on every rank");
  EXPECT_EQ(Infer(OpKind::kRankSlice, {F({8, 3})}, at(0, 9, {0, 0})).substr(0, 47),
            "E0412 on rank 0 a slice of 9 from 0 of dimensio");
  EXPECT_EQ(Infer(OpKind::kRankPad, {F({4})}, at(0, 8, {0, 4})), "f32[8]");
  EXPECT_EQ(Infer(OpKind::kRankPad, {F({4})}, at(0, 8, {0, -1})),
            "E0412 on rank 1 4 elements from -1 of dimension 0 with 8 | 0: has 4 in dimension 0");
}

TEST(ErrorsTest, Messages) {
  const auto messages = [](Ints send_sizes, Ints send_ranks, Ints receive_sizes, Ints receive_ranks) {
    return Attributes{{attribute::kPrimitive, "neighbor_exchange"},
                      {attribute::kSendSizes, std::move(send_sizes)},
                      {attribute::kSendRanks, std::move(send_ranks)},
                      {attribute::kReceiveSizes, std::move(receive_sizes)},
                      {attribute::kReceiveRanks, std::move(receive_ranks)}};
  };
  const std::string note = " | note: one of them would wait for ever, or take one part for another";
  EXPECT_EQ(Infer(OpKind::kNeighborExchange, {F({5})}, messages({2, 3}, {1, -1, -1, 0}, {3, 2}, {1, -1, -1, 0})),
            "f32[5]");
  EXPECT_EQ(Infer(OpKind::kNeighborExchange, {F({5})}, messages({5}, {1, 0}, {4}, {1, 0})),
            "E0704 rank 0 sends 5 elements to rank 1, which receives 4" + note);
  EXPECT_EQ(Infer(OpKind::kNeighborExchange, {F({5})}, messages({5}, {1, -1}, {5}, {-1, -1})),
            "E0704 rank 0 sends 5 elements to rank 1, which does not receive them" + note);
  EXPECT_EQ(Infer(OpKind::kNeighborExchange, {F({5})}, messages({5}, {-1, -1}, {5}, {-1, 0})),
            "E0704 rank 1 waits for 5 elements of rank 0, which does not send them" + note);
  EXPECT_EQ(Infer(OpKind::kNeighborExchange, {F({5})}, messages({2, 3}, {1, 1, -1, -1}, {3, 2}, {-1, -1, 0, 0})),
            "E0704 rank 0 sends 2 elements to rank 1, which receives 3" + note);
  EXPECT_EQ(Infer(OpKind::kNeighborExchange, {F({5})}, messages({5}, {2, 0}, {5}, {1, 0})),
            "E0709 rank 0 sends to rank 2 of 2 ranks | note: ranks are 0 to 1");
  EXPECT_EQ(Infer(OpKind::kNeighborExchange, {F({4})}, messages({5}, {1, 0}, {5}, {1, 0})),
            "E0411 parts of 5 elements of 4 | 0: is 4");
  EXPECT_EQ(Infer(OpKind::kNeighborExchange, {F({5})}, messages({5}, {1, 0}, {5}, {1, 0, 2})),
            "E0704 2 ranks that send and 3 ranks that receive");
  EXPECT_EQ(Infer(OpKind::kNeighborExchange, {F({5})}, messages({5}, {}, {5}, {})),
            "E0409 0 ranks for 1 part to send | note: each rank names one rank, or -1, for each part");
}

TEST(ErrorsTest, Einsum) {
  const auto equation = [](const char* text) { return Attributes{{attribute::kEquation, std::string(text)}}; };
  EXPECT_EQ(Infer(OpKind::kEinsum, {F({4, 2, 3}), F({4, 3, 5})}, equation("bik,bkj->bij")), "f32[4, 2, 5]");
  EXPECT_EQ(Infer(OpKind::kEinsum, {F({2, 3}), F({4, 5})}, equation("i k, k j -> i j")),
            "E0411 index `k` is 3 and 4 in `i k, k j -> i j` | 1: has 4 in dimension 0 | 0: is 2x3");
  EXPECT_EQ(Infer(OpKind::kEinsum, {F({2, 3})}, equation("ii->i")),
            "E0411 index `i` is 2 and 3 in `i i -> i` | 0: has 3 in dimension 1 | 0: is 2x3");
  EXPECT_EQ(Infer(OpKind::kEinsum, {F({2, 3})}, equation("ik,kj->ij")),
            "E0409 `i k, k j -> i j` has 2 terms before `->` for 1 tensor");
  EXPECT_EQ(
      Infer(OpKind::kEinsum, {F({2})}, equation("row->row")),
      "E0408 tensor 1 has 1 dimension, its term 3 names | 0: has 1 dimension | note: in a formula without a space "
      "between two names each letter is an index");
  EXPECT_EQ(Infer(OpKind::kEinsum, {F({2, 3})}, equation("ij")),
            "E0409 `ij` has no `->`: the result must be written too");
  EXPECT_EQ(Infer(OpKind::kEinsum, {F({2})}, equation("i->ik")), "E0409 index `k` of the result is in no tensor");
  EXPECT_EQ(Infer(OpKind::kEinsum, {F({6})}, equation("(i j) -> i j")),
            "E0409 a dimension of an einsum has one index: `(i j) -> i j`");
  EXPECT_EQ(Infer(OpKind::kEinsum, {F({2}), I({2})}, equation("i,i->i")),
            "E0406 expected f32, found i32 | 1: holds i32 | help: cast(…, f32)");
}

TEST(ErrorsTest, CustomOps) {
  const auto attributes = [](const char* rule, const char* arguments, Ints shape) {
    return Attributes{{attribute::kOp, "f"},
                      {attribute::kRule, std::string(rule)},
                      {attribute::kArguments, std::string(arguments)},
                      {attribute::kWhole, std::string()},
                      {attribute::kLinear, std::string()},
                      {attribute::kBody, "custom/f.h"},
                      {attribute::kDType, DType::kF32},
                      {attribute::kShape, shape}};
  };
  EXPECT_EQ(Infer(OpKind::kCustom, {F({2, 3})}, attributes("n k -> n", "x", {2})), "f32[2]");
  EXPECT_EQ(
      Infer(OpKind::kCustom, {F({2, 3}), F({4})}, attributes("n k, k -> n", "x, y", {2})),
      "E0520 the rule of `f` does not fit this call: dimension 0 of input 1 has 4 elements, but `k` is 3 elsewhere | "
      "0:  | 1:  | note: the rule is `n k, k -> n`, the result f32[2]");
  EXPECT_EQ(Infer(OpKind::kCustom, {F({2, 3})}, attributes("n k -> n", "x, y", {2})),
            "E0409 `f` takes 2 tensors, found 1");
  EXPECT_EQ(Infer(OpKind::kCustom, {F({2, 3})}, attributes("n k -> n", "x = y", {2})),
            "E0409 `x = y` is no argument of an op: `x` or `cap = 30.0`");
}

TEST(ErrorsTest, Broadcasting) {
  EXPECT_EQ(Infer(OpKind::kAdd, {F({256, 1}), F({10})}), "f32[256, 10]");
  EXPECT_EQ(Infer(OpKind::kAdd, {F({256, 784}), F({512})}),
            "E0402 shapes 256x784 and 512 do not broadcast | 1: is 512 | 0: is 256x784 | note: counted from the last "
            "dimension, sizes must be equal or one of them 1");
  EXPECT_EQ(Infer(OpKind::kMul, {F({2}), I({2})}), "E0406 expected f32, found i32 | 1: holds i32 | help: cast(y, f32)");
  EXPECT_EQ(Infer(OpKind::kRelu, {I({2})}), "E0406 expected f32, found i32 | 0: holds i32 | help: cast(x, f32)");
  EXPECT_EQ(Infer(OpKind::kBiasAdd, {F({4, 3}), F({4})}),
            "E0411 a bias of 4 for 3 features | 1: is 4 instead of 3 | 0: has 3 elements in its last dimension");
}

TEST(ErrorsTest, ComparisonsAndChoices) {
  EXPECT_EQ(Infer(OpKind::kLess, {I({4, 3}), I({3})}), "f32[4, 3]");
  EXPECT_EQ(Infer(OpKind::kLess, {I({4}), F({4})}),
            "E0406 expected f32, found i32 | 0: holds i32 | help: cast(x, f32)");
  EXPECT_EQ(Infer(OpKind::kEqual, {F({4}), F({3})}),
            "E0402 shapes 4 and 3 do not broadcast | 1: is 3 | 0: is 4 | note: counted from the last dimension, sizes "
            "must be equal or one of them 1");
  EXPECT_EQ(Infer(OpKind::kMaximum, {I({4}), I({4})}), "i32[4]");
  EXPECT_EQ(Infer(OpKind::kMinimum, {I({4}), F({4})}),
            "E0406 expected f32, found i32 | 0: holds i32 | help: cast(x, f32)");
  EXPECT_EQ(Infer(OpKind::kWhere, {F({4, 1}), I({3}), I({})}), "i32[4, 3]");
  EXPECT_EQ(Infer(OpKind::kWhere, {I({4}), F({4}), F({4})}),
            "E0406 expected f32, found i32 | 0: holds i32 | help: cast(condition, f32)");
  EXPECT_EQ(Infer(OpKind::kWhere, {F({4}), F({4}), I({4})}),
            "E0406 expected f32, found i32 | 2: holds i32 | help: cast(b, f32)");
  EXPECT_EQ(Infer(OpKind::kWhere, {F({4}), I({4}), F({})}),
            "E0406 expected f32, found i32 | 1: holds i32 | help: cast(a, f32)");
  EXPECT_EQ(Infer(OpKind::kWhere, {F({1}), F({4}), F({3})}),
            "E0402 shapes 4 and 3 do not broadcast | 2: is 3 | 1: is 4 | note: counted from the last dimension, sizes "
            "must be equal or one of them 1");
}

TEST(ErrorsTest, Reshape) {
  EXPECT_EQ(Infer(OpKind::kReshape, {F({2, 3, 4})}, {{attribute::kShape, Ints{4, 6}}}), "f32[4, 6]");
  EXPECT_EQ(Infer(OpKind::kReshape, {F({2, 3, 4})}, {{attribute::kShape, Ints{5, 5}}}),
            "E0403 reshape to another number of elements: 2x3x4 = 24, 5x5 = 25 | 0: has 24 elements | help: one "
            "dimension may be -1: it takes what is left");
  EXPECT_EQ(Infer(OpKind::kReshape, {F({2, 3, 4})}, {{attribute::kShape, Ints{5, -1}}}),
            "E0403 reshape to another number of elements: 2x3x4 = 24, 5x-1 needs a multiple of 5 | 0: has 24 elements");
  EXPECT_EQ(Infer(OpKind::kReshape, {F({2, 3})}, {{attribute::kShape, Ints{0, 6}}}),
            "E0409 dimension 0 of `shape` is 0 | note: a dimension has at least 1 element");
  EXPECT_EQ(Infer(OpKind::kReshape, {F({2, 3})}, {{attribute::kShape, Ints{-1, -1}}}),
            "E0409 dimension 1 of `shape` is -1 | note: a dimension has at least 1 element");
  EXPECT_EQ(Infer(OpKind::kFlatten, {F({2, 3})}, {{attribute::kStart, 3}}),
            "E0404 `flatten` from dimension 3 of 2 | 0: is 2x3");
}

TEST(ErrorsTest, ScansAndSegments) {
  EXPECT_EQ(Infer(OpKind::kScan, {F({3}), F({2, 4, 3})}, {{attribute::kAxis, -2}}), "f32[2, 4, 3]");
  EXPECT_EQ(Infer(OpKind::kScan, {F({2, 4, 3}), F({4, 1})}, {{attribute::kAxis, 0}}),
            "E0411 a scan of 2x4x3 and 4x1 | 0: is 2x4x3 | 1: is 4x1 | note: `a` broadcasts against `b`, which has the "
            "shape of the result");
  EXPECT_EQ(Infer(OpKind::kSegmentMax, {F({4, 3}), I({3})}, {{attribute::kSize, 2}}),
            "E0411 numbers 3 for the slices of 4x3 along axis 0 | 1: is 3 | 0: is 4x3");
  EXPECT_EQ(Infer(OpKind::kSegmentMax, {F({4, 3}), I({4})}, {{attribute::kSize, 0}}),
            "E0409 dimension 0 of `size` is 0 | note: a dimension has at least 1 element");
}

TEST(ErrorsTest, AxesAndPermutations) {
  EXPECT_EQ(Infer(OpKind::kReduceSum, {F({2, 3})}, {{attribute::kAxes, Ints{-1}}}), "f32[2]");
  EXPECT_EQ(Infer(OpKind::kReduceSum, {F({2, 3})}, {{attribute::kAxes, Ints{2}}}),
            "E0404 axis 2 of a tensor with 2 dimensions | 0: has 2 dimensions | help: axes are 0 to 1, or -1 to -2 "
            "from the last");
  EXPECT_EQ(Infer(OpKind::kReduceMax, {F({2, 3})}, {{attribute::kAxes, Ints{1, -1}}}), "E0404 axis 1 is given twice");
  EXPECT_EQ(Infer(OpKind::kReduceMean, {F({})}, {{attribute::kAxes, Ints{0}}}),
            "E0404 axis 0 of a tensor with 0 dimensions | 0: has 0 dimensions");
  EXPECT_EQ(Infer(OpKind::kTranspose, {F({2, 3})}, {{attribute::kPermutation, Ints{0, 0}}}),
            "E0404 (0, 0) is not a permutation of 2 dimensions | 0: is 2x3 | note: each of 0 to 1 occurs in it once");
  EXPECT_EQ(
      Infer(OpKind::kTranspose, {F({2, 3})}, {{attribute::kPermutation, Ints{0, 1, 2}}}),
      "E0404 (0, 1, 2) is not a permutation of 2 dimensions | 0: is 2x3 | note: each of 0 to 1 occurs in it once");
}

TEST(ErrorsTest, SlicesAndConcatenation) {
  EXPECT_EQ(Infer(OpKind::kSlice, {F({4, 3})}, {{attribute::kBegin, Ints{1, 0}}, {attribute::kEnd, Ints{4, 3}}}),
            "f32[3, 3]");
  EXPECT_EQ(Infer(OpKind::kSlice, {F({4, 3})}, {{attribute::kBegin, Ints{1, 0}}, {attribute::kEnd, Ints{5, 3}}}),
            "E0412 slice 1..5 of dimension 0 with 4 elements | 0: has 4 in dimension 0 | note: a slice a..b needs 0 <= "
            "a < b <= size");
  EXPECT_EQ(Infer(OpKind::kSlice, {F({4, 3})}, {{attribute::kBegin, Ints{1}}, {attribute::kEnd, Ints{2}}}),
            "E0412 a slice of 1 dimensions of a tensor with 2 | 0: is 4x3");
  EXPECT_EQ(Infer(OpKind::kConcat, {F({2, 3}), F({2, 5})}, {{attribute::kAxis, 1}}), "f32[2, 8]");
  EXPECT_EQ(Infer(OpKind::kConcat, {F({2, 3}), F({4, 5})}, {{attribute::kAxis, 1}}),
            "E0405 concatenation along axis 1 of 2x3 and 4x5 | 1: is 4x5 | 0: is 2x3 | note: all sizes but that of "
            "axis 1 must be the same");
  EXPECT_EQ(Infer(OpKind::kConcat, {F({2, 3}), F({2})}, {{attribute::kAxis, 0}}),
            "E0405 concatenation along axis 0 of 2x3 and 2 | 1: is 2 | 0: is 2x3 | note: all sizes but that of axis 0 "
            "must be the same");
  EXPECT_EQ(Infer(OpKind::kConcat, {F({2}), I({2})}, {{attribute::kAxis, 0}}),
            "E0406 expected f32, found i32 | 1: holds i32 | help: cast(x, f32)");
}

TEST(ErrorsTest, Padding) {
  EXPECT_EQ(Infer(OpKind::kPad, {F({4, 3})}, {{attribute::kBefore, Ints{1, 0}}, {attribute::kAfter, Ints{0, 2}}}),
            "f32[5, 5]");
  EXPECT_EQ(Infer(OpKind::kPad, {F({4, 3})}, {{attribute::kBefore, Ints{1}}, {attribute::kAfter, Ints{0, 2}}}),
            "E0409 `before` has 1 number for a tensor with 2 dimensions | 0: is 4x3");
  EXPECT_EQ(Infer(OpKind::kPad, {F({4, 3})}, {{attribute::kBefore, Ints{1, 0}}, {attribute::kAfter, Ints{0, -2}}}),
            "E0409 `after` is -2 in dimension 1 | help: to leave elements out, take a slice: x[a..b]");
  EXPECT_EQ(
      Infer(OpKind::kPad, {F({4})}, {{attribute::kBefore, Ints{INT64_MAX}}, {attribute::kAfter, Ints{INT64_MAX}}}),
      "E0410 `pad` gives 18014398509481986, more than 9007199254740991 elements | note: up to 2^53 - 1 the number "
      "of an element is exact in 64-bit integers and in doubles");
}

TEST(ErrorsTest, Indexing) {
  EXPECT_EQ(Infer(OpKind::kGather, {F({4, 3, 5}), I({2, 6})}, {{attribute::kAxis, 1}}), "f32[4, 2, 6, 5]");
  EXPECT_EQ(
      Infer(OpKind::kGather, {F({4, 3}), I({2})}, {{attribute::kAxis, 2}}),
      "E0404 axis 2 of a tensor with 2 dimensions | 0: has 2 dimensions | help: axes are 0 to 1, or -1 to -2 from "
      "the last");
  EXPECT_EQ(Infer(OpKind::kGather, {F({4, 3}), F({2})}),
            "E0406 expected i32, found f32 | 1: holds f32 | help: cast(indices, i32)");
  EXPECT_EQ(Infer(OpKind::kGather, {F({}), I({2})}),
            "E0404 axis 0 of a tensor with 0 dimensions | 0: has 0 dimensions");
  EXPECT_EQ(Infer(OpKind::kScatterAdd, {F({4, 2, 6, 5}), I({2, 6})}, {{attribute::kSize, 3}, {attribute::kAxis, 1}}),
            "f32[4, 3, 5]");
  EXPECT_EQ(Infer(OpKind::kScatterAdd, {F({2, 5}), I({3})}, {{attribute::kSize, 3}}),
            "E0411 updates 2x5 by indices 3 | 1: is 3 | 0: is 2x5 | note: `updates` must have the dimensions of "
            "`indices` from dimension 0 on");
  EXPECT_EQ(
      Infer(OpKind::kScatterAdd, {F({2, 5}), I({2})}, {{attribute::kSize, 3}, {attribute::kAxis, 2}}),
      "E0404 axis 2 of a result with 2 dimensions | 0: is 2x5 | 1: is 2 | note: the dimensions of `indices` become "
      "one");
  EXPECT_EQ(Infer(OpKind::kScatterAdd, {F({2}), I({2})}, {{attribute::kSize, 0}}),
            "E0409 `size` is 0 | note: a dimension has at least 1 element");
  EXPECT_EQ(Infer(OpKind::kScatterAdd, {F({2}), I({2})}, {{attribute::kSize, 3}, {attribute::kBatch, INT64_MAX}}),
            "E0411 2 and indices 2 do not share 9223372036854775807 dimensions before axis 1");
}

TEST(ErrorsTest, Sequences) {
  EXPECT_EQ(
      Infer(OpKind::kCumsum, {F({4, 3})}, {{attribute::kAxis, -3}}),
      "E0404 axis -3 of a tensor with 2 dimensions | 0: has 2 dimensions | help: axes are 0 to 1, or -1 to -2 from "
      "the last");
  EXPECT_EQ(Infer(OpKind::kRope, {F({8, 7})}),
            "E0411 the last dimension has 7 elements, which do not form pairs | 0: is 8x7");
  EXPECT_EQ(
      Infer(OpKind::kRope, {F({8, 6})}, {{attribute::kAxis, 1}}),
      "E0404 positions along the last dimension, whose pairs are turned | 0: is 8x6 | help: `axis` is the dimension "
      "of the sequence: axis = -2");
  EXPECT_EQ(Infer(OpKind::kRope, {F({8, 6})}, {{attribute::kTheta, 0.0}}),
            "E0409 `theta` is 0.0 | note: the base of the frequencies is positive and finite");
  EXPECT_EQ(Infer(OpKind::kDropout, {F({8})}, {{attribute::kRate, 1.0}}),
            "E0409 `rate` is 1.0 | note: the share of elements that are dropped lies in [0, 1)");
}

TEST(ErrorsTest, ClassesAndLabels) {
  EXPECT_EQ(Infer(OpKind::kCrossEntropy, {F({256, 10}), I({256})}), "f32[]");
  EXPECT_EQ(Infer(OpKind::kCrossEntropy, {F({256, 10}), F({256})}),
            "E0407 labels are f32, classes are numbered by i32 | 1: holds f32 | help: cast(label, i32)");
  EXPECT_EQ(Infer(OpKind::kCrossEntropy, {F({256, 10}), I({128})}),
            "E0407 logits 256x10 need labels 256, found 128 | 1: is 128 | 0: has 10 in its last dimension, the "
            "classes");
  EXPECT_EQ(Infer(OpKind::kAccuracy, {F({256, 10}), I({256, 1})}),
            "E0407 logits 256x10 need labels 256, found 256x1 | 1: is 256x1 | 0: has 10 in its last dimension, the "
            "classes | help: reshape(label, (256,))");
  EXPECT_EQ(Infer(OpKind::kCrossEntropy, {F({10}), I({})}),
            "E0408 expected at least 2 dimensions, found 1 | 0: has 1 dimension");
  EXPECT_EQ(Infer(OpKind::kCrossEntropy, {F({8, 10}), I({8}), F({4})}),
            "E0411 `sample_weight` of 4 for 8 samples | 2: is 4 instead of 8");
  EXPECT_EQ(Infer(OpKind::kEmbedding, {F({8}), F({10, 4})}),
            "E0406 expected i32, found f32 | 0: holds f32 | help: cast(tokens, i32)");
  EXPECT_EQ(Infer(OpKind::kEmbedding, {I({8}), F({10})}),
            "E0408 a table has 2 dimensions, rows and width, found 1 | 1: is 10");
  EXPECT_EQ(Infer(OpKind::kOneHot, {I({8})}, {{attribute::kDepth, 0}}),
            "E0409 `depth` is 0 | note: a dimension has at least 1 element");
}

TEST(ErrorsTest, Regressions) {
  EXPECT_EQ(Infer(OpKind::kMae, {F({256, 1}), F({256, 1})}), "f32[]");
  EXPECT_EQ(Infer(OpKind::kMae, {F({256, 1}), I({256})}),
            "E0411 shapes 256x1 and 256 must be the same | 1: is 256 | 0: is 256x1 | help: reshape(cast(target, f32), "
            "(256, 1))");
  EXPECT_EQ(Infer(OpKind::kMse, {F({256, 1}), F({256})}),
            "E0411 shapes 256x1 and 256 must be the same | 1: is 256 | 0: is 256x1 | help: reshape(target, (256, 1))");
  EXPECT_EQ(Infer(OpKind::kMse, {F({256}), I({256})}),
            "E0406 expected f32, found i32 | 1: holds i32 | help: cast(target, f32)");
}

TEST(ErrorsTest, HuberAndBinaryCrossEntropy) {
  EXPECT_EQ(Infer(OpKind::kHuber, {F({8, 1}), F({8, 1}), F({8})}), "f32[]");
  EXPECT_EQ(
      Infer(OpKind::kHuber, {F({8}), F({8})}, {{attribute::kDelta, 0.0}}),
      "E0409 `delta` is 0.0 | note: it is the difference from which the loss grows linearly, and must be positive");
  EXPECT_EQ(Infer(OpKind::kHuber, {F({8, 1}), F({8})}),
            "E0411 shapes 8x1 and 8 must be the same | 1: is 8 | 0: is 8x1 | help: reshape(target, (8, 1))");
  EXPECT_EQ(Infer(OpKind::kBceWithLogits, {F({8}), I({8})}),
            "E0406 expected f32, found i32 | 1: holds i32 | help: cast(target, f32)");
  EXPECT_EQ(Infer(OpKind::kBceWithLogits, {I({8}), F({8})}),
            "E0406 expected f32, found i32 | 0: holds i32 | help: cast(logits, f32)");
  EXPECT_EQ(Infer(OpKind::kBceWithLogits, {F({8}), F({8}), F({4})}),
            "E0411 `sample_weight` of 4 for 8 samples | 2: is 4 instead of 8");
}

TEST(ErrorsTest, Attributes) {
  EXPECT_EQ(Infer(OpKind::kClamp, {F({2})}, {{attribute::kLow, 2.0}, {attribute::kHigh, 1.0}}),
            "E0409 `low` is 2.0, above `high`, 1.0 | note: every element must be between them");
  EXPECT_EQ(Infer(OpKind::kPower, {F({2})}, {{attribute::kExponent, std::numeric_limits<double>::infinity()}}),
            "E0409 `exponent` is inf | note: it must be a finite number");
  EXPECT_EQ(Infer(OpKind::kLayerNorm, {F({2, 4}), F({4}), F({4})}, {{attribute::kEpsilon, 0.0}}),
            "E0409 `epsilon` is 0.0 | note: it keeps the division by the deviation finite, and must be positive");
  EXPECT_EQ(Infer(OpKind::kLayerNorm, {F({2, 4}), F({4}), F({2})}),
            "E0411 a shift of 2 for 4 features | 2: is 2 instead of 4 | 0: has 4 elements in its last dimension");
  EXPECT_EQ(Infer(OpKind::kCast, {F({2})}, {{Attribute<std::string>{"dtype"}, "f64"}}),
            "E0409 `dtype` of `cast` is no element type | help: element types are f32, bf16, f16 and i32");
  EXPECT_EQ(Infer(OpKind::kParameter, {},
                  {{attribute::kShape, Ints{2}}, {attribute::kInit, "normal"}, {attribute::kSecond, -1.0}}),
            "E0409 normal values with deviation -1.0 | note: a deviation is not negative");
  EXPECT_EQ(Infer(OpKind::kParameter, {}, {{attribute::kShape, Ints{}}, {attribute::kFormula, "scale=2.0"}}), "f32[]");
  for (const std::string formula : {"scale", "mul(2.0, step)"}) {
    EXPECT_EQ(
        Infer(OpKind::kParameter, {}, {{attribute::kShape, Ints{}}, {attribute::kFormula, formula}}),
        "E0409 `constant` values with the formula `" + formula + "` | note: a constant may be computed from numbers");
  }
  EXPECT_EQ(Infer(OpKind::kParameter, {}, {{attribute::kShape, Ints{2, 0}}}),
            "E0409 dimension 1 of `shape` is 0 | note: a dimension has at least 1 element");
  for (const std::string formula : {"rate", "add(step)", "exp(step))", "", "step(1.0)"}) {
    EXPECT_EQ(Infer(OpKind::kStepScalar, {}, {{attribute::kFormula, formula}}),
              "E0409 `formula` is `" + formula +
                  "` | note: a formula is made of numbers, `step` and functions of them: `div(0.1, sqrt(step))`");
  }
  EXPECT_EQ(Infer(OpKind::kScale, {F({2})}), "E0409 `scale` needs `factor`");
  EXPECT_EQ(Infer(OpKind::kScale, {F({2})}, {{Attribute<int64_t>{"factor"}, 2}}),
            "E0409 `factor` of `scale` has another type");
  EXPECT_EQ(Infer(OpKind::kRelu, {F({2})}, {{attribute::kSlope, 0.1}}), "E0409 `relu` has no `slope`");
  EXPECT_EQ(Infer(OpKind::kRelu, {F({2}), F({2})}), "E0409 `relu` takes 1 tensor, found 2");
}

TEST(ErrorsTest, TooManyElements) {
  const std::string limit =
      ", more than 9007199254740991 elements | note: up to 2^53 - 1 the number of an element is exact in 64-bit "
      "integers and in doubles";
  EXPECT_EQ(Infer(OpKind::kInput, {}, {{attribute::kShape, Ints{kMaxElements}}, {attribute::kData, "x"}}),
            "f32[9007199254740991]");
  EXPECT_EQ(Infer(OpKind::kInput, {},
                  {{attribute::kShape, Ints{int64_t{1} << 27, int64_t{1} << 26}}, {attribute::kData, "x"}}),
            "E0410 `input` gives 134217728x67108864" + limit);
  // The product would overflow 64 bits.
  EXPECT_EQ(Infer(OpKind::kMatmul, {F({kMaxElements, 1}), F({1, 2147483647})}),
            "E0410 `matmul` gives 9007199254740991x2147483647" + limit);
  // Scores of attention in a large language model, and a sum that would overflow 64 bits.
  EXPECT_EQ(Infer(OpKind::kMatmul, {F({1536, 96, 2048, 128}), F({1536, 96, 128, 2048})}), "f32[1536, 96, 2048, 2048]");
  EXPECT_EQ(Infer(OpKind::kConcat, std::vector<TensorType>(1100, F({kMaxElements})), {{attribute::kAxis, 0}}),
            "E0410 `concat` gives 9007199254740992" + limit);
  EXPECT_EQ(Infer(OpKind::kReshape, {F({4})}, {{attribute::kShape, Ints{kMaxElements, 2}}}),
            "E0403 reshape to another number of elements: 4 = 4, 9007199254740991x2 = more than 9007199254740991 | 0: "
            "has 4 elements | help: one dimension may be -1: it takes what is left");
}

TEST(ErrorsTest, MoreElementsThanIndices) {
  constexpr int64_t kIndices = 2147483647;
  const std::string beyond =
      "E0410 an index among 2147483648 elements, more than 2147483647 | 0: has 2147483648 in dimension 1 | note: an "
      "index is an i32";
  EXPECT_EQ(Infer(OpKind::kArgmax, {F({2, kIndices})}), "i32[2]");
  EXPECT_EQ(Infer(OpKind::kArgmax, {F({2, kIndices + 1})}), beyond);
  EXPECT_EQ(Infer(OpKind::kArgmax, {F({2, kIndices + 1})}, {{attribute::kAxis, 0}}), "i32[2147483648]");
  EXPECT_EQ(Infer(OpKind::kTopKIndices, {F({2, kIndices + 1})}, {{attribute::kK, 3}}), beyond);
  EXPECT_EQ(Infer(OpKind::kFirstEqual, {F({2, kIndices + 1}), F({2, 1})}), beyond);
  EXPECT_EQ(Infer(OpKind::kTopKCandidateIndices, {F({2, kIndices + 1})},
                  {{attribute::kK, 3}, {attribute::kPieces, 2}, {attribute::kElements, kIndices + 1}}),
            beyond);
}

TEST(ErrorsTest, Conv2d) {
  const TensorType x = F({8, 6, 28, 28});
  const TensorType filter = F({32, 6, 3, 3});
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, filter}, {{attribute::kPadding, Ints{1}}, {attribute::kStride, Ints{2, 1}}}),
            "f32[8, 32, 14, 28]");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, F({32, 3, 5, 3})}, {{attribute::kGroups, 2}}), "f32[8, 32, 24, 26]");
  EXPECT_EQ(Infer(OpKind::kConv2d, {F({8, 28, 28}), filter}),
            "E0408 images have 4 dimensions, found 3 | 0: has 3 dimensions | note: the dimensions are samples, "
            "channels, rows and columns | help: reshape(x, (8, 1, 28, 28))");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, F({32, 54})}),
            "E0408 filters have 4 dimensions, found 2 | 1: has 2 dimensions | note: the dimensions are filters, "
            "channels of a group, rows and columns");
  EXPECT_EQ(Infer(OpKind::kConv2d, {I({8, 6, 28, 28}), filter}),
            "E0406 expected f32, found i32 | 0: holds i32 | help: cast(x, f32)");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, F({32, 3, 3, 3})}),
            "E0413 filters over 3 channels for images with 6 | 1: has 3 channels in dimension 1 | 0: has 6 channels "
            "in dimension 1 | help: groups = 2");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, F({32, 4, 3, 3})}),
            "E0413 filters over 4 channels for images with 6 | 1: has 4 channels in dimension 1 | 0: has 6 channels "
            "in dimension 1");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, F({32, 6, 3, 3})}, {{attribute::kGroups, 3}}),
            "E0413 3 groups do not divide 32 filters | 1: has 32 filters");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, F({30, 6, 3, 3})}, {{attribute::kGroups, 3}}),
            "E0413 filters over 6 channels for 3 groups of 2 | 1: has 6 channels in dimension 1 | 0: has 6 channels in "
            "dimension 1 | help: groups = 1");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, F({32, 1, 3, 3})}, {{attribute::kGroups, 4}}),
            "E0413 4 groups do not divide 6 channels | 0: has 6 channels");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, filter}, {{attribute::kGroups, 0}}),
            "E0409 `groups` is 0 | note: there is at least one group");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, filter}, {{attribute::kStride, Ints{1, 0}}}),
            "E0409 `stride` is 0 | note: it is 1 to 2147483647");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, filter}, {{attribute::kPadding, Ints{1, 1, 1}}}),
            "E0409 `padding` has 3 numbers | help: padding = (rows, columns), or one number for both");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, F({32, 6, 31, 3})}, {{attribute::kPadding, Ints{1, 1}}}),
            "E0413 a kernel over 31 rows does not fit into 28 and 2 of padding | 0: has 28 rows | help: padding = 2");
  EXPECT_EQ(Infer(OpKind::kConv2d, {x, F({32, 6, 3, 3})}, {{attribute::kDilation, Ints{1, 20}}}),
            "E0413 a kernel over 41 columns does not fit into 28 | 0: has 28 columns | help: padding = 7");
}

TEST(ErrorsTest, ConvTranspose2d) {
  const TensorType x = F({8, 6, 14, 14});
  const TensorType filter = F({6, 32, 3, 3});
  const auto infer = [&](const Attributes& attributes) {
    return Infer(OpKind::kConvTranspose2d, {x, filter}, attributes);
  };
  EXPECT_EQ(
      infer({{attribute::kStride, Ints{2}}, {attribute::kPadding, Ints{1}}, {attribute::kOutputPadding, Ints{1}}}),
      "f32[8, 32, 28, 28]");
  EXPECT_EQ(infer({{attribute::kStride, Ints{2, 1}}, {attribute::kOutputPadding, Ints{1, 0}}}), "f32[8, 32, 30, 16]");
  EXPECT_EQ(infer({{attribute::kDilation, Ints{1, 3}}}), "f32[8, 32, 16, 20]");
  EXPECT_EQ(infer({{attribute::kGroups, 2}}), "f32[8, 64, 16, 16]");
  EXPECT_EQ(Infer(OpKind::kConvTranspose2d, {B({8, 6, 14, 14}), B({6, 32, 3, 3})}), "bf16[8, 32, 16, 16]");
  EXPECT_EQ(Infer(OpKind::kConvTranspose2d, {F({8, 14, 14}), filter}),
            "E0408 images have 4 dimensions, found 3 | 0: has 3 dimensions | note: the dimensions are samples, "
            "channels, rows and columns | help: reshape(x, (8, 1, 14, 14))");
  EXPECT_EQ(Infer(OpKind::kConvTranspose2d, {x, F({6, 9})}),
            "E0408 filters have 4 dimensions, found 2 | 1: has 2 dimensions | note: the dimensions are filters, "
            "channels of a group, rows and columns");
  EXPECT_EQ(Infer(OpKind::kConvTranspose2d, {x, I({6, 32, 3, 3})}),
            "E0406 expected f32, found i32 | 1: holds i32 | help: cast(filter, f32)");
  EXPECT_EQ(Infer(OpKind::kConvTranspose2d, {x, F({5, 32, 3, 3})}),
            "E0413 5 filters for images with 6 channels | 1: has 5 in dimension 0 | 0: has 6 channels in dimension 1 "
            "| note: a transposed convolution has a filter for each channel of its images");
  EXPECT_EQ(Infer(OpKind::kConvTranspose2d, {x, F({32, 6, 3, 3})}),
            "E0413 32 filters for images with 6 channels | 1: has 32 in dimension 0 | 0: has 6 channels in dimension "
            "1 | note: a transposed convolution has a filter for each channel of its images | help: transpose(filter, "
            "(1, 0, 2, 3))");
  EXPECT_EQ(infer({{attribute::kGroups, 4}}), "E0413 4 groups do not divide 6 channels | 0: has 6 channels");
  EXPECT_EQ(infer({{attribute::kGroups, 0}}), "E0409 `groups` is 0 | note: there is at least one group");
  EXPECT_EQ(infer({{attribute::kOutputPadding, Ints{1}}}),
            "E0409 `output_padding` is 1 for a stride of 1 | note: it is less than the stride");
  EXPECT_EQ(infer({{attribute::kStride, Ints{3, 2}}, {attribute::kOutputPadding, Ints{2, 3}}}),
            "E0409 `output_padding` is 3 for a stride of 2 | note: it is less than the stride");
  EXPECT_EQ(infer({{attribute::kOutputPadding, Ints{-1}}}),
            "E0409 `output_padding` is -1 | note: it is 0 to 2147483647");
  EXPECT_EQ(infer({{attribute::kPadding, Ints{8}}}),
            "E0413 padding takes away 16 of 16 rows | 0: has 14 rows | help: padding = 7");
  EXPECT_EQ(infer({{attribute::kStride, Ints{1, 2}}, {attribute::kPadding, Ints{7, 20}}}),
            "E0413 padding takes away 40 of 29 columns | 0: has 14 columns | help: padding = 14");
  EXPECT_EQ(Infer(OpKind::kConvTranspose2d, {F({1, 1, kMaxElements, 1}), F({1, 1, 1, 1})},
                  {{attribute::kStride, Ints{2147483647}}, {attribute::kPadding, Ints{2147483647, 0}}}),
            "E0410 `conv_transpose2d` gives 1x1x9007199254740993x1, more than 9007199254740991 elements | note: up "
            "to 2^53 - 1 the number of an element is exact in 64-bit integers and in doubles");
}

TEST(ErrorsTest, Pooling) {
  const TensorType x = F({8, 6, 28, 27});
  EXPECT_EQ(Infer(OpKind::kMaxPool, {x}, {{attribute::kKernel, Ints{2}}}), "f32[8, 6, 14, 13]");
  EXPECT_EQ(Infer(OpKind::kAvgPool, {x},
                  {{attribute::kKernel, Ints{3, 2}}, {attribute::kStride, Ints{1}}, {attribute::kPadding, Ints{1}}}),
            "f32[8, 6, 28, 28]");
  EXPECT_EQ(Infer(OpKind::kMaxPool, {F({8, 6})}, {{attribute::kKernel, Ints{2}}}),
            "E0408 images have 4 dimensions, found 2 | 0: has 2 dimensions | note: the dimensions are samples, "
            "channels, rows and columns");
  EXPECT_EQ(Infer(OpKind::kMaxPool, {x}), "E0409 `max_pool` needs `kernel`");
  EXPECT_EQ(Infer(OpKind::kAvgPool, {x}, {{attribute::kKernel, Ints{2}}, {attribute::kPadding, Ints{0, 2}}}),
            "E0409 `padding` is 2 for a kernel of 2 | note: the kernel would see nothing but padding at its first "
            "place");
  EXPECT_EQ(Infer(OpKind::kAvgPool, {x}, {{attribute::kKernel, Ints{0}}}),
            "E0409 `kernel` is 0 | note: it is 1 to 2147483647");
  EXPECT_EQ(Infer(OpKind::kMaxPool, {x}, {{attribute::kKernel, Ints{30, 2}}}),
            "E0413 a kernel over 30 rows does not fit into 28 | 0: has 28 rows | help: padding = 1");
}

}  // namespace
}  // namespace cleave::ir
