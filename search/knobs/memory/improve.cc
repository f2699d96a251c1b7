#include "search/knobs/memory/improve.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cleave::search {

void MeasureChoices(const FitTask& task, absl::Span<Candidate> candidates, double beyond, const BestFit& best,
                    Saver& saver) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.at_least < b.at_least; });
  for (Candidate& own : candidates) {
    if (saver.IsDone()) return;
    if (!best.MayBe(own.plan, own.at_least)) continue;
    if (task.savings.asked.empty()) own.measured[{}] = own.fits ? std::optional(Seconds(0)) : std::nullopt;
    const Bytes live = task.limit.bytes - own.workspace;
    const Bytes most = live + Bytes(static_cast<int64_t>(static_cast<double>(live.value()) * beyond));
    const std::optional<Seconds> known =
        best.fit().has_value() ? std::optional(best.seconds() - own.seconds) : std::nullopt;
    own.recomputation->MeasurePrograms(known, most, [&](const RecomputeChoice& choice) {
      const auto [found, is_new] = own.measured.emplace(choice.ops, std::nullopt);
      if (!is_new || saver.IsDone()) return found->second;
      const Saver::Offered offered = saver.OfferChoice(choice, own.plan, own.origin);
      if (offered.seconds.has_value()) found->second = *offered.seconds - own.seconds;
      return found->second;
    });
  }
}

}  // namespace cleave::search
