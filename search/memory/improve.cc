#include "search/memory/improve.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace cleave::search {
namespace {

// By what is made again: the time that the program takes for it, nullopt where it does not fit.
using MeasuredChoices = std::map<std::map<ir::OpId, ir::Retention>, std::optional<Seconds>>;

// Shares of the limit by which more may be live: it may be a little less where steps are moved, which is seldom.
constexpr double kBeyond[] = {0, 1.0 / 6};

}  // namespace

void MeasureChoices(const FitTask& task, std::vector<Candidate> candidates, const BestFit& best, Saver& saver) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.at_least < b.at_least; });
  std::vector<MeasuredChoices> measured(candidates.size());
  for (const double beyond : kBeyond) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& own = candidates[i];
      if (saver.IsDone()) return;
      if (!best.MayBe(own.plan, own.at_least)) continue;
      if (task.savings.asked.empty()) measured[i][{}] = own.fits ? std::optional(Seconds(0)) : std::nullopt;
      const Bytes live = task.limit.bytes - own.workspace;
      const Bytes most = live + Bytes(static_cast<int64_t>(static_cast<double>(live.value()) * beyond));
      const std::optional<Seconds> known =
          best.fit().has_value() ? std::optional(best.seconds() - own.seconds) : std::nullopt;
      own.recomputation->MeasurePrograms(known, most, [&](const RecomputeChoice& choice) {
        const auto [found, is_new] = measured[i].emplace(choice.ops, std::nullopt);
        if (!is_new || saver.IsDone()) return found->second;
        const Saver::Offered offered = saver.OfferChoice(choice, own.plan, own.origin);
        if (offered.seconds.has_value()) found->second = *offered.seconds - own.seconds;
        return found->second;
      });
    }
  }
}

}  // namespace cleave::search
