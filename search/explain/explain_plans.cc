#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "search/explain/explain.h"
#include "search/explain/plans.h"
#include "search/explain/table.h"

namespace cleave::search {
namespace {

std::string RowText(const TriedPlan& tried) {
  const Prediction& predicted = tried.predicted;
  const std::string text =
      absl::StrFormat("%-2s%12s%14s%16s%14s%14s\n", tried.is_chosen ? "*" : "", FormatSeconds(predicted.step),
                      FormatSeconds(predicted.compute), FormatSeconds(predicted.communication), FormatBytes(tried.peak),
                      FormatBytes(Bytes(static_cast<int64_t>(predicted.sent_bytes_per_rank))));
  const std::string why = tried.is_chosen ? "" : absl::StrCat(": ", tried.why);
  return absl::StrCat(text, Wrapped("    ", absl::StrCat(absl::StrJoin(tried.flags, "; or "), why), 4));
}

}  // namespace

std::string ExplainPlans(const Explained& explained) {
  const ir::Plan& plan = explained.plan;
  std::string text = absl::StrCat(explained.graph.model, " on ", Plural(plan.mesh.rank_count(), "rank"), " of ",
                                  plan.cluster, ": the plans that other settings give, fastest first\n\n");
  if (explained.graph.is_manual()) return absl::StrCat(text, "a manual model says itself how it is divided\n");
  const OtherPlans others = OtherPlansOf(explained);
  absl::StrAppend(&text, absl::StrFormat("%-2s%12s%14s%16s%14s%14s\n", "", "step", "computation", "communication",
                                         "memory", "sent"));
  for (const TriedPlan& tried : others.plans) absl::StrAppend(&text, RowText(tried));
  absl::StrAppend(&text, "\n* the plan that was found, with the model's own settings\n");
  if (others.refused.empty()) return text;
  absl::StrAppend(&text, "\nno plan:\n");
  for (const TriedPlan& tried : others.refused) {
    absl::StrAppend(&text, Wrapped("    ", absl::StrCat(tried.flags.front(), ": ", tried.refusal), 4));
  }
  return text;
}

}  // namespace cleave::search
