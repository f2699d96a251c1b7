#include "ir/proof/check/decoding.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/testing/sources.h"

namespace cleave::ir {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kBatch = 1, kTime = 12, kWidth = 8, kSymbols = 6;

// A model that is made op by op: embedded tokens, something between, and logits.
class LanguageModel {
 public:
  LanguageModel() {
    tokens_ = builder_.Add(OpKind::kInput, {},
                           {{attribute::kShape, Shape{kBatch, kTime}},
                            {attribute::kDType, DType::kI32},
                            {attribute::kData, std::string("tokens")}},
                           "tokens");
    x = Add(OpKind::kEmbedding, {tokens_, Parameter({kSymbols, kWidth})});
  }

  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes = {}) {
    return builder_.Add(kind, std::move(inputs), std::move(attributes), std::string(OpKindName(kind)));
  }
  OpId Parameter(Shape shape) { return AddParameter(builder_, "weight", std::move(shape)); }

  // Heads of a projection of `from`, rotated where asked for: [batch, heads, time, size].
  OpId Heads(OpId from, bool rotates = false) {
    const OpId projected = Add(OpKind::kMatmul, {from, Parameter({kWidth, kWidth})});
    const OpId split = Add(OpKind::kReshape, {projected}, {{attribute::kShape, Ints{kBatch, kTime, 2, kWidth / 2}}});
    const OpId heads = Add(OpKind::kTranspose, {split}, {{attribute::kPermutation, Ints{0, 2, 1, 3}}});
    return rotates ? Add(OpKind::kRope, {heads}) : heads;
  }

  OpId Attention(OpId from, bool masks, bool rotates = false) {
    const OpId q = Heads(from, rotates), k = Heads(from, rotates), v = Heads(from);
    OpId scores = Add(OpKind::kMatmul, {q, k}, {{attribute::kTransposeB, true}});
    if (masks) scores = Add(OpKind::kCausalMask, {scores});
    const OpId mixed = Add(OpKind::kMatmul, {Add(OpKind::kSoftmax, {scores}), v});
    const OpId back = Add(OpKind::kTranspose, {mixed}, {{attribute::kPermutation, Ints{0, 2, 1, 3}}});
    return Add(OpKind::kAdd, {from, Add(OpKind::kReshape, {back}, {{attribute::kShape, Ints{kBatch, kTime, kWidth}}})});
  }

  // The graph whose logits are a projection of `last`.
  Graph Finish(OpId last) {
    logits_ = Add(OpKind::kMatmul, {last, Parameter({kWidth, kSymbols})});
    return builder_.graph();
  }

  DecodeOptions Options(int64_t places = 1) const { return {.tokens = tokens_, .logits = logits_, .places = places}; }

  OpId x;

 private:
  GraphBuilder builder_;
  OpId tokens_, logits_;
};

// Checks that the model generates, with steps of one place and of several.
void ExpectRight(const Graph& graph, const LanguageModel& model) {
  for (const int64_t places : {1, 2, 3}) {
    const auto checked = CheckDecoding(graph, model.Options(places));
    ASSERT_TRUE(checked.ok()) << checked.status() << " with " << places << " places";
    EXPECT_FALSE(checked->has_value()) << graph.op((*checked)->op).name << " " << (*checked)->why;
  }
}

// The names of what the step remembers.
std::vector<std::string> Caches(const Graph& graph, const LanguageModel& model) {
  const auto made = MakeDecoding(graph, model.Options());
  std::vector<std::string> names;
  if (const auto* decoding = std::get_if<Decoding>(&made)) {
    for (const StateUpdate& update : decoding->graph.updates) names.push_back(decoding->graph.op(update.state).name);
  }
  return names;
}

TEST(DecodingTest, TransformerRemembersKeysAndValues) {
  LanguageModel model;
  const OpId position = model.Add(OpKind::kAdd, {model.x, model.Parameter({kTime, kWidth})});
  const OpId first = model.Attention(position, /*masks=*/true);
  const Graph graph = model.Finish(model.Attention(first, /*masks=*/true, /*rotates=*/true));
  ExpectRight(graph, model);
  // Values as heads, and keys as they are multiplied: behind their rotation.
  EXPECT_EQ(Caches(graph, model),
            (std::vector<std::string>{"transpose_1.cache", "transpose_2.cache", "rope_1.cache", "transpose_6.cache"}));
}

// Keys that are equal for all tokens do not tell by their values that later ones are not there yet.
TEST(DecodingTest, KeysMayBeTheSameForAllTokens) {
  LanguageModel model;
  const OpId zero = model.Add(OpKind::kConstant, {}, {{attribute::kValue, 0.0}});
  const OpId same = model.Add(OpKind::kAdd, {model.Add(OpKind::kMul, {model.x, zero}), model.Parameter({kWidth})});
  const Graph graph = model.Finish(model.Attention(same, /*masks=*/true));
  ExpectRight(graph, model);
}

TEST(DecodingTest, TokenByTokenNothingIsRemembered) {
  LanguageModel model;
  const Graph graph = model.Finish(model.Add(OpKind::kGelu, {model.x}));
  ExpectRight(graph, model);
  EXPECT_TRUE(Caches(graph, model).empty());
}

// Fewer heads of keys than of queries: what is repeated is kept once, by however many ops it is repeated.
TEST(DecodingTest, KeepsTheSmallerValue) {
  LanguageModel model;
  const auto repeated = [&] {
    const OpId own = model.Add(OpKind::kMatmul, {model.x, model.Parameter({kWidth, kWidth / 2})});
    const OpId lifted =
        model.Add(OpKind::kReshape, {own}, {{attribute::kShape, Ints{kBatch, 1, 1, kTime, kWidth / 2}}});
    const OpId twice =
        model.Add(OpKind::kBroadcastTo, {lifted}, {{attribute::kShape, Ints{kBatch, 1, 2, kTime, kWidth / 2}}});
    return model.Add(OpKind::kReshape, {twice}, {{attribute::kShape, Ints{kBatch, 2, kTime, kWidth / 2}}});
  };
  const OpId scores =
      model.Add(OpKind::kCausalMask,
                {model.Add(OpKind::kMatmul, {model.Heads(model.x), repeated()}, {{attribute::kTransposeB, true}})},
                {{attribute::kWindow, 5}});
  const OpId mixed = model.Add(OpKind::kMatmul, {model.Add(OpKind::kSoftmax, {scores}), repeated()});
  const OpId back = model.Add(OpKind::kTranspose, {mixed}, {{attribute::kPermutation, Ints{0, 2, 1, 3}}});
  const OpId joined = model.Add(OpKind::kReshape, {back}, {{attribute::kShape, Ints{kBatch, kTime, kWidth}}});
  const Graph graph = model.Finish(joined);
  ExpectRight(graph, model);
  const auto made = MakeDecoding(graph, model.Options());
  ASSERT_TRUE(std::holds_alternative<Decoding>(made));
  const Graph& step = std::get<Decoding>(made).graph;
  ASSERT_EQ(step.updates.size(), 2u);
  for (const StateUpdate& update : step.updates) {
    EXPECT_EQ(step.op(update.state).type.elements(), kTime * kWidth / 2) << step.op(update.state).name;
  }
}

// What mixes places and looks back only is computed from all of them.
TEST(DecodingTest, OpsThatMixPlaces) {
  LanguageModel sums;
  const Graph sum = sums.Finish(sums.Add(OpKind::kCumsum, {sums.x}, {{attribute::kAxis, 1}}));
  ExpectRight(sum, sums);
  LanguageModel shifts;
  const OpId padded =
      shifts.Add(OpKind::kPad, {shifts.x}, {{attribute::kBefore, Ints{0, 1, 0}}, {attribute::kAfter, Ints{0, 0, 0}}});
  const OpId before = shifts.Add(OpKind::kSlice, {padded},
                                 {{attribute::kBegin, Ints{0, 0, 0}}, {attribute::kEnd, Ints{kBatch, kTime, kWidth}}});
  const Graph shift = shifts.Finish(shifts.Add(OpKind::kAdd, {shifts.x, before}));
  ExpectRight(shift, shifts);
}

TEST(DecodingTest, SamplesAndPlacesInOneDimension) {
  LanguageModel model;
  const OpId rows = model.Add(OpKind::kReshape, {model.x}, {{attribute::kShape, Ints{kBatch * kTime, kWidth}}});
  const OpId activated =
      model.Add(OpKind::kGelu, {model.Add(OpKind::kMatmul, {rows, model.Parameter({kWidth, kWidth})})});
  const OpId back = model.Add(OpKind::kReshape, {activated}, {{attribute::kShape, Ints{kBatch, kTime, kWidth}}});
  const Graph graph = model.Finish(model.Attention(back, /*masks=*/true));
  ExpectRight(graph, model);
}

// A model that looks ahead is refused, at the op through which later places come in.
TEST(DecodingTest, LookingAheadIsFound) {
  LanguageModel open;
  const Graph unmasked = open.Finish(open.Attention(open.x, /*masks=*/false));
  const auto attention = CheckDecoding(unmasked, open.Options());
  ASSERT_TRUE(attention.ok()) << attention.status();
  ASSERT_TRUE(attention->has_value());
  EXPECT_EQ(unmasked.op((*attention)->op).name, "matmul_3");  // Of queries and keys.
  EXPECT_TRUE(absl::StrContains((*attention)->why, "later places"));

  LanguageModel sums;
  const Graph reversed =
      sums.Finish(sums.Add(OpKind::kCumsum, {sums.x}, {{attribute::kAxis, 1}, {attribute::kReverse, true}}));
  const auto sum = CheckDecoding(reversed, sums.Options());
  ASSERT_TRUE(sum.ok()) << sum.status();
  ASSERT_TRUE(sum->has_value());
  EXPECT_EQ(reversed.op((*sum)->op).name, "cumsum");
}

TEST(DecodingTest, MeansOverPlacesLookAhead) {
  LanguageModel model;
  const OpId mean =
      model.Add(OpKind::kReduceMean, {model.x}, {{attribute::kAxes, Ints{1}}, {attribute::kKeepDims, true}});
  const Graph graph = model.Finish(model.Add(OpKind::kAdd, {model.x, mean}));
  const auto checked = CheckDecoding(graph, model.Options());
  ASSERT_TRUE(checked.ok()) << checked.status();
  ASSERT_TRUE(checked->has_value());
  EXPECT_EQ(graph.op((*checked)->op).name, "add");
}

// A prompt is one document: what only divides rows into documents needs no prompt for it.
TEST(DecodingTest, RowsAreOneDocument) {
  LanguageModel model;
  const OpId documents = model.Add(OpKind::kInput, {},
                                   {{attribute::kShape, Shape{kBatch, kTime}},
                                    {attribute::kDType, DType::kI32},
                                    {attribute::kData, std::string("documents")}});
  const OpId first = model.Add(OpKind::kRun, {documents});
  const OpId end = model.Add(OpKind::kRun, {documents}, {{attribute::kReverse, true}});
  const OpId scores =
      model.Add(OpKind::kMatmul, {model.Heads(model.x), model.Heads(model.x)}, {{attribute::kTransposeB, true}});
  const OpId seen = model.Add(OpKind::kRangeMask, {model.Add(OpKind::kCausalMask, {scores}), first, end});
  const OpId mixed = model.Add(OpKind::kMatmul, {model.Add(OpKind::kSoftmax, {seen}), model.Heads(model.x)});
  const OpId back = model.Add(OpKind::kTranspose, {mixed}, {{attribute::kPermutation, Ints{0, 2, 1, 3}}});
  const OpId joined = model.Add(OpKind::kReshape, {back}, {{attribute::kShape, Ints{kBatch, kTime, kWidth}}});
  // Places within documents, as those of a table.
  const OpId place = model.Add(OpKind::kGather, {model.Parameter({kTime, kWidth}), first});
  Graph graph = model.Finish(model.Add(OpKind::kAdd, {joined, place}));
  ASSERT_TRUE(std::holds_alternative<DecodeProblem>(MakeDecoding(graph, model.Options())));
  graph.looks = {{.kind = LookKind::kOutput, .value = model.Options().logits}};
  const Graph one = OfOneDocument(graph);
  ExpectRight(one, model);
  // Numbers that count for something else are data.
  const OpId other = model.Add(OpKind::kCast, {documents}, {{attribute::kDType, DType::kF32}});
  Graph more = model.Finish(model.Add(
      OpKind::kAdd, {joined, model.Add(OpKind::kReshape, {other}, {{attribute::kShape, Ints{kBatch, kTime, 1}}})}));
  more.looks = {{.kind = LookKind::kOutput, .value = model.Options().logits}};
  EXPECT_TRUE(std::holds_alternative<DecodeProblem>(MakeDecoding(OfOneDocument(more), model.Options())));
}

TEST(DecodingTest, OtherInputsAreRefused) {
  LanguageModel model;
  const OpId other =
      model.Add(OpKind::kInput, {},
                {{attribute::kShape, Shape{kBatch, kTime, kWidth}}, {attribute::kData, std::string("other")}});
  const Graph graph = model.Finish(model.Add(OpKind::kAdd, {model.x, other}));
  const auto made = MakeDecoding(graph, model.Options());
  ASSERT_TRUE(std::holds_alternative<DecodeProblem>(made));
  EXPECT_EQ(std::get<DecodeProblem>(made).op, other);
}

// An input that is read once is there for all places.
TEST(DecodingTest, WhatIsReadOnceIsGiven) {
  LanguageModel model;
  const OpId table = model.Add(OpKind::kInput, {},
                               {{attribute::kShape, Shape{kTime, kWidth}},
                                {attribute::kData, std::string("table")},
                                {attribute::kFile, std::string("table.npy")}});
  const Graph graph = model.Finish(model.Attention(model.Add(OpKind::kAdd, {model.x, table}), /*masks=*/true));
  ExpectRight(graph, model);
}

// Experts that take the first tokens that choose them, and as many as there are: others pass by. Which find room is
// known from the tokens before.
TEST(DecodingTest, ARunningCountRoutes) {
  LanguageModel model;
  constexpr int64_t kExperts = 3, kRoom = 2;
  const OpId scores = model.Add(OpKind::kMatmul, {model.x, model.Parameter({kWidth, kExperts})});
  const OpId places = model.Add(OpKind::kGroupBy, {model.Add(OpKind::kArgmax, {scores})},
                                {{attribute::kGroups, kExperts}, {attribute::kCapacity, kRoom}});
  const OpId rows = model.Add(OpKind::kGather, {model.x, places}, {{attribute::kAxis, 1}, {attribute::kBatch, 1}});
  const OpId made = model.Add(OpKind::kEinsum, {rows, model.Parameter({kExperts, kWidth, kWidth})},
                              {{attribute::kEquation, "g e c w, e w h -> g e c h"}});
  const OpId back = model.Add(OpKind::kScatterAdd, {made, places},
                              {{attribute::kAxis, 1}, {attribute::kBatch, 1}, {attribute::kSize, kTime}});
  const Graph graph = model.Finish(model.Add(OpKind::kAdd, {model.x, back}));
  ExpectRight(graph, model);
}

}  // namespace
}  // namespace cleave::ir
