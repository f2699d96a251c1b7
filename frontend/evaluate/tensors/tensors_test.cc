// Tests what operators, subscripts and tuples of tensors become.
#include <gtest/gtest.h>

#include "frontend/evaluate/frame/testing.h"
#include "frontend/evaluate/statics/logic.h"
#include "frontend/evaluate/tensors/operators.h"
#include "frontend/evaluate/tensors/subscripts.h"
#include "frontend/evaluate/tensors/tuples.h"

namespace cleave::frontend {
namespace {

// Evaluates the outermost operation of `expression`, whose operands are names and static values. `expected`: the ops
// that it makes, one per line, or the mistake.
void CheckOps(const std::string& expression, const std::string& expected) {
  TestBench bench(LetText(expression), {{"world", 2}});
  bench.DefineTensor("x", {ir::DType::kF32, {8, 6}});
  bench.DefineTensor("z", {ir::DType::kF32, {8, 5}});
  bench.DefineTensor("i", {ir::DType::kI32, {8}});
  bench.Define("rank", *PerRank({Value{int64_t{0}}, Value{int64_t{1}}}));
  const auto& kind = bench.expression().kind;
  Value result{Poison()};
  if (const auto* binary = std::get_if<dsl::syntax::Binary>(&kind)) {
    const Value left = bench.context.Evaluate(*binary->left, bench.frame);
    const Value right = bench.context.Evaluate(*binary->right, bench.frame);
    const Origin origin{bench.expression().span, ""};
    result = IsLogic(binary->op) ? TensorLogic(*binary, left, right, origin, bench.ops, bench.reporter)
                                 : TensorArithmetic(*binary, left, right, origin, bench.ops, bench.reporter);
  } else if (const auto* index = std::get_if<dsl::syntax::Index>(&kind)) {
    result = EvaluateIndex(*index, bench.expression().span, bench.frame, bench.context);
  } else {
    const bool stacks = std::get<dsl::syntax::Name>(std::get<dsl::syntax::Call>(kind).callee->kind).text == "stack";
    result = stacks ? Stack(bench.call(), bench.context) : Split(bench.call(), bench.context);
  }
  EXPECT_EQ(result.is_poison() ? bench.Messages() : bench.OpsText(), expected) << expression;
}

TEST(OperatorsTest, NumbersNextToTensors) {
  CheckOps("x + x", "add(x, x): f32[8, 6]");
  CheckOps("x - z", "E0402: shapes 8x6 and 8x5 do not broadcast");
  CheckOps("2 * x", "scale(x): f32[8, 6]");
  CheckOps("x * 0.5", "scale(x): f32[8, 6]");
  CheckOps("x / 4", "scale(x): f32[8, 6]");
  CheckOps("1 / x", "constant(): f32[]\ndiv(constant, x): f32[8, 6]");
  CheckOps("x - 1", "constant(): f32[]\nsub(x, constant): f32[8, 6]");
  CheckOps("x / 0", "E0208: division by zero");
  CheckOps("x % 2", "E0406: expected i32, found f32");
  CheckOps("x < x", "less(x, x): f32[8, 6]");
  CheckOps("0.5 >= x", "constant(): f32[]\ngreater_equal(constant, x): f32[8, 6]");
  CheckOps("x + true", "E0204: `+` does not take these values");
}

TEST(OperatorsTest, WholeNumbers) {
  CheckOps("i + i", "add(i, i): i32[8]");
  CheckOps("2 * i", "constant(): i32[]\nmul(constant, i): i32[8]");
  CheckOps("i / 2", "constant(): i32[]\nquotient(i, constant): i32[8]");
  CheckOps("7 % i", "constant(): i32[]\nremainder(constant, i): i32[8]");
  CheckOps("i % 0", "E0208: division by zero");
  CheckOps("i == 3", "constant(): i32[]\nequal(i, constant): f32[8]");
  CheckOps("i + rank", "rank_value(): f32[]\ncast(rank_value): i32[]\nadd(i, cast): i32[8]");
  CheckOps("i + 0.5", "E0406: expected f32, found i32");
}

// Comparisons are 1 or 0 already.
TEST(OperatorsTest, Logic) {
  CheckOps("x && x",
           "constant(): f32[]\nnot_equal(x, constant): f32[8, 6]\nconstant_1(): f32[]\n"
           "not_equal_1(x, constant_1): f32[8, 6]\nmul(not_equal, not_equal_1): f32[8, 6]");
  CheckOps("false || i", "constant(): i32[]\nnot_equal(i, constant): f32[8]");
  CheckOps("x && 1", "E0204: `&&` does not take these values");
}

TEST(OperatorsTest, NumbersThatDifferBetweenRanks) {
  CheckOps("x * rank", "rank_value(): f32[]\nmul(x, rank_value): f32[8, 6]");
  CheckOps("rank - x", "rank_value(): f32[]\nsub(rank_value, x): f32[8, 6]");
  CheckOps("x / rank", "E0208: division by zero");
}

TEST(SubscriptsTest, SlicesAndIndices) {
  CheckOps("x[2..5]", "slice(x): f32[3, 6]");
  CheckOps("x[.., 1]", "slice(x): f32[8, 1]\nreshape(slice): f32[8]");
  CheckOps("x[3]", "slice(x): f32[1, 6]\nreshape(slice): f32[6]");
  CheckOps("x[4.., ..3]", "slice(x): f32[4, 3]");
  CheckOps("x[..]", "");
  CheckOps("x[rank]", "rank_slice(x): f32[1, 6]\nreshape(rank_slice): f32[6]");
  CheckOps("x[rank * 4 .. (rank + 1) * 4, 0..2]", "slice(x): f32[8, 2]\nrank_slice(slice): f32[4, 2]");
  CheckOps("(x, 1)[0]", "");
}

// Only what is written with a minus is counted from the end: a number that happens to be negative is a mistake.
TEST(SubscriptsTest, PlacesFromTheEnd) {
  CheckOps("x[.., -1]", "slice(x): f32[8, 1]\nreshape(slice): f32[8]");
  CheckOps("x[-3..]", "slice(x): f32[3, 6]");
  CheckOps("x[-3..-1, ..-2]", "slice(x): f32[2, 4]");
  CheckOps("(1, x)[-1]", "");
  CheckOps("x[-9]", "E0214: element -1 is not in dimension 0 of size 8");
  CheckOps("x[0 - 1]", "E0214: element -1 is not in dimension 0 of size 8");
  CheckOps("(x, 1)[-3]", "E0214: element -1 of a tuple of 2");
}

TEST(SubscriptsTest, Steps) {
  CheckOps("x[0..8..2]", "reshape(x): f32[4, 2, 6]\nslice(reshape): f32[4, 1, 6]\nreshape_1(slice): f32[4, 6]");
  CheckOps("x[..7..3, 1]",
           "slice(x): f32[7, 1]\npad(slice): f32[9, 1]\nreshape(pad): f32[3, 3, 1]\nslice_1(reshape): f32[3, 1, 1]\n"
           "reshape_1(slice_1): f32[3, 1]\nreshape_2(reshape_1): f32[3]");
  CheckOps("x[....8]", "reshape(x): f32[1, 8, 6]\nslice(reshape): f32[1, 1, 6]\nreshape_1(slice): f32[1, 6]");
  CheckOps("x[..1..3]", "slice(x): f32[1, 6]");
  CheckOps("x[..8..0]", "E0214: a step of 0");
  CheckOps("x[..8..0.5]", "E0204: a step must be an int");
}

TEST(SubscriptsTest, OutOfBounds) {
  CheckOps("x[8]", "E0214: element 8 is not in dimension 0 of size 8");
  CheckOps("x[2..9]", "E0214: elements 2 to 9, the end excluded, are not in dimension 0 of size 8");
  CheckOps("x[3..3]", "E0214: elements 3 to 3, the end excluded, are not in dimension 0 of size 8");
  CheckOps("x[0, 0, 0]", "E0214: more subscripts than the tensor has dimensions");
  CheckOps("x[0.5]", "E0204: a subscript must be an int");
  CheckOps("x[..rank + 1]", "E0702: a slice whose length differs between ranks");
  CheckOps("x[rank * 8]", "E0214: element 8 is not in dimension 0 of size 8");
  CheckOps("rank[0]", "E0214: only a tensor or a tuple has subscripts");
  CheckOps("(x, 1)[2]", "E0214: element 2 of a tuple of 2");
  CheckOps("(x, 1)[0..1]", "E0214: an element of a tuple has one number");
}

TEST(TuplesTest, StackAndSplit) {
  CheckOps("stack((x, x), axis = 0)",
           "x.reshape(x): f32[1, 8, 6]\nx.reshape_1(x): f32[1, 8, 6]\nconcat(x.reshape, x.reshape_1): f32[2, 8, 6]");
  CheckOps("stack((i,), axis = -1)", "i.reshape(i): i32[8, 1]\nconcat(i.reshape): i32[8, 1]");
  CheckOps("stack((x,) + (x, x) + (), axis = 1)",
           "x.reshape(x): f32[8, 1, 6]\nx.reshape_1(x): f32[8, 1, 6]\nx.reshape_2(x): f32[8, 1, 6]\n"
           "concat(x.reshape, x.reshape_1, x.reshape_2): f32[8, 3, 6]");
  CheckOps("split(x, 2, axis = 0)", "slice(x): f32[4, 6]\nslice_1(x): f32[4, 6]");
  CheckOps("split(x, (1, 5), axis = 1)", "slice(x): f32[8, 1]\nslice_1(x): f32[8, 5]");
  CheckOps("split(x, 1, axis = 0)", "");
}

TEST(TuplesTest, WhatDoesNotFit) {
  CheckOps("stack((x, z), axis = 0)", "E0405: `stack` of f32[8, 6] and f32[8, 5]");
  CheckOps("(x,) - (x,)", "E0204: `-` does not take these values");
  CheckOps("(x,) + 1", "E0204: `+` does not take these values");
  CheckOps("stack((), axis = 0)", "E0204: argument `x` of `stack` is a tuple of tensors");
  CheckOps("stack(x, axis = 0)", "E0204: argument `x` of `stack` is a tuple of tensors");
  CheckOps("stack((x, 1), axis = 0)", "E0204: argument `x` of `stack` is a tuple of tensors");
  CheckOps("stack((x, x), axis = 3)", "E0404: axis 3 of a tensor with 3 dimensions");
  CheckOps("stack((x, x), axis = 0.5)", "E0204: argument `axis` is an int");
  CheckOps("stack((x, x))", "E0203: `stack` takes 2 arguments, not 1");
  CheckOps("split(x, 4, axis = 1)", "E0409: 6 elements cannot be split into 4 equal parts");
  CheckOps("split(x, (2, 5), axis = 1)", "E0409: parts whose sizes do not add up to that of the dimension");
  CheckOps("split(x, (7, -1), axis = 1)", "E0409: parts whose sizes do not add up to that of the dimension");
  CheckOps("split(x, (), axis = 1)", "E0204: argument `parts` of `split` is an int or a tuple of ints");
  CheckOps("split(3, 1, axis = 0)", "E0204: argument `x` of `split` is a tensor");
  CheckOps("split(x, 2, axis = -3)", "E0404: axis -3 of a tensor with 2 dimensions");
}

}  // namespace
}  // namespace cleave::frontend
