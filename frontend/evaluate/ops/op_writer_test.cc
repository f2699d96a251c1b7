#include "frontend/evaluate/ops/op_writer.h"

#include <gtest/gtest.h>

#include "frontend/evaluate/frame/testing.h"

namespace cleave::frontend {
namespace {

const ir::TensorType kMatrix{ir::DType::kF32, {8, 6}};

TEST(OpWriterTest, OpsAreNamedByTheirPath) {
  TestBench bench(LetText("1"));
  const ir::OpId x = bench.DefineTensor("x", kMatrix);
  bench.ops.AddOp(ir::OpKind::kRelu, {{nullptr, x}}, {}, {Span(), ""});
  bench.ops.AddOp(ir::OpKind::kRelu, {{nullptr, x}}, {}, {Span(), "h.0"});
  bench.ops.AddOp(ir::OpKind::kRelu, {{nullptr, x}}, {}, {Span(), "h.0"});
  bench.ops.AddOp(ir::OpKind::kRelu, {{nullptr, x}}, {}, {Span(), "h"}, "own");
  bench.ops.AddConstant(ir::DType::kF32, 2, {Span(), "h"});
  EXPECT_EQ(bench.OpsText(),
            "relu(x): f32[8, 6]\nh.0.relu(x): f32[8, 6]\nh.0.relu_1(x): f32[8, 6]\nh.own(x): f32[8, 6]\n"
            "h.constant(): f32[]");
}

TEST(OpWriterTest, OtherNames) {
  TestBench bench(LetText("1"));
  const ir::OpId x = bench.DefineTensor("x", kMatrix);
  const auto drop = [&](ir::OpId input, ir::Attributes attributes) {
    attributes.Set(ir::attribute::kRate, 0.5);
    return bench.ops.AddOp(ir::OpKind::kDropout, {{nullptr, input}}, std::move(attributes), {Span(), "y_z"})
        .as_tensor();
  };
  const ir::OpId first = drop(x, {});
  const ir::OpId second = drop(first, {{ir::attribute::kKey, "same"}});
  const ir::OpId third = drop(second, {});
  bench.ops.Rename({{first, "y.dropout"}, {second, "z.dropout"}});
  EXPECT_EQ(bench.OpsText(),
            "y.dropout(x): f32[8, 6]\nz.dropout(y.dropout): f32[8, 6]\ny_z.dropout_2(z.dropout): f32[8, 6]");
  const auto key = [&](ir::OpId op) { return bench.ops.graph().op(op).attributes.Get(ir::attribute::kKey); };
  EXPECT_EQ(key(first), "y.dropout");
  EXPECT_EQ(key(second), "same");
  EXPECT_EQ(key(third), "y_z.dropout_2");
  bench.ops.Rename({{third, "z.dropout"}});
  EXPECT_EQ(bench.ops.graph().op(third).name, "z.dropout_1");
  EXPECT_EQ(bench.ops.graph().op(drop(x, {})).name, "y_z.dropout") << "the names are free again";
}

TEST(OpWriterTest, AMistakeHasALabelOnEachArgument) {
  TestBench bench(LetText("matmul(x, x)"));
  const ir::OpId x = bench.DefineTensor("x", kMatrix);
  const dsl::syntax::Call& call = bench.call().call;
  const Value result =
      bench.ops.AddOp(ir::OpKind::kMatmul, {{&*call.arguments[0].value, x}, {&*call.arguments[1].value, x}}, {},
                      {bench.expression().span, ""});
  EXPECT_EQ(bench.TextOf(result), "E0401: inner sizes 6 and 8 of a matrix product differ: 8x6 by 8x6");
  EXPECT_EQ(bench.OpsText(), "");
  EXPECT_EQ(bench.LabelsText(), "`x` is f32[8, 6], has 8 in dimension 0\n`x` is f32[8, 6], has 6 in dimension 1");
}

TEST(OpWriterTest, HelpNamesWhatStandsInTheCall) {
  TestBench bench(LetText("cross_entropy(x, -x)"));
  const ir::OpId x = bench.DefineTensor("x", kMatrix);
  const ir::OpId label = bench.DefineTensor("target", {ir::DType::kF32, {8}});
  const dsl::syntax::Call& call = bench.call().call;
  bench.ops.AddOp(ir::OpKind::kCrossEntropy, {{&*call.arguments[0].value, x}, {&*call.arguments[1].value, label}}, {},
                  {bench.expression().span, ""});
  ASSERT_EQ(bench.diagnostics().items().size(), 1u);
  EXPECT_EQ(bench.diagnostics().items()[0].help, std::vector<std::string>{"cast(-x, i32)"});
}

TEST(OpWriterTest, TheLastOperationIsWhatWasWrittenSinceItBegan) {
  TestBench bench(LetText("1"));
  const ir::OpId x = bench.DefineTensor("x", kMatrix);
  EXPECT_FALSE(bench.ops.last_operation().has_value());
  const int first = bench.ops.size();
  bench.ops.AddOp(ir::OpKind::kRelu, {{nullptr, x}}, {}, {Span(), ""});
  bench.ops.AddOp(ir::OpKind::kTanh, {{nullptr, x}}, {}, {Span(), ""});
  bench.ops.EndOperation(Span(), "f", first);
  EXPECT_EQ(bench.ops.last_operation()->callee, "f");
  EXPECT_EQ(bench.ops.last_operation()->first, first);
  EXPECT_EQ(bench.ops.last_operation()->end, first + 2);
  bench.ops.ForgetOperation();
  EXPECT_FALSE(bench.ops.last_operation().has_value());
}

TEST(OpWriterTest, PlacesFollowTheOpsThatReplaceOthers) {
  TestBench bench(LetText("1"), {{"world", 2}});
  const ir::OpId own = bench.ops.AddRankValue(*PerRank({Value{int64_t{3}}, Value{int64_t{4}}}), {Span(), ""});
  const ir::OpId kept = bench.ops.AddRankValue(*PerRank({Value{int64_t{5}}, Value{int64_t{6}}}), {Span(), ""});
  EXPECT_EQ(bench.ops.rank_places().count(own), 1u);
  ir::BatchedOp batched;
  batched.value = ir::OpId(7);
  bench.ops.MoveToBatched({{own, batched}});
  EXPECT_EQ(bench.ops.rank_places().count(own), 0u);
  EXPECT_EQ(bench.ops.rank_places().count(ir::OpId(7)), 1u);
  EXPECT_EQ(bench.ops.rank_places().count(kept), 1u);
}

}  // namespace
}  // namespace cleave::frontend
