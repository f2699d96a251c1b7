#include "ir/transforms/pool_first/pool_first.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/text.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/sharding/pins/pins.h"
#include "ir/tensor/types/tensor.h"
#include "ir/testing/graphs.h"
#include "ir/testing/sources.h"

namespace cleave::ir {
namespace {

using ::testing::IsEmpty;

// A parameter of images, what is written into its constructor's calls, and a loss whose gradient differs everywhere.
class Pooled {
 public:
  Pooled() : images_(AddParameter(builder_, "images", {2, 3, 6, 6})), last_(images_) {}

  Pooled& Relu() { return Then(OpKind::kRelu, {last_}, {}); }
  Pooled& Add(const Shape& shape) { return Then(OpKind::kAdd, {last_, AddParameter(builder_, "b", shape)}, {}); }
  Pooled& AddTo(const Shape& shape) { return Then(OpKind::kAdd, {AddParameter(builder_, "b", shape), last_}, {}); }
  Pooled& MaxPool(int64_t kernel, int64_t stride, int64_t padding) {
    return Then(OpKind::kMaxPool, {last_},
                {{attribute::kKernel, std::vector<int64_t>{kernel, kernel}},
                 {attribute::kStride, std::vector<int64_t>{stride, stride}},
                 {attribute::kPadding, std::vector<int64_t>{padding, padding}}});
  }

  OpId last() const { return last_; }

  // Called once. `also`: another value that the loss depends on.
  Graph Build(std::optional<OpId> also = std::nullopt) {
    const auto add_up = [&](OpId value) {
      const OpId weight = AddInput(builder_, "weight", builder_.type(value).shape);
      const OpId product = builder_.Add(OpKind::kMul, {value, weight}, {}, "weighed");
      return builder_.Add(OpKind::kReduceSum, {product}, {{attribute::kAxes, std::vector<int64_t>{0, 1, 2, 3}}}, "sum");
    };
    OpId loss = add_up(last_);
    if (also.has_value()) loss = builder_.Add(OpKind::kAdd, {loss, add_up(*also)}, {}, "sum");
    builder_.mutable_graph().loss = loss;
    return std::move(builder_).Build();
  }

 private:
  Pooled& Then(OpKind kind, std::vector<OpId> inputs, Attributes attributes) {
    last_ = builder_.Add(kind, std::move(inputs), std::move(attributes), std::string(OpKindName(kind)));
    return *this;
  }

  GraphBuilder builder_;
  OpId images_;
  OpId last_;
};

// The ops between the sources and the loss, with the sizes of their planes.
std::string Order(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) {
    if (op.inputs.empty() || op.type.rank() != 4 || op.name.rfind("weighed", 0) == 0) continue;
    names.push_back(absl::StrCat(op.name, " ", op.type.shape[2]));
  }
  return absl::StrJoin(names, ", ");
}

// Small whole numbers, many of which are equal or not above 0.
SourceValues WholeNumbers(const Graph& graph) {
  SourceValues sources;
  int64_t next = 1;
  for (const Op& op : graph.ops) {
    if (!op.inputs.empty()) continue;
    Tensor& tensor = sources[op.id] = Zeros(op.type.shape);
    for (double& value : tensor.values) value = static_cast<double>((next = next * 75 % 65537) % 5 - 2);
  }
  return sources;
}

std::string TextOfMoved(Graph graph) { return Order(PoolFirst(std::move(graph), {})); }

// The loss and all new parameters of a step of both graphs.
void ExpectSameStep(const Graph& before, const Graph& after) {
  const Graph a = TrainingGraph(before, {}), b = TrainingGraph(after, {});
  ASSERT_THAT(VerifyGraph(b), IsEmpty());
  const auto values = InterpretGraph(a, WholeNumbers(a), 1);
  const auto moved = InterpretGraph(b, WholeNumbers(b), 1);
  EXPECT_EQ(values[*a.loss], moved[*b.loss]);
  ASSERT_EQ(a.updates.size(), b.updates.size());
  for (size_t i = 0; i < a.updates.size(); ++i) {
    EXPECT_EQ(a.op(a.updates[i].state).name, b.op(b.updates[i].state).name);
    EXPECT_EQ(values[a.updates[i].value], moved[b.updates[i].value]) << a.op(a.updates[i].state).name;
  }
}

TEST(PoolFirst, MovesBiasAndReluBehind) {
  const struct {
    Graph graph;
    std::string order;
  } cases[] = {
      {Pooled().Add({3, 1, 1}).Relu().MaxPool(2, 2, 0).Build(), "max_pool 3, add 3, relu 3"},
      {Pooled().AddTo({2, 3, 1, 1}).MaxPool(3, 2, 1).Build(), "max_pool 3, add 3"},
      {Pooled().Relu().MaxPool(3, 2, 1).Build(), "max_pool 3, relu 3"},
      {Pooled().Add({3, 1, 1}).MaxPool(2, 2, 0).Relu().MaxPool(2, 1, 0).Build(),
       "max_pool 3, max_pool_1 2, add 2, relu 2"},
      // A bias of each column is not the same everywhere that a kernel sees; a kernel that moves by 1 leaves as many.
      {Pooled().Add({3, 1, 6}).Relu().MaxPool(2, 2, 0).Build(), "add 6, max_pool 3, relu 3"},
      {Pooled().Relu().MaxPool(3, 1, 1).Build(), "relu 6, max_pool 6"},
  };
  for (const auto& [graph, order] : cases) {
    SCOPED_TRACE(GraphText(graph));
    const Graph moved = PoolFirst(graph, {});
    EXPECT_EQ(Order(moved), order);
    ASSERT_THAT(VerifyGraph(moved), IsEmpty());
    ExpectSameStep(graph, moved);
  }
}

TEST(PoolFirst, WhatIsReadElsewhereStays) {
  Pooled read_twice;
  const OpId relu = read_twice.Relu().last();
  EXPECT_EQ(TextOfMoved(read_twice.MaxPool(2, 2, 0).Build(relu)), "relu 6, max_pool 3");

  Graph looked_at = Pooled().Relu().MaxPool(2, 2, 0).Build();
  looked_at.looks = {{.value = *looked_at.Find("relu"), .name = "relu"}};
  EXPECT_EQ(TextOfMoved(looked_at), "relu 6, max_pool 3");
  looked_at.looks[0].value = *looked_at.Find("max_pool");
  EXPECT_EQ(TextOfMoved(looked_at), "max_pool 3, relu 3") << "what looks at the pooling sees the relu, the same values";
}

TEST(PoolFirst, WhatIsPinnedStays) {
  const Graph graph = Pooled().Add({3, 1, 1}).Relu().MaxPool(2, 2, 0).Build();
  const auto order = [&](const std::string& name) {
    return Order(PoolFirst(graph, {.stages = {{.op = *graph.Find(name), .stage = 1}}}));
  };
  EXPECT_EQ(order("max_pool"), "add 6, relu 6, max_pool 3");
  EXPECT_EQ(order("relu"), "add 6, relu 6, max_pool 3");
  EXPECT_EQ(order("add"), "add 6, max_pool 3, relu 3");
  EXPECT_EQ(Order(PoolFirst(graph, {.pins = {{.op = *graph.Find("relu"), .demand = ReplicatePin()}}})),
            "add 6, relu 6, max_pool 3");
}

}  // namespace
}  // namespace cleave::ir
