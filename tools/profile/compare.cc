// A program may run a kernel under several names, one after another, and kernels of layers that are not alike may share
// one: Compare joins all that are connected by a name. Linear in names, but for sorting.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/disjoint_sets/disjoint_sets.h"
#include "base/text/text.h"
#include "tools/profile/profile.h"

namespace cleave::tools {
namespace {

// Of what is named, so much of the time must be that of kernels of the plan.
constexpr double kLeastKnown = 0.5;

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

template <typename Work>
void LongestFirst(std::vector<Work>& works) {
  std::stable_sort(works.begin(), works.end(), [](const Work& a, const Work& b) { return a.seconds > b.seconds; });
}

// By the number of a set, what was measured and predicted of it.
struct Joined {
  std::vector<const MeasuredWork*> measured;
  std::vector<const PredictedWork*> predicted;
};

ComparedWork ComparedOf(const Joined& joined) {
  const auto shorter = [](const auto* a, const auto* b) { return a->seconds < b->seconds; };
  const MeasuredWork& op = **std::max_element(joined.measured.begin(), joined.measured.end(), shorter);
  const PredictedWork& kernel = **std::max_element(joined.predicted.begin(), joined.predicted.end(), shorter);
  ComparedWork work{.name = op.op,
                    .place = op.place,
                    .kind = kernel.kind,
                    .phase = kernel.phase,
                    .limit = kernel.limit,
                    .what = kernel.what,
                    .ops = joined.measured.size()};
  for (const MeasuredWork* own : joined.measured) work.measured += own->seconds;
  for (const PredictedWork* own : joined.predicted) work.predicted += own->seconds;
  return work;
}

absl::Status CheckSamePlan(const Comparison& comparison) {
  Seconds known{0}, all{0};
  for (const ComparedWork& work : comparison.works) known += work.measured;
  all = known;
  std::vector<std::string> unknown;
  for (const MeasuredWork& work : comparison.unpredicted) {
    if (work.op.empty()) continue;
    all += work.seconds;
    if (unknown.size() < 3) unknown.push_back(absl::StrCat("`", work.op, "`"));
  }
  if (all <= Seconds(0) || known.value() >= kLeastKnown * all.value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the run is not one of this plan, which has no kernel for ",
                                                 absl::StrJoin(unknown, ", "), " and others"));
}

}  // namespace

absl::StatusOr<Comparison> Compare(MeasuredRun run, PredictedStep plan) {
  if (!run.peak.empty() && static_cast<int64_t>(run.peak.size()) != plan.ranks) {
    return absl::InvalidArgumentError(absl::StrCat("the run is not one of this plan: it has ",
                                                   Plural(static_cast<int64_t>(run.peak.size()), "rank"),
                                                   ", and the plan ", plan.ranks));
  }
  Comparison comparison{.run = std::move(run), .plan = std::move(plan)};
  if (!comparison.run.works.has_value()) return comparison;
  const std::vector<MeasuredWork>& measured = *comparison.run.works;
  const std::vector<PredictedWork>& predicted = comparison.plan.works;
  // Kernels first, then ops.
  DisjointSets<int64_t> sets(predicted.size() + measured.size());
  const auto op_number = [&](size_t i) { return static_cast<int64_t>(predicted.size() + i); };
  std::map<std::string, int64_t> number_of;
  for (size_t i = 0; i < measured.size(); ++i) {
    if (!measured[i].op.empty()) number_of.emplace(measured[i].op, op_number(i));
  }
  for (size_t i = 0; i < predicted.size(); ++i) {
    for (const std::string& op : predicted[i].ops) {
      const auto found = number_of.find(op);
      if (found != number_of.end()) sets.Join(static_cast<int64_t>(i), found->second);
    }
  }
  std::map<int64_t, Joined> joined;
  for (size_t i = 0; i < predicted.size(); ++i)
    joined[sets.Of(static_cast<int64_t>(i))].predicted.push_back(&predicted[i]);
  for (size_t i = 0; i < measured.size(); ++i) joined[sets.Of(op_number(i))].measured.push_back(&measured[i]);
  for (const auto& [set, own] : joined) {
    if (own.measured.empty()) {
      if (own.predicted.front()->seconds > Seconds(0)) comparison.unmeasured.push_back(*own.predicted.front());
    } else if (own.predicted.empty()) {
      comparison.unpredicted.push_back(*own.measured.front());
    } else {
      comparison.works.push_back(ComparedOf(own));
    }
  }
  LongestFirst(comparison.unpredicted);
  LongestFirst(comparison.unmeasured);
  if (const absl::Status same = CheckSamePlan(comparison); !same.ok()) return same;
  return comparison;
}

Bytes MostOf(const std::vector<Bytes>& bytes) {
  return bytes.empty() ? Bytes(0) : *std::max_element(bytes.begin(), bytes.end());
}

std::vector<KindSum> KindsOf(const Comparison& comparison) {
  std::map<std::string, KindSum> by_kind;
  std::map<std::string, std::vector<double>> ratios;
  for (const ComparedWork& work : comparison.works) {
    KindSum& sum = by_kind[work.kind];
    sum.kind = work.kind;
    ++sum.works;
    sum.predicted += work.predicted;
    sum.measured += work.measured;
    // What the prediction takes for free, such as slices, has no ratio.
    if (work.predicted > Seconds(0)) ratios[work.kind].push_back(work.Ratio());
  }
  std::vector<KindSum> kinds;
  for (auto& [kind, sum] : by_kind) {
    sum.median_ratio = MedianOf(ratios[kind]);
    kinds.push_back(std::move(sum));
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const KindSum& a, const KindSum& b) { return a.measured > b.measured; });
  return kinds;
}

std::vector<const ComparedWork*> SurprisesOf(const Comparison& comparison, size_t most) {
  std::vector<const ComparedWork*> works;
  for (const ComparedWork& work : comparison.works) works.push_back(&work);
  const auto difference = [](const ComparedWork* work) { return std::abs((work->measured - work->predicted).value()); };
  std::stable_sort(works.begin(), works.end(),
                   [&](const ComparedWork* a, const ComparedWork* b) { return difference(a) > difference(b); });
  works.resize(std::min(works.size(), most));
  return works;
}

}  // namespace cleave::tools
