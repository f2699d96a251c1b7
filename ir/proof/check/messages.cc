#include "ir/proof/check/messages.h"

#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cleave::ir {
namespace {

// For each sender and receiver the sizes of the parts, in order.
using PartsByPair = std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>>;

bool HasMessages(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kNeighborExchange:
    case CollectiveKind::kSendReceive:
    case CollectiveKind::kNeighborExchangeV2:
      return true;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kPermute:
      return false;
  }
  return false;
}

int64_t Sum(const std::vector<int64_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{0}); }

class MessageCheck {
 public:
  MessageCheck(const Program& program, const Collective& collective)
      : program_(program), collective_(collective), messages_(*collective.messages) {}

  std::vector<std::string> Run() && {
    if (!HasMessages(collective_.kind)) Find("is no exchange of messages");
    if (collective_.axes != program_.mesh.AxisIds()) Find("exchanges messages, but not between all ranks");
    if (collective_.transfers.size() != 1) {
      Find("exchanges messages of several tensors");
      return std::move(findings_);
    }
    CheckRoom("sends", collective_.transfers[0].input, messages_.send_sizes);
    CheckRoom("receives", collective_.transfers[0].output, messages_.receive_sizes);
    const TensorType& input = program_.value(collective_.transfers[0].input).type;
    const TensorType& output = program_.value(collective_.transfers[0].output).type;
    if (input.dtype != output.dtype) Find("receives elements of another type");
    if (IsTable("sends", messages_.send_sizes, messages_.send_ranks) &&
        IsTable("receives", messages_.receive_sizes, messages_.receive_ranks)) {
      ComparePairs();
    }
    return std::move(findings_);
  }

 private:
  void Find(const std::string& what) { findings_.push_back(what); }

  int64_t ranks() const { return program_.mesh.rank_count(); }

  void CheckRoom(const std::string& verb, ValueId id, const std::vector<int64_t>& sizes) {
    const Value& value = program_.value(id);
    if (value.type.rank() != 1 || value.layout != Layout::Replicated(1) || value.type.shape[0] != Sum(sizes)) {
      Find(absl::StrCat(verb, " ", Sum(sizes), " elements of `", value.name, "`, which is ", value.type.ToString()));
    }
  }

  bool IsTable(const std::string& verb, const std::vector<int64_t>& sizes, const std::vector<int64_t>& partners) {
    if (partners.size() != sizes.size() * static_cast<size_t>(ranks())) {
      Find(absl::StrCat(verb, " ", sizes.size(), " parts, with ", partners.size(), " partners on ", ranks(), " ranks"));
      return false;
    }
    for (int64_t partner : partners) {
      if (partner >= -1 && partner < ranks()) continue;
      Find(absl::StrCat("has rank ", partner, " as a partner, of ", ranks()));
      return false;
    }
    return true;
  }

  void ComparePairs() {
    PartsByPair sent, received;
    for (int64_t rank = 0; rank < ranks(); ++rank) {
      ForEachPart(rank, messages_.send_sizes, messages_.send_ranks, [&](int64_t receiver, int64_t size) {
        sent[{rank, receiver}].push_back(size);
      });
      ForEachPart(rank, messages_.receive_sizes, messages_.receive_ranks, [&](int64_t sender, int64_t size) {
        received[{sender, rank}].push_back(size);
      });
    }
    for (const auto& [pair, sizes] : sent) {
      if (received[pair] != sizes) FindPair(pair, sizes, received[pair]);
    }
    for (const auto& [pair, sizes] : received) {
      if (!sizes.empty() && sent.count(pair) == 0) FindPair(pair, {}, sizes);
    }
  }

  template <typename Visit>
  static void ForEachPart(int64_t rank, const std::vector<int64_t>& sizes, const std::vector<int64_t>& partners,
                          const Visit& visit) {
    for (size_t part = 0; part < sizes.size(); ++part) {
      const int64_t partner = partners[static_cast<size_t>(rank) * sizes.size() + part];
      if (partner >= 0) visit(partner, sizes[part]);
    }
  }

  void FindPair(const std::pair<int64_t, int64_t>& pair, const std::vector<int64_t>& sent,
                const std::vector<int64_t>& received) {
    Find(absl::StrCat("rank ", pair.first, " sends rank ", pair.second, " parts of (", absl::StrJoin(sent, ", "),
                      ") elements, which waits for (", absl::StrJoin(received, ", "), ")"));
  }

  const Program& program_;
  const Collective& collective_;
  const Messages& messages_;
  std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> FindMismatches(const Program& program, const Collective& collective) {
  return MessageCheck(program, collective).Run();
}

}  // namespace cleave::ir
