// Ring attention: its forms for the ops of attention, how pieces move, and how the results of pieces become one.
//
// A round gives the mean y of the values that its keys weigh, and l, the logarithm of the sum of the exponentials of
// their scores. Of two rounds with l1 and l2 the mean is y1 / (1 + exp(l2 - l1)) + y2 / (1 + exp(l1 - l2)), and the
// logarithm log(exp(l1) + exp(l2)). A query that saw none has a mean of zeros and l of minus infinity.

#include "ir/graph/ops/ring.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/attention.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/rules.h"

namespace cleave::ir {
namespace {

// The tensors of attention, in the order of `heads_inside`.
constexpr size_t kQuery = 0, kKey = 1, kValue = 2, kOutput = 3;

// Builds the form of one op.
class Ring {
 public:
  // `pieces`: by factor of the op's rule, of which one is cut in the form.
  Ring(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) : builder_(builder), op_(op) {
    const Rule rule = RuleOf(builder.graph(), op);
    for (size_t i = 0; i < rule.factors.size(); ++i) {
      if (rule.factors[i].kind == FactorKind::kInner) pieces_ = pieces[i];
    }
    CLEAVE_CHECK(pieces_ > 1) << "`" << op.name << "` in " << pieces_ << " pieces";
    attributes_ = op.attributes;
    attributes_.Erase(attribute::kRing);
    attributes_.Set(attribute::kPieces, pieces_);
    others_.assign(op.inputs.end() - (op.attributes.Get(attribute::kRanges) ? 2 : 0), op.inputs.end());
  }

  int64_t rounds() const { return pieces_; }
  OpId input(size_t i) const { return op_.inputs[i]; }

  // What lies at a piece moves to the next one.
  OpId Next(OpId x, size_t part, const std::string& name) {
    const bool inside = op_.attributes.Get(attribute::kHeadsInside)[part] != 0;
    const AttentionDimensions order(static_cast<size_t>(builder_.type(x).rank()), inside);
    return Add(OpKind::kTurn, {x},
               {{attribute::kAxis, static_cast<int64_t>(order.rows)},
                {attribute::kPieces, pieces_},
                {attribute::kTurn, pieces_ - 1}},
               name);
  }

  // An op of attention in a round, of these inputs and the ranges.
  OpId Round(OpKind kind, std::vector<OpId> inputs, int64_t round, const std::string& name) {
    inputs.insert(inputs.end(), others_.begin(), others_.end());
    Attributes attributes = attributes_;
    attributes.Set(attribute::kTurn, (pieces_ - round) % pieces_);
    return Add(kind, std::move(inputs), std::move(attributes), absl::StrCat(name, ".", round));
  }

  // Results of rounds are put together in f32.
  OpId Wide(OpId x) {
    return Is16Bit(builder_.type(x).dtype) ? Add(OpKind::kCast, {x}, {{attribute::kDType, DType::kF32}}, "f32") : x;
  }
  OpId InOwnType(OpId x) {
    const DType own = op_.type.dtype;
    return builder_.type(x).dtype == own ? x : Add(OpKind::kCast, {x}, {{attribute::kDType, own}}, "rounded");
  }

  // [b.., h, r] as a column for each row of the result.
  OpId Column(OpId logs) {
    Shape shape = builder_.type(logs).shape;
    if (op_.attributes.Get(attribute::kHeadsInside)[kOutput] != 0) {
      std::vector<int64_t> order;
      for (size_t d = 0; d < shape.size(); ++d) order.push_back(static_cast<int64_t>(d));
      std::swap(order.end()[-1], order.end()[-2]);
      std::swap(shape.end()[-1], shape.end()[-2]);
      logs = Add(OpKind::kTranspose, {logs}, {{attribute::kPermutation, std::move(order)}}, "by_row");
    }
    shape.push_back(1);
    return Add(OpKind::kReshape, {logs}, {{attribute::kShape, std::move(shape)}}, "column");
  }

  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes, const std::string& name) {
    return builder_.Add(kind, std::move(inputs), std::move(attributes), absl::StrCat(op_.name, ".", name));
  }

 private:
  GraphBuilder& builder_;
  const Op& op_;
  int64_t pieces_ = 1;
  Attributes attributes_;
  std::vector<OpId> others_;
};

// The sum over the rounds of what `part` gives for each of them, which stays with the queries.
template <typename Part>
OpId SumOfRounds(Ring& ring, Part part) {
  OpId sum = ring.Wide(part(0));
  for (int64_t round = 1; round < ring.rounds(); ++round)
    sum = ring.Add(OpKind::kAdd, {sum, ring.Wide(part(round))}, {}, "sum");
  return ring.InOwnType(sum);
}

// The same of what belongs to the keys, with which it goes round.
template <typename Part>
OpId SumThatGoesRound(Ring& ring, size_t of, Part part) {
  OpId sum = ring.Wide(part(0));
  for (int64_t round = 1; round < ring.rounds(); ++round) {
    const OpId moved = ring.Next(sum, of, "moved");
    sum = ring.Add(OpKind::kAdd, {moved, ring.Wide(part(round))}, {}, "sum");
  }
  return ring.Next(ring.InOwnType(sum), of, "home");
}

// The keys, or values, of each round.
class Turning {
 public:
  Turning(Ring& ring, OpId own, size_t part, const char* name) : ring_(ring), at_(own), part_(part), name_(name) {}

  // REQUIRES: is called for each round in turn.
  OpId At(int64_t round) {
    if (round > 0) at_ = ring_.Next(at_, part_, absl::StrCat(name_, ".", round));
    return at_;
  }

 private:
  Ring& ring_;
  OpId at_;
  size_t part_;
  const char* name_;
};

InferResult InferTurn(Types inputs, const Attributes& attributes) {
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const int64_t rows = inputs[0].shape[AxisOf(attributes, inputs[0].rank())];
  const int64_t pieces = attributes.Get(attribute::kPieces), turn = attributes.Get(attribute::kTurn);
  if (pieces >= 1 && rows % pieces == 0 && turn >= 0 && turn < pieces) return inputs[0];
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat(rows, " rows in ", pieces, " pieces cannot move by ", turn, " pieces")};
}

Rule TurnRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule;
  const size_t axis = AxisOf(attributes, output.rank());
  const int64_t pieces = attributes.Get(attribute::kPieces);
  for (size_t d = 0; d < output.shape.size(); ++d) {
    if (d != axis) {
      rule.output.push_back({AddFactor(rule, absl::StrCat("d", d), output.shape[d])});
      continue;
    }
    const int piece = AddFactor(rule, "p", pieces);
    rule.factors.back().fixed_size = true;
    rule.output.push_back({piece, AddFactor(rule, "r", output.shape[d] / pieces, FactorKind::kWhole)});
  }
  rule.inputs.assign(inputs.size(), rule.output);
  rule.linear = {{0}};
  return rule;
}

void EvaluateTurn(const Evaluation& evaluation) {
  const Shape& shape = evaluation.output.shape;
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(shape.size()));
  const int64_t step = Strides(shape)[axis], rows = shape[axis];
  const int64_t moved =
      rows / evaluation.attributes.Get(attribute::kPieces) * evaluation.attributes.Get(attribute::kTurn);
  for (int64_t i = 0; i < ElementCount(shape); ++i) {
    const int64_t at = i / step % rows;
    const int64_t from = i + ((at + moved) % rows - at) * step;
    evaluation.output.values[static_cast<size_t>(i)] = evaluation.inputs[0]->values[static_cast<size_t>(from)];
  }
}

std::vector<KernelCall> TurnCalls(const CallSite& site) {
  const int rank = site.output.rank();
  const int axis = static_cast<int>(AxisOf(site.attributes, rank));
  const int64_t turn = site.attributes.Get(attribute::kTurn), pieces = site.attributes.Get(attribute::kPieces);
  return {{"MovePieces",
           {Pointer{0}, site.Elements(0, 0, axis), site.Elements(0, axis, rank), pieces, turn, Pointer{kResult}}}};
}

InferResult InferMeanByLogs(Types inputs, const Attributes&) {
  for (const int i : {0, 1, 2, 3}) {
    if (auto error = CheckDType(inputs, i, DType::kF32, "x")) return *error;
  }
  return InferBroadcast(inputs, DType::kF32);
}

}  // namespace

int64_t RingPieces(const Attributes& attributes) {
  return attributes.Has(attribute::kPieces) ? attributes.Get(attribute::kPieces) : 0;
}

Argument RingArgument() { return {.name = "ring", .kind = ArgumentKind::kBool, .internal = true}; }
Argument PiecesArgument() { return {.name = "pieces", .kind = ArgumentKind::kInt, .internal = true}; }
Argument TurnArgument() { return {.name = "turn", .kind = ArgumentKind::kInt, .internal = true}; }

OpId DistributeAttention(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  Ring ring(builder, op, pieces);
  Turning keys(ring, ring.input(1), kKey, "k"), values(ring, ring.input(2), kValue, "v");
  OpId mean, logs;
  for (int64_t round = 0; round < ring.rounds(); ++round) {
    const OpId k = keys.At(round), v = values.At(round);
    const OpId own_logs = ring.Round(OpKind::kAttentionLogsumexp, {ring.input(0), k}, round, "logs");
    const OpId own = ring.Wide(ring.Round(OpKind::kAttention, {ring.input(0), k, v, own_logs}, round, "mean"));
    if (round == 0) {
      mean = own;
      logs = own_logs;
      continue;
    }
    mean = ring.Add(OpKind::kMeanByLogs, {mean, ring.Column(logs), own, ring.Column(own_logs)}, {}, "of_rounds");
    logs = ring.Add(OpKind::kLogAddExp, {logs, own_logs}, {}, "logs_of_rounds");
  }
  return ring.InOwnType(mean);
}

OpId DistributeLogsumexp(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  Ring ring(builder, op, pieces);
  Turning keys(ring, ring.input(1), kKey, "k");
  OpId logs;
  for (int64_t round = 0; round < ring.rounds(); ++round) {
    const OpId k = keys.At(round);
    const OpId own = ring.Round(OpKind::kAttentionLogsumexp, {ring.input(0), k}, round, "logs");
    logs = round == 0 ? own : ring.Add(OpKind::kLogAddExp, {logs, own}, {}, "logs_of_rounds");
  }
  return logs;
}

OpId DistributeQueryGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  Ring ring(builder, op, pieces);
  Turning keys(ring, ring.input(1), kKey, "k"), values(ring, ring.input(2), kValue, "v");
  return SumOfRounds(ring, [&](int64_t round) {
    const OpId k = keys.At(round), v = values.At(round);
    return ring.Round(op.kind, {ring.input(0), k, v, ring.input(3), ring.input(4), ring.input(5)}, round, "part");
  });
}

OpId DistributeKeyGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  Ring ring(builder, op, pieces);
  Turning keys(ring, ring.input(1), kKey, "k"), values(ring, ring.input(2), kValue, "v");
  return SumThatGoesRound(ring, kKey, [&](int64_t round) {
    const OpId k = keys.At(round), v = values.At(round);
    return ring.Round(op.kind, {ring.input(0), k, v, ring.input(3), ring.input(4), ring.input(5)}, round, "part");
  });
}

OpId DistributeValueGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  Ring ring(builder, op, pieces);
  Turning keys(ring, ring.input(1), kKey, "k");
  return SumThatGoesRound(ring, kValue, [&](int64_t round) {
    const OpId k = keys.At(round);
    return ring.Round(op.kind, {ring.input(0), k, ring.input(2), ring.input(3)}, round, "part");
  });
}

OpDefinition DefineTurn() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .callable = false,
                      .treatment = Treatment::kFollow,
                      .signature = {{.name = "x"},
                                    RequiredAttribute(attribute::kAxis),
                                    RequiredAttribute(attribute::kPieces),
                                    RequiredAttribute(attribute::kTurn)},
                      .summary = "of the `pieces` pieces along `axis`, piece (i + turn) mod pieces in place of piece i",
                      .infer = InferTurn,
                      .rule = TurnRule,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateTurn,
                      .calls = TurnCalls};
}

OpDefinition DefineLogAddExp() {
  const Scalar x = Variable("x"), y = Variable("y");
  const Scalar large = Maximum(x, y), small = Minimum(x, y);
  // Two that are equal may be minus infinity, whose difference is no number.
  const Scalar difference = Select(Equal(x, y), 0, small - large);
  OpDefinition definition = BinaryOp(large + LogOnePlus(Exp(difference)), "log(exp(x) + exp(y))");
  definition.callable = false;
  definition.gradient = nullptr;
  definition.batch = nullptr;
  return definition;
}

OpDefinition DefineMeanByLogs() {
  const Scalar x = Variable("x"), log_x = Variable("log_x"), y = Variable("y"), log_y = Variable("log_y");
  const Scalar difference = Select(Equal(log_x, log_y), 0, log_x - log_y);
  OpDefinition definition = ElementwiseOp(
      {.parameters = {"x", "log_x", "y", "log_y"}, .value = x / (1 + Exp(-difference)) + y / (1 + Exp(difference))},
      {{.name = "x"}, {.name = "log_x"}, {.name = "y"}, {.name = "log_y"}},
      "the mean of x and y with the weights exp(log_x) and exp(log_y), with broadcasting");
  definition.callable = false;
  definition.infer = InferMeanByLogs;
  definition.gradient = nullptr;
  return definition;
}

}  // namespace cleave::ir
