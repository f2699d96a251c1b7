#include "ir/graph/manual/exchange.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::ir {
namespace {

// (sender, receiver) -> the numbers of the parts that pass between them, in order.
using Routes = std::map<std::pair<int64_t, int64_t>, std::vector<size_t>>;

Routes RoutesOf(const ExchangeSide& side, bool sends) {
  Routes routes;
  for (size_t i = 0; i < side.partners.size(); ++i) {
    const int64_t rank = static_cast<int64_t>(i / side.sizes.size());
    const int64_t partner = side.partners[i];
    if (partner < 0) continue;
    routes[sends ? std::pair(rank, partner) : std::pair(partner, rank)].push_back(i % side.sizes.size());
  }
  return routes;
}

std::optional<size_t> PartAt(const std::vector<size_t>& parts, size_t i) {
  return i < parts.size() ? std::optional<size_t>(parts[i]) : std::nullopt;
}

}  // namespace

std::optional<Mismatch> FindMismatch(const ExchangeSide& sends, const ExchangeSide& receives) {
  Routes sent = RoutesOf(sends, true);
  Routes received = RoutesOf(receives, false);
  for (const auto& [ends, parts] : sent) received.try_emplace(ends);
  for (const auto& [ends, parts] : received) {
    const std::vector<size_t>& of_sender = sent[ends];
    for (size_t i = 0; i < of_sender.size() || i < parts.size(); ++i) {
      const Mismatch pair{ends.first, ends.second, PartAt(of_sender, i), PartAt(parts, i)};
      const bool same = pair.sent && pair.received && sends.sizes[*pair.sent] == receives.sizes[*pair.received];
      if (!same) return pair;
    }
  }
  return std::nullopt;
}

std::string MismatchText(const Mismatch& mismatch, const ExchangeSide& sends, const ExchangeSide& receives) {
  const auto elements = [](const ExchangeSide& side, size_t part) { return Plural(side.sizes[part], "element"); };
  if (!mismatch.sent) {
    return absl::StrCat("rank ", mismatch.to, " waits for ", elements(receives, *mismatch.received), " of rank ",
                        mismatch.from, ", which does not send them");
  }
  const std::string text = absl::StrCat("rank ", mismatch.from, " sends ", elements(sends, *mismatch.sent), " to rank ",
                                        mismatch.to, ", which ");
  if (!mismatch.received) return absl::StrCat(text, "does not receive them");
  return absl::StrCat(text, "receives ", receives.sizes[*mismatch.received]);
}

}  // namespace cleave::ir
