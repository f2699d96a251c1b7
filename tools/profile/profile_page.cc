// Reading guide: ProfilePage puts the sections one below another. All is markup: no script is needed, and what a
// drawing shows is in a table, too. Drawings are SVG whose units are pixels of a narrow page.
#include "tools/profile/profile_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "tools/page/escape.h"
#include "tools/page/page.h"
#include "tools/page/parts.h"

namespace cleave::tools {
namespace {

std::string Code(absl::string_view text) { return EscapedForHtml(text); }
std::string Time(Seconds seconds) { return EscapedForHtml(FormatSeconds(seconds)); }

std::string Ratio(double measured, double predicted) {
  return predicted > 0 ? absl::StrFormat("%.2f", measured / predicted) : "-";
}
std::string Ratio(Seconds measured, Seconds predicted) { return Ratio(measured.value(), predicted.value()); }
std::string Ratio(Bytes measured, Bytes predicted) {
  return Ratio(static_cast<double>(measured.value()), static_cast<double>(predicted.value()));
}

std::string Difference(Seconds measured, Seconds predicted) {
  const double seconds = (measured - predicted).value();
  return absl::StrCat(seconds < 0 ? "\xe2\x88\x92" : "+", FormatSeconds(Seconds(std::abs(seconds))));
}

// "0.78 times the predicted 43.9 ms"
std::string Against(const std::string& ratio, const std::string& predicted) {
  return ratio == "-" ? "nothing is predicted" : absl::StrCat(ratio, " times the predicted ", predicted);
}

// "10 us": a power of ten.
std::string PowerText(int power) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  const int unit = std::clamp((power + 9) / 3, 0, 3);
  return absl::StrFormat("%g %s", std::pow(10, power + 9 - 3 * unit), kUnits[unit]);
}

// A kind has the same colour in all drawings: one of the eight of the page.
using Colours = std::map<std::string, std::string>;

Colours ColoursOf(const std::vector<KindSum>& kinds) {
  Colours colours;
  for (size_t i = 0; i < kinds.size(); ++i) colours[kinds[i].kind] = absl::StrCat("axis-", i % 8);
  return colours;
}

std::string Legend(const std::vector<KindSum>& kinds, const Colours& colours) {
  std::string html = "<ul class=\"legend\">";
  for (const KindSum& kind : kinds) {
    absl::StrAppend(&html, "<li><i class=\"swatch ", colours.at(kind.kind), "\" aria-hidden=\"true\"></i><span>",
                    EscapedForHtml(kind.kind), "</span></li>");
  }
  return absl::StrCat(html, "</ul>\n");
}

// Of the kind that makes most of the difference.
std::string KindSentence(const std::vector<KindSum>& kinds) {
  const auto most = std::max_element(kinds.begin(), kinds.end(), [](const KindSum& a, const KindSum& b) {
    return std::abs((a.measured - a.predicted).value()) < std::abs((b.measured - b.predicted).value());
  });
  if (most == kinds.end()) return "Nothing was measured op by op: start the program with --profile.";
  return absl::StrCat("Most of the difference is in ", most->kind, ", which take ", FormatSeconds(most->measured),
                      " instead of ", FormatSeconds(most->predicted), ".");
}

std::string VerdictSection(const Comparison& comparison, const std::vector<KindSum>& kinds) {
  const MeasuredRun& run = comparison.run;
  const PredictedStep& plan = comparison.plan;
  const std::string of_step = Ratio(run.step, plan.step), of_memory = Ratio(MostOf(run.peak), plan.peak);
  std::string sentence = absl::StrCat("A step on ", Plural(plan.ranks, "rank"), " of ", plan.cluster, " takes ",
                                      FormatSeconds(run.step), ", ", Against(of_step, FormatSeconds(plan.step)));
  std::vector<PageFigure> figures = {
      {.what = "step, measured", .value = FormatSeconds(run.step), .more = Against(of_step, FormatSeconds(plan.step))}};
  if (!run.peak.empty()) {
    absl::StrAppend(&sentence, "; the fullest rank needs ", FormatBytes(MostOf(run.peak)), ", ",
                    Against(of_memory, FormatBytes(plan.peak)));
    figures.push_back({.what = "memory of the fullest rank",
                       .value = FormatBytes(MostOf(run.peak)),
                       .more = Against(of_memory, FormatBytes(plan.peak))});
  }
  if (!kinds.empty()) {
    Seconds unpredicted{0};
    for (const MeasuredWork& work : comparison.unpredicted) unpredicted += work.seconds;
    const auto works = static_cast<int64_t>(comparison.works.size());
    figures.push_back({.what = "kernels compared", .value = absl::StrCat(works), .more = "equal layers are one"});
    figures.push_back({.what = "not predicted",
                       .value = FormatSeconds(unpredicted),
                       .more = "data of the next step, metrics, what is printed, waiting"});
  }
  return absl::StrCat("<section id=\"verdict\"><h2>Verdict</h2>\n<p class=\"sentence\">",
                      EscapedForHtml(absl::StrCat(sentence, ". ", KindSentence(kinds))), "</p>\n", PageFigures(figures),
                      "</section>\n");
}

std::string KindsSection(const std::vector<KindSum>& kinds, const Colours& colours) {
  std::vector<PageRow> rows;
  for (const KindSum& kind : kinds) {
    rows.push_back({absl::StrCat("<span class=\"kind\"><i class=\"swatch ", colours.at(kind.kind),
                                 "\" aria-hidden=\"true\"></i>", EscapedForHtml(kind.kind), "</span>"),
                    absl::StrCat(kind.works), Time(kind.predicted), Time(kind.measured),
                    Ratio(kind.measured, kind.predicted),
                    kind.median_ratio > 0 ? absl::StrFormat("%.2f", kind.median_ratio) : "-"});
  }
  return PageSection("Kinds of kernels", PageTable({{"Kind", PageColumn::kText},
                                                    {"Kernels", PageColumn::kNumber},
                                                    {"Predicted", PageColumn::kNumber},
                                                    {"Measured", PageColumn::kNumber},
                                                    {"Ratio", PageColumn::kNumber},
                                                    {"Median ratio", PageColumn::kNumber}},
                                                   rows));
}

// The place of an op, "a.model:7", and the text of the line where the file is at hand.
std::string PlaceCell(absl::string_view place, absl::string_view file, const std::vector<std::string>& lines) {
  const std::string text = EscapedForHtml(place);
  const size_t colon = place.rfind(':');
  size_t line = 0;
  if (colon == place.npos || !absl::SimpleAtoi(place.substr(colon + 1), &line)) return text;
  const absl::string_view name = place.substr(0, colon);
  const bool is_of_file = file == name || absl::EndsWith(file, absl::StrCat("/", name));
  if (!is_of_file || line == 0 || line > lines.size()) return text;
  return absl::StrCat(text, "<br><span class=\"soft\">", EscapedForHtml(absl::StripAsciiWhitespace(lines[line - 1])),
                      "</span>");
}

PageRow RowOf(const ComparedWork& work, const std::string& place) {
  return {Code(work.name),
          Code(work.kind),
          Code(work.limit),
          Time(work.predicted),
          Time(work.measured),
          Ratio(work.measured, work.predicted),
          Difference(work.measured, work.predicted),
          place};
}

const PageColumns& WorkColumns() {
  static const auto* const kColumns = new PageColumns{
      {"Kernel", PageColumn::kCode},       {"Kind", PageColumn::kText},       {"Limit", PageColumn::kText},
      {"Predicted", PageColumn::kNumber},  {"Measured", PageColumn::kNumber}, {"Ratio", PageColumn::kNumber},
      {"Difference", PageColumn::kNumber}, {"Line", PageColumn::kCode}};
  return *kColumns;
}

std::string SurprisesSection(const Comparison& comparison, absl::string_view source) {
  const std::vector<std::string> lines = absl::StrSplit(source, '\n');
  std::vector<PageRow> rows;
  for (const ComparedWork* work : SurprisesOf(comparison, kMostSurprises)) {
    rows.push_back(RowOf(*work, PlaceCell(work->place, comparison.plan.file, lines)));
  }
  std::vector<PageRow> all;
  for (const ComparedWork& work : comparison.works) all.push_back(RowOf(work, Code(work.place)));
  return PageSection("Largest surprises",
                     absl::StrCat("<p class=\"lead\">The kernels whose predicted and measured times differ most, what "
                                  "limits them in the prediction, and the lines that they are from.</p>\n",
                                  PageTable(WorkColumns(), rows), "<details><summary>All ",
                                  Plural(static_cast<int64_t>(all.size()), "kernel"), ", in the order of the program",
                                  "</summary>\n", PageTable(WorkColumns(), all), "</details>\n"));
}

// "1.0 us to 2.0 us" in the title of what is drawn.
std::string TitleOf(const ComparedWork& work) {
  return absl::StrCat("<title>", EscapedForHtml(work.name), ": predicted ", Time(work.predicted), ", measured ",
                      Time(work.measured), "</title>");
}

// Measured against predicted time, both as logarithms: on the line both are equal, above it is what takes longer.
std::string ScatterSection(const Comparison& comparison, const std::string& legend, const Colours& colours) {
  constexpr double kWidth = 420, kHeight = 360, kLeft = 58, kBottom = 40, kTop = 10, kRight = 12;
  double least = 1e300, most = 0;
  std::vector<const ComparedWork*> works;
  for (const ComparedWork& work : comparison.works) {
    if (!(work.predicted.value() > 0 && work.measured.value() > 0)) continue;
    works.push_back(&work);
    for (const Seconds seconds : {work.predicted, work.measured}) {
      least = std::min(least, seconds.value());
      most = std::max(most, seconds.value());
    }
  }
  if (works.empty()) return "";
  const double first = std::floor(std::log10(least)), last = std::max(first + 1, std::ceil(std::log10(most)));
  const auto share = [&](double seconds) { return (std::log10(seconds) - first) / (last - first); };
  const auto x = [&](double seconds) { return kLeft + share(seconds) * (kWidth - kLeft - kRight); };
  const auto y = [&](double seconds) { return kHeight - kBottom - share(seconds) * (kHeight - kBottom - kTop); };
  std::string svg = absl::StrFormat(
      "<svg class=\"scatter\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"Measured against predicted time of "
      "%d "
      "kernels\">\n",
      kWidth, kHeight, works.size());
  for (double power = first; power <= last; ++power) {
    const double seconds = std::pow(10, power);
    const std::string label = PowerText(static_cast<int>(power));
    absl::StrAppendFormat(&svg,
                          "<line class=\"tick\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                          "<line class=\"tick\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                          kLeft, kWidth - kRight, y(seconds), y(seconds), x(seconds), x(seconds), kTop,
                          kHeight - kBottom);
    absl::StrAppendFormat(&svg, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>", kLeft - 6,
                          y(seconds) + 4, label);
    const char* const anchor = power == last ? "end" : power == first ? "start" : "middle";
    absl::StrAppendFormat(&svg, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
                          x(seconds), kHeight - kBottom + 16, anchor, label);
  }
  absl::StrAppendFormat(&svg, "<line class=\"peak\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                        x(std::pow(10, first)), y(std::pow(10, first)), x(std::pow(10, last)), y(std::pow(10, last)));
  for (const ComparedWork* work : works) {
    absl::StrAppendFormat(&svg, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\">%s</circle>\n",
                          colours.at(work->kind), x(work->predicted.value()), y(work->measured.value()),
                          TitleOf(*work));
  }
  absl::StrAppendFormat(&svg, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">predicted</text>",
                        kWidth - kRight, kHeight - 4);
  absl::StrAppendFormat(&svg, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">measured</text></svg>\n", kLeft + 4,
                        kTop + 12);
  return PageSection("Measured against predicted",
                     absl::StrCat("<p class=\"lead\">A point is a kernel; both axes are logarithmic. On the line both "
                                  "times are equal, and what lies above it takes longer than predicted.</p>\n",
                                  svg, legend));
}

std::string MemorySection(const Comparison& comparison) {
  const MeasuredRun& run = comparison.run;
  const PredictedStep& plan = comparison.plan;
  std::vector<PageRow> rows;
  const auto add = [&](const std::string& what, Bytes predicted, Bytes measured) {
    rows.push_back({EscapedForHtml(what), EscapedForHtml(FormatBytes(predicted)), EscapedForHtml(FormatBytes(measured)),
                    Ratio(measured, predicted)});
  };
  if (!run.peak.empty()) add("fullest rank", plan.peak, MostOf(run.peak));
  if (plan.host > Bytes(0) || MostOf(run.host) > Bytes(0)) add("of the host", plan.host, MostOf(run.host));
  if (rows.empty()) return "";
  std::string note;
  if (run.peak.size() > 1) {
    const Bytes least = *std::min_element(run.peak.begin(), run.peak.end());
    note = absl::StrCat("<p class=\"note\">The emptiest rank needs ", EscapedForHtml(FormatBytes(least)), ".</p>\n");
  }
  return PageSection("Memory", absl::StrCat(PageTable({{"Memory", PageColumn::kText},
                                                       {"Predicted", PageColumn::kNumber},
                                                       {"Measured", PageColumn::kNumber},
                                                       {"Ratio", PageColumn::kNumber}},
                                                      rows),
                                            note));
}

// A row of kernels, each as wide as its time; `whole` is the width of the drawing in seconds.
std::string Lane(const Comparison& comparison, const char* what, Seconds ComparedWork::*seconds, double whole,
                 const Colours& colours) {
  constexpr double kWidth = 1000;
  std::string svg = absl::StrFormat(
      "<p class=\"soft\">%s</p><svg class=\"step\" viewBox=\"0 0 1000 28\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"Kernels of a step, %s\"><rect class=\"lane\" width=\"1000\" height=\"28\"/>\n",
      what, what);
  double begin = 0;
  for (const ComparedWork& work : comparison.works) {
    const double width = kWidth * (work.*seconds).value() / whole;
    absl::StrAppendFormat(&svg, "<rect class=\"%s\" x=\"%.2f\" width=\"%.2f\" height=\"28\">%s</rect>\n",
                          colours.at(work.kind), begin, width, TitleOf(work));
    begin += width;
  }
  return absl::StrCat(svg, "</svg>\n");
}

std::string StepSection(const Comparison& comparison, const std::string& legend, const Colours& colours) {
  double predicted = 0, measured = 0;
  for (const ComparedWork& work : comparison.works) {
    predicted += work.predicted.value();
    measured += work.measured.value();
  }
  const double whole = std::max(predicted, measured);
  if (!(whole > 0)) return "";
  std::string scale = "<p class=\"scale\">";
  for (int quarter = 0; quarter <= 4; ++quarter) {
    absl::StrAppend(&scale, "<span>", Time(Seconds(whole * quarter / 4)), "</span>");
  }
  return PageSection(
      "The step of rank 0",
      absl::StrCat("<p class=\"lead\">Its kernels in the order of the program, one behind another, those "
                   "of equal layers together: their times, without what runs beside or between them. "
                   "Both rows have one scale. When each of them runs shows the timeline that a program writes with "
                   "--profile FILE.</p>\n",
                   Lane(comparison, "predicted", &ComparedWork::predicted, whole, colours),
                   Lane(comparison, "measured", &ComparedWork::measured, whole, colours), scale, "</p>\n", legend));
}

}  // namespace

std::string ProfilePage(const Comparison& comparison, absl::string_view source) {
  const PredictedStep& plan = comparison.plan;
  const std::vector<KindSum> kinds = KindsOf(comparison);
  const Colours colours = ColoursOf(kinds);
  const std::string legend = Legend(kinds, colours);
  std::string body = VerdictSection(comparison, kinds);
  if (!kinds.empty()) absl::StrAppend(&body, KindsSection(kinds, colours), SurprisesSection(comparison, source));
  if (!kinds.empty()) absl::StrAppend(&body, ScatterSection(comparison, legend, colours));
  absl::StrAppend(&body, MemorySection(comparison), StepSection(comparison, legend, colours));
  return PageAround({.kicker = "A run beside its plan",
                     .title = plan.model,
                     .how = absl::StrCat(Plural(plan.ranks, "rank"), " of ", plan.cluster, ", a step of rank 0")},
                    body);
}

}  // namespace cleave::tools
