// What ranks send each other directly: x is parts one after another, each for one rank or for nobody, and the result is
// the parts that the rank gets, zeros where they come from nobody. Between two ranks the i-th part that one sends is
// the i-th that the other receives. A rank may send to itself.

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"
#include "ir/ops/communicating.h"
#include "ir/ops/lift.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

// One direction of the exchange: parts of these sizes, and for each rank and part the rank at the other end.
struct Side {
  const std::vector<int64_t>& sizes;
  const std::vector<int64_t>& peers;

  int64_t ranks() const { return static_cast<int64_t>(peers.size() / sizes.size()); }
};

Side SendsOf(const Attributes& attributes) {
  return {attributes.GetInts("send_sizes"), attributes.GetInts("send_ranks")};
}

Side ReceivesOf(const Attributes& attributes) {
  return {attributes.GetInts("receive_sizes"), attributes.GetInts("receive_ranks")};
}

// Sizes positive, and a row of the table for each rank.
std::optional<OpError> CheckSide(const Side& side, const std::string& verb) {
  for (int64_t size : side.sizes) {
    if (size >= 1) continue;
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("a part of ", Plural(size, "element"), " to ", verb),
                   .about = {}};
  }
  const int64_t parts = static_cast<int64_t>(side.sizes.size());
  if (parts > 0 && !side.peers.empty() && side.peers.size() % side.sizes.size() == 0) return std::nullopt;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat(Plural(static_cast<int64_t>(side.peers.size()), "rank"), " for ",
                                         Plural(parts, "part"), " to ", verb),
                 .about = {},
                 .notes = {"each rank names one rank, or -1, for each part"}};
}

std::optional<OpError> CheckPeers(const Side& side, int64_t ranks, const std::string& text) {
  for (size_t i = 0; i < side.peers.size(); ++i) {
    const int64_t peer = side.peers[i];
    if (peer >= -1 && peer < ranks) continue;
    return OpError{.code = Code::kE0709,
                   .message = absl::StrCat("rank ", i / side.sizes.size(), " ", text, " rank ", peer, " of ",
                                           Plural(ranks, "rank")),
                   .about = {},
                   .notes = {absl::StrCat("ranks are 0 to ", ranks - 1)}};
  }
  return std::nullopt;
}

// (sender, receiver) -> the sizes of the parts that pass between them, in order.
using Traffic = std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>>;

Traffic TrafficOf(const Side& side, bool sends) {
  Traffic traffic;
  for (size_t i = 0; i < side.peers.size(); ++i) {
    const int64_t rank = static_cast<int64_t>(i / side.sizes.size());
    const int64_t peer = side.peers[i];
    if (peer < 0) continue;
    traffic[sends ? std::pair(rank, peer) : std::pair(peer, rank)].push_back(side.sizes[i % side.sizes.size()]);
  }
  return traffic;
}

// "nothing", "6 elements", "parts of 6, 2 elements".
std::string PartsText(const std::vector<int64_t>& sizes) {
  if (sizes.empty()) return "nothing";
  if (sizes.size() == 1) return Plural(sizes[0], "element");
  return absl::StrCat("parts of ", absl::StrJoin(sizes, ", "), " elements");
}

std::optional<OpError> CheckTraffic(const Traffic& sent, const Traffic& received) {
  Traffic all = sent;
  all.insert(received.begin(), received.end());
  for (const auto& [ends, sizes] : all) {
    const auto of = [&ends = ends](const Traffic& traffic) {
      const auto found = traffic.find(ends);
      return found == traffic.end() ? std::vector<int64_t>() : found->second;
    };
    if (of(sent) == of(received)) continue;
    const auto [from, to] = ends;
    return OpError{
        .code = Code::kE0704,
        .message = absl::StrCat("rank ", from, " sends ", PartsText(of(sent)), " to rank ", to, ", and rank ", to,
                                " receives ", PartsText(of(received)), " from rank ", from),
        .about = {},
        .notes = {"one of them would wait for ever, or take one part for another"}};
  }
  return std::nullopt;
}

int64_t Total(const std::vector<int64_t>& sizes) {
  int64_t total = 0;
  for (int64_t size : sizes) total = std::min(total + std::min(size, kMaxElements), kMaxElements + 1);
  return total;
}

InferResult InferNeighborExchange(Types inputs, const Attributes& attributes) {
  if (auto error = CheckWord(attributes, "primitive", {"send_recv", "neighbor_exchange", "neighbor_exchange_v2"})) {
    return *error;
  }
  const Side sends = SendsOf(attributes);
  const Side receives = ReceivesOf(attributes);
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
  if (auto error = CheckPeers(sends, sends.ranks(), "sends to")) return *error;
  if (auto error = CheckPeers(receives, sends.ranks(), "receives from")) return *error;
  if (auto error = CheckTraffic(TrafficOf(sends, true), TrafficOf(receives, false))) return *error;
  return TensorType{inputs[0].dtype, {Total(receives.sizes)}};
}

// Every part goes back; what was sent to nobody gets zero.
Gradients NeighborExchangeGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add("neighbor_exchange", {dy},
                      {{"primitive", op.attributes.GetString("primitive")},
                       {"send_sizes", op.attributes.GetInts("receive_sizes")},
                       {"receive_sizes", op.attributes.GetInts("send_sizes")},
                       {"send_ranks", op.attributes.GetInts("receive_ranks")},
                       {"receive_ranks", op.attributes.GetInts("send_ranks")}},
                      GradientName(op, "x"))};
}

}  // namespace

OpDefinition DefineNeighborExchange() {
  return OpDefinition{.name = "neighbor_exchange",
                      .op_class = OpClass::kMovement,
                      .rank_use = RankUse::kOthers,
                      .callable = false,
                      .signature = {{.name = "x"},
                                    {.name = "primitive", .kind = ArgumentKind::kString},
                                    {.name = "send_sizes", .kind = ArgumentKind::kInts},
                                    {.name = "receive_sizes", .kind = ArgumentKind::kInts},
                                    {.name = "send_ranks", .kind = ArgumentKind::kInts},
                                    {.name = "receive_ranks", .kind = ArgumentKind::kInts}},
                      .summary = "parts of x to other ranks, and what they send",
                      .infer = InferNeighborExchange,
                      .rule = WholeRule,
                      .gradient = NeighborExchangeGradients,
                      .flops = FlopsPerElement<0>,
                      // Its sizes are those of one message each.
                      .batch = Unrolled};
}

}  // namespace cleave
