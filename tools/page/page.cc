// Reading guide: VerdictOf says in HTML what a plan comes to, so that it is read without a script; PlanPage puts it,
// the data and the files of this folder into page.html. WritePage is the way to the disk.
#include "tools/page/page.h"

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "search/explain/ledger.h"
#include "search/explain/overview.h"
#include "search/explain/table.h"
#include "search/knobs/memory/memory.h"
#include "tools/own_file/own_file.h"
#include "tools/page/data.h"
#include "tools/page/escape.h"
#include "tools/page/parts.h"
#include "tools/text_template/text_template.h"

namespace cleave::tools {
namespace {

constexpr OwnKind kPage{.first = "<!doctype html><!-- a plan of cleave -->\n", .what = "the page of a plan"};

struct PagePart {
  absl::string_view path;
  absl::string_view text;
};

constexpr PagePart kParts[] = {
#include "tools/page/parts.inc"
};

absl::string_view PartOfPage(absl::string_view name) {
  for (const PagePart& part : kParts) {
    if (absl::EndsWith(part.path, name)) return part.text;
  }
  CLEAVE_UNREACHABLE();
}

// "0.4%", "12%"
std::string Percent(double share) {
  if (share > 0 && share < 0.0005) return "less than 0.1%";
  return absl::StrFormat("%.*f%%", share < 0.0995 ? 1 : 0, 100 * share);
}

struct Verdict {
  std::string sentence;  // Text.
  std::string figures;   // HTML.
};

Verdict VerdictOf(const PageFacts& facts) {
  const search::Explained& explained = facts.explained;
  const ir::Plan& plan = explained.plan;
  const search::Prediction& predicted = explained.predicted;
  const ir::MemoryPrediction& memory = explained.made.memory.use.prediction;
  const std::optional<search::MemoryLimit> limit = search::MemoryLimitOf(explained.pins.settings, explained.cluster);
  const bool fits = !limit.has_value() || memory.peak <= limit->bytes;
  const search::Ledger ledger = search::LedgerOf(explained, 0);
  const double utilisation = ledger.step > Seconds(0) ? ledger.model_at_peak.value() / ledger.step.value() : double{0};
  const std::string step = FormatSeconds(predicted.step);
  const std::string sent = FormatBytes(Bytes(static_cast<int64_t>(predicted.sent_bytes_per_rank)));
  const std::string collectives = Plural(search::CollectivesOfStep(explained.made.program), "collective");
  const std::string share =
      limit.has_value() && limit->bytes > Bytes(0)
          ? Percent(static_cast<double>(memory.peak.value()) / static_cast<double>(limit->bytes.value()))
          : "";
  const std::string of_limit = !limit.has_value() ? "no limit of memory is known"
                                                  : absl::StrCat(fits ? share : absl::StrCat("does not fit: ", share),
                                                                 " of ", FormatBytes(limit->bytes));
  Verdict verdict;
  const std::string sending =
      plan.mesh.rank_count() == 1 ? "" : absl::StrCat(", each rank sends at most ", sent, " in ", collectives);
  verdict.sentence =
      absl::StrCat("A step on ", Plural(plan.mesh.rank_count(), "rank"), " of ", plan.cluster, " is predicted to take ",
                   step, "; the fullest rank needs ", FormatBytes(memory.peak), " (", of_limit, ")", sending,
                   ", and the model's products run at ", Percent(utilisation),
                   " of the peak of the chips. Proof: ", WithWholeOptions(facts.proof), ".");
  const std::string parts = absl::StrCat("compute ", FormatSeconds(predicted.compute), ", communication ",
                                         FormatSeconds(predicted.communication));
  const std::string sharing =
      facts.pipeline != nullptr ? absl::StrFormat("; stages idle %.0f%%", 100 * facts.pipeline->bubble) : "";
  const size_t clause = facts.proof.find("; ");
  verdict.figures =
      PageFigures({{.what = "step, predicted", .value = step, .more = absl::StrCat(parts, sharing)},
                   {.what = "memory of the fullest rank",
                    .value = FormatBytes(memory.peak),
                    .more = absl::StrCat(of_limit, limit.has_value() ? absl::StrCat(", ", limit->source) : ""),
                    .state = fits ? (limit.has_value() ? "good" : "") : "bad"},
                   {.what = "sent by a rank in a step", .value = sent, .more = collectives},
                   {.what = "utilisation",
                    .value = Percent(utilisation),
                    .more = "the model's products against the peak of the chips"},
                   {.what = "proof",
                    .value = facts.proof.substr(0, clause),
                    .more = clause == std::string::npos ? "" : facts.proof.substr(clause + 2)}});
  return verdict;
}

// The overview of a plan, as the command line prints it.
std::string OverviewOf(const PageFacts& facts) {
  const search::Explained& explained = facts.explained;
  std::string text = search::PlanOverview(explained.made, explained.predicted);
  if (facts.pipeline != nullptr) absl::StrAppend(&text, search::PipelineLine(*facts.pipeline));
  absl::StrAppend(&text, search::Wrapped("  cost      ", search::CostLine(explained.plan), 12));
  return text;
}

}  // namespace

std::string PlanPage(const PageFacts& facts) {
  const ir::Plan& plan = facts.explained.plan;
  const Verdict verdict = VerdictOf(facts);
  Json data = PageData(facts);
  data["plans"] = facts.has_others ? PlansData(facts.explained) : Json();
  const absl::StatusOr<std::string> page = FillTemplate(
      PartOfPage("page.html"),
      {{"title", EscapedForHtml(facts.explained.graph.model)},
       {"file", EscapedForHtml(facts.explained.graph.file)},
       {"how", EscapedForHtml(absl::StrCat(Plural(plan.mesh.rank_count(), "rank"), " of ", plan.cluster, ", found by ",
                                           plan.search.algorithm,
                                           plan.search.zero > 0 ? absl::StrCat(", zero = ", plan.search.zero) : ""))},
       {"sentence", EscapedForHtml(verdict.sentence)},
       {"figures", verdict.figures},
       {"overview", EscapedForHtml(OverviewOf(facts))},
       {"style", std::string(PartOfPage("page.css"))},
       {"script", std::string(PartOfPage("page.js"))},
       {"script_hash", std::string(absl::StripAsciiWhitespace(PartOfPage("page.hash")))},
       {"data", JsonForScript(data)}});
  CLEAVE_CHECK(page.ok()) << page.status();
  return absl::StrCat(kPage.first, *page);
}

std::string PageAround(const PageHead& head, absl::string_view body) {
  const absl::StatusOr<std::string> page =
      FillTemplate(PartOfPage("plain.html"), {{"kicker", EscapedForHtml(head.kicker)},
                                              {"title", EscapedForHtml(head.title)},
                                              {"how", EscapedForHtml(head.how)},
                                              {"style", std::string(PartOfPage("page.css"))},
                                              {"body", std::string(body)}});
  CLEAVE_CHECK(page.ok()) << page.status();
  return absl::StrCat(kPage.first, *page);
}

absl::Status CheckPagePlace(const std::string& path) { return CheckOwnPlace(path, kPage); }

absl::Status WritePage(const std::string& path, const std::string& page) { return WriteOwn(path, kPage, page); }

}  // namespace cleave::tools
