#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/json/json.h"
#include "base/text/text.h"
#include "search/explain/table.h"
#include "tools/profile/profile.h"

namespace cleave::tools {
namespace {

constexpr size_t kMostUnpredicted = 5;
constexpr char kOutside[] = "(outside of ops)";

std::string RatioText(double measured, double predicted) {
  return predicted > 0 ? absl::StrFormat("%.2f", measured / predicted) : "-";
}

std::string FigureLine(const char* what, const std::string& predicted, const std::string& measured,
                       const std::string& ratio) {
  return absl::StrFormat("%-22s%12s%12s%9s\n", what, predicted, measured, ratio);
}

std::string MemoryLine(const char* what, Bytes predicted, Bytes measured) {
  return FigureLine(what, FormatBytes(predicted), FormatBytes(measured),
                    RatioText(static_cast<double>(measured.value()), static_cast<double>(predicted.value())));
}

std::string WorkLine(const ComparedWork& work) {
  const Seconds difference = work.measured - work.predicted;
  return absl::StrFormat(
      "%-37s%-12s%-11s%10s%10s%7s%11s\n", search::Clipped(work.name, 36), search::Clipped(work.kind, 11),
      search::Clipped(work.limit, 10), FormatSeconds(work.predicted), FormatSeconds(work.measured),
      RatioText(work.measured.value(), work.predicted.value()),
      absl::StrCat(difference < Seconds(0) ? "-" : "+", FormatSeconds(Seconds(std::abs(difference.value())))));
}

Seconds SumOf(const std::vector<MeasuredWork>& works) {
  Seconds sum{0};
  for (const MeasuredWork& work : works) sum += work.seconds;
  return sum;
}

Json PairJson(double predicted, double measured) {
  Json json = JsonObject({{"predicted", predicted}, {"measured", measured}});
  json["ratio"] = predicted > 0 ? Json(measured / predicted) : Json(nullptr);
  return json;
}

}  // namespace

std::string ComparisonText(const Comparison& comparison) {
  const MeasuredRun& run = comparison.run;
  const PredictedStep& plan = comparison.plan;
  std::string text = absl::StrCat(plan.model, " on ", Plural(plan.ranks, "rank"), " of ", plan.cluster,
                                  run.works.has_value() ? ", a step of rank 0" : "", "\n\n",
                                  FigureLine("", "predicted", "measured", "ratio"),
                                  FigureLine("step", FormatSeconds(plan.step), FormatSeconds(run.step),
                                             RatioText(run.step.value(), plan.step.value())));
  if (!run.peak.empty()) absl::StrAppend(&text, MemoryLine("memory, fullest rank", plan.peak, MostOf(run.peak)));
  if (plan.host > Bytes(0) || MostOf(run.host) > Bytes(0)) {
    absl::StrAppend(&text, MemoryLine("memory of the host", plan.host, MostOf(run.host)));
  }
  if (!run.works.has_value()) {
    return absl::StrCat(text, "\nnothing was measured op by op: start the program with `--profile`\n");
  }
  absl::StrAppendFormat(&text, "\n%-14s%8s%12s%12s%9s%15s\n", "kind", "kernels", "predicted", "measured", "ratio",
                        "median ratio");
  for (const KindSum& kind : KindsOf(comparison)) {
    absl::StrAppendFormat(&text, "%-14s%8d%12s%12s%9s%15s\n", kind.kind, kind.works, FormatSeconds(kind.predicted),
                          FormatSeconds(kind.measured), RatioText(kind.measured.value(), kind.predicted.value()),
                          kind.median_ratio > 0 ? absl::StrFormat("%.2f", kind.median_ratio) : "-");
  }
  if (!comparison.unpredicted.empty()) {
    absl::StrAppendFormat(&text, "%-14s%8d%12s%12s\n", "not predicted", comparison.unpredicted.size(), "-",
                          FormatSeconds(SumOf(comparison.unpredicted)));
  }
  const std::vector<const ComparedWork*> surprises = SurprisesOf(comparison, kMostSurprises);
  if (!surprises.empty()) {
    absl::StrAppendFormat(&text, "\n%-37s%-12s%-11s%10s%10s%7s%11s\n", "largest surprises", "kind", "limit",
                          "predicted", "measured", "ratio", "difference");
  }
  for (const ComparedWork* work : surprises) absl::StrAppend(&text, WorkLine(*work));
  const size_t shown = std::min(comparison.unpredicted.size(), kMostUnpredicted);
  if (shown > 0) absl::StrAppend(&text, "\nnot predicted\n");
  for (size_t i = 0; i < shown; ++i) {
    const MeasuredWork& work = comparison.unpredicted[i];
    absl::StrAppendFormat(&text, "%-60s%20s\n", work.op.empty() ? kOutside : search::Clipped(work.op, 59),
                          FormatSeconds(work.seconds));
  }
  return text;
}

std::string ComparisonJson(const Comparison& comparison) {
  const MeasuredRun& run = comparison.run;
  const PredictedStep& plan = comparison.plan;
  Json kinds = Json::array(), works = Json::array(), unpredicted = Json::array(), unmeasured = Json::array();
  for (const KindSum& sum : KindsOf(comparison)) {
    Json kind = PairJson(sum.predicted.value(), sum.measured.value());
    kind["kind"] = sum.kind;
    kind["kernels"] = sum.works;
    kind["median_ratio"] = sum.median_ratio > 0 ? Json(sum.median_ratio) : Json(nullptr);
    kinds.push_back(std::move(kind));
  }
  for (const ComparedWork& own : comparison.works) {
    Json work = PairJson(own.predicted.value(), own.measured.value());
    work["op"] = own.name;
    work["place"] = own.place;
    work["kind"] = own.kind;
    work["phase"] = own.phase;
    work["limit"] = own.limit;
    if (!own.what.empty()) work["what"] = own.what;
    works.push_back(std::move(work));
  }
  for (const MeasuredWork& own : comparison.unpredicted) {
    unpredicted.push_back(JsonObject({{"op", own.op}, {"place", own.place}, {"seconds", own.seconds.value()}}));
  }
  for (const PredictedWork& own : comparison.unmeasured) {
    unmeasured.push_back(JsonObject({{"ops", own.ops}, {"kind", own.kind}, {"seconds", own.seconds.value()}}));
  }
  const auto bytes = [](Bytes own) { return static_cast<double>(own.value()); };
  return JsonDocument(JsonObject({{"format", "cleave-profile"},
                                  {"version", 1},
                                  {"model", plan.model},
                                  {"cluster", plan.cluster},
                                  {"ranks", plan.ranks},
                                  {"step_seconds", PairJson(plan.step.value(), run.step.value())},
                                  {"peak_memory_bytes", PairJson(bytes(plan.peak), bytes(MostOf(run.peak)))},
                                  {"host_memory_bytes", PairJson(bytes(plan.host), bytes(MostOf(run.host)))},
                                  {"has_profile", run.works.has_value()},
                                  {"kinds", std::move(kinds)},
                                  {"kernels", std::move(works)},
                                  {"not_predicted", std::move(unpredicted)},
                                  {"not_measured", std::move(unmeasured)}}));
}

}  // namespace cleave::tools
