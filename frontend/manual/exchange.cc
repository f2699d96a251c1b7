#include "frontend/manual/exchange.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::frontend {
namespace {

// (sender, receiver) -> the numbers of the parts that pass between them, in order.
using Routes = std::map<std::pair<int64_t, int64_t>, std::vector<size_t>>;

Routes RoutesOf(const ExchangeSide& side, bool sends) {
  Routes routes;
  for (size_t part = 0; part < side.ranks.size(); ++part) {
    for (size_t i = 0; i < side.ranks[part].size(); ++i) {
      const int64_t rank = static_cast<int64_t>(i);
      const int64_t other = side.ranks[part][i];
      if (other >= 0) routes[sends ? std::pair(rank, other) : std::pair(other, rank)].push_back(part);
    }
  }
  return routes;
}

std::optional<size_t> ElementOf(const std::vector<size_t>& parts, size_t i) {
  return i < parts.size() ? std::optional<size_t>(parts[i]) : std::nullopt;
}

}  // namespace

std::vector<int64_t> ExchangeSide::Table() const {
  std::vector<int64_t> table;
  for (size_t rank = 0; rank < ranks.front().size(); ++rank) {
    for (const std::vector<int64_t>& part : ranks) table.push_back(part[rank]);
  }
  return table;
}

std::optional<Mismatch> FindMismatch(const ExchangeSide& sends, const ExchangeSide& receives) {
  Routes sent = RoutesOf(sends, true);
  Routes received = RoutesOf(receives, false);
  for (const auto& [ends, parts] : sent) received.try_emplace(ends);
  for (const auto& [ends, parts] : received) {
    const std::vector<size_t>& of_sender = sent[ends];
    for (size_t i = 0; i < of_sender.size() || i < parts.size(); ++i) {
      const Mismatch found{ends.first, ends.second, ElementOf(of_sender, i), ElementOf(parts, i)};
      const bool same = found.sent && found.received && sends.sizes[*found.sent] == receives.sizes[*found.received];
      if (!same) return found;
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

}  // namespace cleave::frontend
