// Messages that ranks send each other directly: x has parts one after another, each for one rank or for none. The
// result has the parts that the rank receives, zeros where no rank sends. Between two ranks the i-th part that one
// sends is the i-th that the other receives. A rank may send to itself.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/manual/exchange.h"
#include "ir/graph/ops/communicating.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

ExchangeSide SendsOf(const Attributes& attributes) {
  return {.sizes = attributes.Get(attribute::kSendSizes), .partners = attributes.Get(attribute::kSendRanks)};
}

ExchangeSide ReceivesOf(const Attributes& attributes) {
  return {.sizes = attributes.Get(attribute::kReceiveSizes), .partners = attributes.Get(attribute::kReceiveRanks)};
}

// Checks that sizes are positive, and that the table has a row for each rank.
std::optional<OpError> CheckSide(const ExchangeSide& side, const std::string& verb) {
  for (int64_t size : side.sizes) {
    if (size >= 1) continue;
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("a part of ", Plural(size, "element"), " to ", verb),
                   .about = {}};
  }
  const int64_t parts = static_cast<int64_t>(side.sizes.size());
  if (parts > 0 && !side.partners.empty() && side.partners.size() % side.sizes.size() == 0) return std::nullopt;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat(Plural(static_cast<int64_t>(side.partners.size()), "rank"), " for ",
                                         Plural(parts, "part"), " to ", verb),
                 .about = {},
                 .notes = {"each rank names one rank, or -1, for each part"}};
}

std::optional<OpError> CheckPartners(const ExchangeSide& side, int64_t ranks, const std::string& text) {
  for (size_t i = 0; i < side.partners.size(); ++i) {
    const int64_t partner = side.partners[i];
    if (partner >= -1 && partner < ranks) continue;
    return OpError{.code = Code::kE0709,
                   .message = absl::StrCat("rank ", i / side.sizes.size(), " ", text, " rank ", partner, " of ",
                                           Plural(ranks, "rank")),
                   .about = {},
                   .notes = {absl::StrCat("ranks are 0 to ", ranks - 1)}};
  }
  return std::nullopt;
}

int64_t Total(const std::vector<int64_t>& sizes) {
  int64_t total = 0;
  for (int64_t size : sizes) total = std::min(total + std::min(size, kMaxElements), kMaxElements + 1);
  return total;
}

InferResult InferNeighborExchange(Types inputs, const Attributes& attributes) {
  if (auto error =
          CheckWord(attributes, attribute::kPrimitive, {"send_recv", "neighbor_exchange", "neighbor_exchange_v2"})) {
    return *error;
  }
  const ExchangeSide sends = SendsOf(attributes);
  const ExchangeSide receives = ReceivesOf(attributes);
  if (auto error = CheckSide(sends, "send")) return *error;
  if (auto error = CheckSide(receives, "receive")) return *error;
  if (sends.ranks() != receives.ranks()) {
    return OpError{.code = Code::kE0704,
                   .message = absl::StrCat(Plural(sends.ranks(), "rank"), " that send and ",
                                           Plural(receives.ranks(), "rank"), " that receive"),
                   .about = {}};
  }
  if (inputs[0].shape != Shape{Total(sends.sizes)}) {
    return OpError{
        .code = Code::kE0411,
        .message = absl::StrCat("parts of ", Plural(Total(sends.sizes), "element"), " of ", ShapeText(inputs[0].shape)),
        .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))}}};
  }
  if (auto error = CheckPartners(sends, sends.ranks(), "sends to")) return *error;
  if (auto error = CheckPartners(receives, sends.ranks(), "receives from")) return *error;
  if (const auto mismatch = FindMismatch(sends, receives)) {
    return OpError{.code = Code::kE0704,
                   .message = MismatchText(*mismatch, sends, receives),
                   .about = {},
                   .notes = {"one of them would wait for ever, or take one part for another"}};
  }
  return TensorType{inputs[0].dtype, {Total(receives.sizes)}};
}

// Every part goes back to its sender; parts that were sent to no rank get zero.
Gradients NeighborExchangeGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kNeighborExchange, {dy},
                      {{attribute::kPrimitive, op.attributes.Get(attribute::kPrimitive)},
                       {attribute::kSendSizes, op.attributes.Get(attribute::kReceiveSizes)},
                       {attribute::kReceiveSizes, op.attributes.Get(attribute::kSendSizes)},
                       {attribute::kSendRanks, op.attributes.Get(attribute::kReceiveRanks)},
                       {attribute::kReceiveRanks, op.attributes.Get(attribute::kSendRanks)}},
                      GradientName(op, "x"))};
}

// `sizes` for `elements` such messages in one.
std::vector<int64_t> Joined(std::vector<int64_t> sizes, int64_t elements) {
  for (int64_t& size : sizes) size *= elements;
  return sizes;
}

// Each message holds the parts of all elements, one after another, so there are as many messages as for one.
OpId BatchNeighborExchange(Lift& lift) {
  Attributes attributes = lift.op().attributes;
  const std::vector<int64_t> sends = attributes.Get(attribute::kSendSizes);
  const std::vector<int64_t> receives = attributes.Get(attribute::kReceiveSizes);
  attributes.Set(attribute::kSendSizes, Joined(sends, lift.size()));
  attributes.Set(attribute::kReceiveSizes, Joined(receives, lift.size()));
  const auto join = [&](const std::vector<OpId>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : lift.Step(OpKind::kConcat, parts, {{attribute::kAxis, axis}});
  };
  std::vector<OpId> messages;
  int64_t begin = 0;
  for (const int64_t size : sends) {
    const OpId parts =
        lift.Step(OpKind::kSlice, {lift.value(0)},
                  {{attribute::kBegin, Shape{0, begin}}, {attribute::kEnd, Shape{lift.size(), begin + size}}});
    messages.push_back(lift.Reshape(parts, {lift.size() * size}));
    begin += size;
  }
  const OpId received = lift.Main({join(messages, 0)}, attributes);
  std::vector<OpId> parts;
  begin = 0;
  for (const int64_t size : Joined(receives, lift.size())) {
    const OpId message = lift.Step(OpKind::kSlice, {received},
                                   {{attribute::kBegin, Shape{begin}}, {attribute::kEnd, Shape{begin + size}}});
    parts.push_back(lift.Reshape(message, {lift.size(), size / lift.size()}));
    begin += size;
  }
  return join(parts, 1);
}

}  // namespace

OpDefinition DefineNeighborExchange() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .rank_use = RankUse::kOthers,
                      .callable = false,
                      .signature = {{.name = "x"},
                                    RequiredAttribute(attribute::kPrimitive),
                                    RequiredAttribute(attribute::kSendSizes),
                                    RequiredAttribute(attribute::kReceiveSizes),
                                    RequiredAttribute(attribute::kSendRanks),
                                    RequiredAttribute(attribute::kReceiveRanks)},
                      .summary = "parts of x for other ranks; gives the parts that they send",
                      .infer = InferNeighborExchange,
                      .rule = WholeRule,
                      .gradient = NeighborExchangeGradients,
                      .flops = FlopsPerElement<0>,
                      .batch = BatchNeighborExchange};
}

}  // namespace cleave::ir
