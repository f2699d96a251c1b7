// Compares every batched form with the op on each element separately: values, gradients, maps inside maps.
#include "ir/transforms/vectorize/vectorize.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/samples.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/proof/interpret/interpret_ranks.h"
#include "ir/testing/optimizers.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

constexpr uint64_t kSeed = 5;
constexpr int kRounds = 3;
constexpr int64_t kStep = 1;

// Which inputs are mapped.
using Mask = std::vector<bool>;

std::vector<Mask> MasksOf(size_t inputs) {
  std::vector<Mask> masks;
  for (size_t bits = 1; bits < (size_t{1} << inputs); ++bits) {
    Mask& mask = masks.emplace_back();
    for (size_t i = 0; i < inputs; ++i) mask.push_back((bits >> i & 1) != 0);
  }
  return masks;
}

Shape Before(int64_t size, Shape shape) {
  shape.insert(shape.begin(), size);
  return shape;
}

// The tensor that holds `elements` one after another.
Tensor Stacked(const std::vector<Tensor>& elements) {
  Tensor stacked{.shape = Before(static_cast<int64_t>(elements.size()), elements.front().shape), .values = {}};
  for (const Tensor& element : elements) {
    stacked.values.insert(stacked.values.end(), element.values.begin(), element.values.end());
  }
  return stacked;
}

Tensor ElementOf(const Tensor& whole, int64_t index) {
  Tensor element = Zeros(Shape(whole.shape.begin() + 1, whole.shape.end()));
  const int64_t count = static_cast<int64_t>(element.values.size());
  std::copy_n(whole.values.begin() + index * count, count, element.values.begin());
  return element;
}

// The tensor of input `i`, or `size` of them, each with the values in another order.
Tensor Drawn(const Tensor& value, bool mapped, int64_t size, Random& random) {
  if (!mapped) return value;
  std::vector<Tensor> elements(static_cast<size_t>(size), value);
  for (Tensor& element : elements) std::shuffle(element.values.begin(), element.values.end(), random);
  return Stacked(elements);
}

OpId AddSource(GraphBuilder& builder, DType dtype, const Shape& shape, const std::string& name) {
  if (dtype == DType::kF32) {
    return builder.Add(OpKind::kParameter, {},
                       {{attribute::kShape, shape},
                        {attribute::kInit, "constant"},
                        {attribute::kFirst, 0.0},
                        {attribute::kSecond, 0.0}},
                       name);
  }
  return builder.Add(OpKind::kInput, {},
                     {{attribute::kDType, dtype}, {attribute::kShape, shape}, {attribute::kData, name}}, name);
}

using Body = std::function<OpId(GraphBuilder& builder, const std::vector<OpId>& inputs)>;

// vmap(body)(inputs), mapped where `mask` says so.
OpId AddMapped(GraphBuilder& builder, const std::vector<OpId>& inputs, const Mask& mask, int64_t size,
               const Body& body) {
  const OpId first(static_cast<int64_t>(builder.graph().ops.size()));
  std::vector<MappedInput> mapped;
  std::vector<OpId> elements = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!mask[i]) continue;
    const TensorType type = builder.type(inputs[i]);
    elements[i] = builder.Add(OpKind::kInput, {},
                              {{attribute::kDType, type.dtype},
                               {attribute::kShape, Shape(type.shape.begin() + 1, type.shape.end())},
                               {attribute::kData, "element"}},
                              "element");
    mapped.push_back({.element = elements[i], .whole = inputs[i]});
  }
  const OpId value = body(builder, elements);
  const std::vector<Op> ops = builder.RemoveFrom(first);
  const Vectorized result = Vectorize(builder, ops, mapped, size);
  EXPECT_TRUE(result.at(value).mapped);
  return result.at(value).value;
}

Body OpBody(const Sample& sample) {
  return [&sample](GraphBuilder& builder, const std::vector<OpId>& inputs) {
    return builder.Add(sample.op->kind, inputs, sample.attributes, "op");
  };
}

void ExpectNear(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape, expected.shape);
  for (size_t i = 0; i < actual.values.size(); ++i) {
    ASSERT_NEAR(actual.values[i], expected.values[i], 1e-9 * (1 + std::abs(expected.values[i]))) << "element " << i;
  }
}

// Whether the op computes what one rank of several computes. The samples have no values for it; tests of manual models
// cover it.
bool Communicates(OpKind kind) {
  static const std::set<OpKind> kinds = {OpKind::kAllGather, OpKind::kAllReduce,        OpKind::kAllToAll,
                                         OpKind::kBroadcast, OpKind::kNeighborExchange, OpKind::kRankPad,
                                         OpKind::kRankSlice, OpKind::kRankValue,        OpKind::kReduceScatter};
  return kinds.count(kind) > 0;
}

// Whether each element draws numbers of its own.
bool Draws(const Sample& sample) {
  if (sample.op->kind == OpKind::kDropout) return sample.attributes.Get(attribute::kRate) > 0;
  if (sample.op->kind == OpKind::kNormal) return sample.attributes.Get(attribute::kDeviation) > 0;
  return sample.op->kind == OpKind::kUniform &&
         sample.attributes.Get(attribute::kLow) < sample.attributes.Get(attribute::kHigh);
}

// Calls `check` with samples of every kind that the table decides on.
void ForEachSample(const std::function<void(const Sample&, Random&)>& check) {
  Random random(kSeed);
  for (int round = 0; round < kRounds; ++round) {
    for (const OpDefinition* op : AllOps()) {
      if (op->batch == nullptr || Communicates(op->kind)) continue;
      for (const Sample& sample : SamplesOf(op->kind, random)) {
        if (Draws(sample)) continue;
        SCOPED_TRACE(absl::StrCat("seed ", kSeed, ", round ", round, ": ", sample.Text()));
        check(sample, random);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

std::string MaskText(const Mask& mask) {
  std::string text = "mapped:";
  for (bool mapped : mask) absl::StrAppend(&text, mapped ? " yes" : " no");
  return text;
}

TEST(VectorizeTest, EveryOpThatAModelCanCallHasAForm) {
  for (const OpDefinition* op : AllOps()) {
    if (op->callable && op->op_class != OpClass::kSource) {
      EXPECT_NE(op->batch, nullptr) << op->kind;
    }
  }
}

TEST(VectorizeTest, ValuesAreThoseOfEachElement) {
  std::set<OpKind> batched;
  ForEachSample([&](const Sample& sample, Random& random) {
    for (const Mask& mask : MasksOf(sample.types.size())) {
      SCOPED_TRACE(MaskText(mask));
      const int64_t size = RandomInt(random, 1, 3);
      GraphBuilder builder;
      std::vector<OpId> sources;
      SourceValues values;
      for (size_t i = 0; i < mask.size(); ++i) {
        const Tensor value = Drawn(sample.inputs[i], mask[i], size, random);
        sources.push_back(AddSource(builder, sample.types[i].dtype, value.shape, absl::StrCat("x", i)));
        values[sources.back()] = value;
      }
      const OpId made = AddMapped(builder, sources, mask, size, OpBody(sample));
      ASSERT_TRUE(VerifyGraph(builder.graph()).empty()) << VerifyGraph(builder.graph())[0];
      const Tensor actual = InterpretGraph(builder.graph(), values, kStep)[made];
      ASSERT_EQ(actual.shape, Before(size, sample.output.shape));
      for (int64_t e = 0; e < size; ++e) {
        std::vector<Tensor> inputs;
        for (size_t i = 0; i < mask.size(); ++i) {
          inputs.push_back(mask[i] ? ElementOf(values[sources[i]], e) : values[sources[i]]);
        }
        ExpectNear(ElementOf(actual, e), EvaluateWhole(sample, inputs));
        if (testing::Test::HasFatalFailure()) return;
      }
      batched.insert(sample.op->kind);
    }
  });
  for (const OpDefinition* op : AllOps()) {
    EXPECT_EQ(batched.count(op->kind) > 0, op->batch != nullptr && !Communicates(op->kind)) << op->kind;
  }
}

TEST(VectorizeTest, MoreElementsNeedNoMoreOps) {
  ForEachSample([&](const Sample& sample, Random&) {
    for (const Mask& mask : MasksOf(sample.types.size())) {
      SCOPED_TRACE(MaskText(mask));
      std::set<size_t> counts;
      for (const int64_t size : {2, 100}) {
        GraphBuilder builder;
        std::vector<OpId> sources;
        for (size_t i = 0; i < mask.size(); ++i) {
          const Shape& shape = sample.types[i].shape;
          sources.push_back(
              AddSource(builder, sample.types[i].dtype, mask[i] ? Before(size, shape) : shape, absl::StrCat("x", i)));
        }
        AddMapped(builder, sources, mask, size, OpBody(sample));
        counts.insert(builder.graph().ops.size());
      }
      ASSERT_EQ(counts.size(), 1u);
    }
  });
}

// The gradients of sum(weight * value) by the sources, zeros where there are none.
std::vector<Tensor> GradientsOf(GraphBuilder builder, OpId value, const std::vector<OpId>& sources, SourceValues values,
                                const Tensor& weight) {
  const OpId factor = builder.Add(
      OpKind::kInput, {},
      {{attribute::kDType, DType::kF32}, {attribute::kShape, weight.shape}, {attribute::kData, "weight"}}, "weight");
  values[factor] = weight;
  const OpId product = builder.Add(OpKind::kMul, {value, factor}, {}, "product");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceSum, {product}, {}, "loss");
  const absl::StatusOr<Graph> graph = Differentiate(std::move(builder).Build(), {.rate = 1});
  EXPECT_TRUE(graph.ok()) << graph.status();
  std::vector<Tensor> gradients;
  for (OpId source : sources) gradients.push_back(Zeros(values[source].shape));
  if (!graph.ok()) return gradients;
  const IdVector<OpId, Tensor> all = InterpretGraph(*graph, values, kStep);
  // One step with a rate of 1 subtracts the gradient.
  for (const StateUpdate& update : graph->updates) {
    const auto source = std::find(sources.begin(), sources.end(), update.state);
    Tensor& gradient = gradients[static_cast<size_t>(source - sources.begin())];
    for (size_t j = 0; j < gradient.values.size(); ++j) {
      gradient.values[j] = all[update.state].values[j] - all[update.value].values[j];
    }
  }
  return gradients;
}

TEST(VectorizeTest, GradientsAreThoseOfEachElement) {
  constexpr int64_t kSize = 2;
  int checked = 0;
  ForEachSample([&](const Sample& sample, Random& random) {
    if (sample.op->gradient == nullptr || sample.output.dtype != DType::kF32) return;
    for (const Mask& mask : MasksOf(sample.types.size())) {
      SCOPED_TRACE(MaskText(mask));
      GraphBuilder builder;
      std::vector<OpId> sources;
      SourceValues values;
      for (size_t i = 0; i < mask.size(); ++i) {
        const Tensor value = Drawn(sample.inputs[i], mask[i], kSize, random);
        sources.push_back(AddSource(builder, sample.types[i].dtype, value.shape, absl::StrCat("x", i)));
        values[sources.back()] = value;
      }
      const OpId made = AddMapped(builder, sources, mask, kSize, OpBody(sample));
      const Tensor weight = RandomTensor(Before(kSize, sample.output.shape), -1, 1, random);
      const std::vector<Tensor> actual = GradientsOf(std::move(builder), made, sources, values, weight);

      std::vector<Tensor> expected;
      for (OpId source : sources) expected.push_back(Zeros(values[source].shape));
      for (int64_t e = 0; e < kSize; ++e) {
        GraphBuilder alone;
        SourceValues own;
        for (size_t i = 0; i < mask.size(); ++i) {
          const Tensor value = mask[i] ? ElementOf(values[sources[i]], e) : values[sources[i]];
          own[AddSource(alone, sample.types[i].dtype, value.shape, absl::StrCat("x", i))] = value;
        }
        const OpId value = OpBody(sample)(alone, sources);  // Sources have the same ids in both graphs.
        const std::vector<Tensor> part = GradientsOf(std::move(alone), value, sources, own, ElementOf(weight, e));
        for (size_t i = 0; i < mask.size(); ++i) {
          const size_t begin = mask[i] ? part[i].values.size() * static_cast<size_t>(e) : 0;
          for (size_t j = 0; j < part[i].values.size(); ++j) expected[i].values[begin + j] += part[i].values[j];
        }
      }
      for (size_t i = 0; i < mask.size(); ++i) {
        SCOPED_TRACE(absl::StrCat("gradient by input ", i));
        ExpectNear(actual[i], expected[i]);
        if (testing::Test::HasFatalFailure()) return;
      }
      ++checked;
    }
  });
  EXPECT_GT(checked, 300);
}

// vmap(vmap(op)), with any choice of mapped inputs at each level.
TEST(VectorizeTest, MapsInsideMaps) {
  constexpr int64_t kInner = 2;
  constexpr int64_t kOuter = 3;
  ForEachSample([&](const Sample& sample, Random& random) {
    const std::vector<Mask> masks = MasksOf(sample.types.size());
    if (masks.empty()) return;
    const auto any = [&] { return masks[static_cast<size_t>(RandomInt(random, 0, masks.size() - 1))]; };
    const Mask inner = any();
    const Mask outer = any();
    SCOPED_TRACE(absl::StrCat("inner ", MaskText(inner), ", outer ", MaskText(outer)));
    GraphBuilder builder;
    std::vector<OpId> sources;
    SourceValues values;
    for (size_t i = 0; i < inner.size(); ++i) {
      Tensor value = Drawn(sample.inputs[i], inner[i], kInner, random);
      if (outer[i]) {
        std::vector<Tensor> elements;
        for (int64_t m = 0; m < kOuter; ++m) {
          elements.push_back(Drawn(sample.inputs[i], inner[i], kInner, random));
          if (!inner[i]) std::shuffle(elements.back().values.begin(), elements.back().values.end(), random);
        }
        value = Stacked(elements);
      }
      sources.push_back(AddSource(builder, sample.types[i].dtype, value.shape, absl::StrCat("x", i)));
      values[sources.back()] = value;
    }
    const Body once = [&](GraphBuilder& body, const std::vector<OpId>& inputs) {
      return AddMapped(body, inputs, inner, kInner, OpBody(sample));
    };
    const OpId made = AddMapped(builder, sources, outer, kOuter, once);
    ASSERT_TRUE(VerifyGraph(builder.graph()).empty()) << VerifyGraph(builder.graph())[0];
    const Tensor actual = InterpretGraph(builder.graph(), values, kStep)[made];
    for (int64_t m = 0; m < kOuter; ++m) {
      for (int64_t n = 0; n < kInner; ++n) {
        std::vector<Tensor> inputs;
        for (size_t i = 0; i < inner.size(); ++i) {
          Tensor value = outer[i] ? ElementOf(values[sources[i]], m) : values[sources[i]];
          inputs.push_back(inner[i] ? ElementOf(value, n) : value);
        }
        ExpectNear(ElementOf(ElementOf(actual, m), n), EvaluateWhole(sample, inputs));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

// Each of two ranks sends parts of 2 and 3 elements, to the other and to itself, and gets 3 and 2.
TEST(VectorizeTest, MessagesHoldThePartsOfAllElements) {
  using Ints = std::vector<int64_t>;
  constexpr int64_t kSize = 3;
  const Attributes attributes = {{attribute::kPrimitive, "neighbor_exchange_v2"},
                                 {attribute::kSendSizes, Ints{2, 3}},
                                 {attribute::kReceiveSizes, Ints{3, 2}},
                                 {attribute::kSendRanks, Ints{1, 0, 0, 1}},
                                 {attribute::kReceiveRanks, Ints{0, 1, 1, 0}}};
  const Body exchange = [&](GraphBuilder& body, const std::vector<OpId>& inputs) {
    return body.Add(OpKind::kNeighborExchange, inputs, attributes, "exchange");
  };
  Random random(kSeed);
  std::vector<Tensor> wholes;
  for (int rank = 0; rank < 2; ++rank) wholes.push_back(RandomTensor({kSize, 5}, -1, 1, random));
  GraphBuilder mapped;
  mapped.mutable_graph().rank_axes = {{"world", 2}};
  const OpId x = AddSource(mapped, DType::kF32, {kSize, 5}, "x");
  const OpId made = AddMapped(mapped, {x}, {true}, kSize, exchange);
  ASSERT_TRUE(VerifyGraph(mapped.graph()).empty()) << VerifyGraph(mapped.graph())[0];
  const std::vector<Tensor> actual = InterpretRanks(mapped.graph(), {{x, wholes}}, kStep)[made];
  GraphBuilder alone;
  alone.mutable_graph().rank_axes = {{"world", 2}};
  const OpId value = exchange(alone, {AddSource(alone, DType::kF32, {5}, "x")});
  for (int64_t e = 0; e < kSize; ++e) {
    const std::vector<Tensor> elements = {ElementOf(wholes[0], e), ElementOf(wholes[1], e)};
    const std::vector<Tensor> expected = InterpretRanks(alone.graph(), {{x, elements}}, kStep)[value];
    for (size_t rank = 0; rank < 2; ++rank) ExpectNear(ElementOf(actual[rank], e), expected[rank]);
  }
}

TEST(VectorizeTest, WhatDependsOnNoElementIsMadeOnce) {
  GraphBuilder builder;
  const OpId x = AddSource(builder, DType::kF32, {3, 4}, "x");
  const OpId w = AddSource(builder, DType::kF32, {4}, "w");
  AddMapped(builder, {x, w}, {true, false}, 3, [](GraphBuilder& body, const std::vector<OpId>& inputs) {
    const OpId shared = body.Add(OpKind::kExp, {inputs[1]}, {}, "shared");
    return body.Add(OpKind::kMul, {inputs[0], shared}, {}, "product");
  });
  const Graph& graph = builder.graph();
  EXPECT_EQ(graph.ops.size(), 4u);
  EXPECT_EQ(graph.op(*graph.Find("shared")).type.shape, (Shape{4}));
  EXPECT_EQ(graph.op(*graph.Find("product")).type.shape, (Shape{3, 4}));
}

TEST(VectorizeTest, WeightsPerElementMakeABatchedProduct) {
  GraphBuilder builder;
  const OpId x = AddSource(builder, DType::kF32, {3, 5, 4}, "x");
  const OpId w = AddSource(builder, DType::kF32, {3, 2, 4}, "w");
  const OpId made =
      AddMapped(builder, {x, w}, {true, true}, 3, [](GraphBuilder& body, const std::vector<OpId>& inputs) {
        return body.Add(OpKind::kMatmul, inputs, {{attribute::kTransposeB, true}}, "y");
      });
  EXPECT_EQ(builder.graph().op(made).kind, OpKind::kMatmul);
  EXPECT_EQ(builder.graph().op(made).name, "y");
  EXPECT_EQ(builder.graph().op(made).type.shape, (Shape{3, 5, 2}));
}

}  // namespace
}  // namespace cleave::ir
