// Reading guide. `GroupsOf` finds the products that may be chunks, those that are alike together; `Choose` measures the
// plan with each group in 2, 4 … chunks, the group with the most to gain first, and keeps what is faster.

#include "search/chunks.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/transforms/distribute/chunks.h"
#include "search/comparison.h"
#include "search/knobs/memory/memory.h"
#include "search/price/cost/predict.h"
#include "search/rings.h"

namespace cleave::search {
namespace {

// A step must be at least this much faster, of what it takes: less is within the errors of the prices.
constexpr double kWorth = 0.002;
// In chunks of which number a group is measured: each twice as many as the one before, for as long as that is faster.
constexpr int64_t kMostTried = 8;
// Each makes up to three programs.
constexpr size_t kMostGroups = 6;

// Products of equal layers.
struct Group {
  std::vector<ir::OpId> ops;
  double most = 0;  // Seconds that are gained if all that can run at the same time does.
};

// What an op's product, and the collective behind it, take alone.
struct Times {
  double product = 0;
  double collective = 0;
};

IdVector<ir::OpId, Times> TimesOf(const ir::Graph& graph, const ir::LoweredProgram& made, const Cluster& cluster) {
  IdVector<ir::OpId, Times> times(graph.ops.size());
  const auto add = [&](const ir::Program& program, const ir::Fusion& fusion) {
    const std::vector<Seconds> seconds = StageTimes(program, fusion, cluster);
    for (size_t i = 0; i < fusion.stages.size(); ++i) {
      for (const int index : ir::StepsOf(fusion.stages[i])) {
        const ir::Step& step = program.steps[static_cast<size_t>(index)];
        if (const auto* compute = std::get_if<ir::Compute>(&step.action); compute != nullptr) {
          times[made.distributed.originals[compute->op]].product += seconds[i].value();
        } else if (const ir::Collective* collective = ir::CommunicationOf(program, step); collective != nullptr) {
          const ir::OpId origin = program.value(collective->transfers.front().input).origin;
          times[made.distributed.originals[origin]].collective += seconds[i].value();
        }
      }
    }
  };
  if (made.parts.empty()) add(made.program, made.memory.fusion);
  for (const ir::PartProgram& part : made.parts) add(part.program, part.memory.fusion);
  return times;
}

class ChunkSearch {
 public:
  ChunkSearch(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins, const SearchOptions& options,
              MeasuredPlan whole)
      : graph_(graph),
        cluster_(cluster),
        options_(options),
        limit_(MemoryLimitOf(pins.settings, cluster)),
        best_(std::move(whole)) {}

  Found Choose() && {
    for (const Group& group : GroupsOf()) Try(group);
    return std::move(best_.found);
  }

  // All products that can be, in so many chunks. `warn` is called with the reason where there are none.
  template <typename Warn>
  Found Take(int64_t chunks, Warn warn) && {
    ir::Plan plan = best_.found.plan;
    const std::vector<ir::OpId> products = ir::ProductsInChunks(graph_, plan, chunks);
    if (products.empty()) {
      warn(WhyNone(chunks));
      return std::move(best_.found);
    }
    for (const ir::OpId op : products) plan.ops[op].chunks = chunks;
    MeasuredPlan measured =
        *Measure(graph_, Found{.plan = std::move(plan), .program = std::nullopt}, cluster_, options_);
    const bool fits = Fits(measured);
    const std::string why = fits ? "as asked" : absl::StrCat("in chunks a rank needs ", FormatBytes(measured.peak));
    if (!fits) warn(why);
    Found& taken = fits ? measured.found : best_.found;
    for (const ir::OpId op : products) Explain(op, why, taken.plan);
    return std::move(taken);
  }

 private:
  // Why no product can be in so many chunks: what stands against the first whose sums are divided between ranks.
  std::string WhyNone(int64_t chunks) const {
    const ir::Plan& plan = best_.found.plan;
    for (const ir::Op& op : graph_.ops) {
      if (op.kind != ir::OpKind::kMatmul || op.attributes.Get(ir::attribute::kTransposeA)) continue;
      if (!ir::OutputLayout(plan.ops[op.id].strategy, ir::RuleOf(graph_, op)).is_partial()) continue;
      return absl::StrCat("`", op.name, "` is reduced whole: ",
                          ir::WhyNotInChunks(graph_, plan, op.id, chunks).value_or("it has no chunks"));
    }
    return "the sums of no product of rows and a weight are divided between ranks";
  }

  bool Fits(const MeasuredPlan& measured) const {
    return !limit_.has_value() || measured.peak <= std::max(limit_->bytes, best_.peak);
  }

  // Those with most to gain, at most kMostGroups.
  std::vector<Group> GroupsOf() const {
    const ir::Plan& plan = best_.found.plan;
    const IdVector<ir::OpId, Times> times = TimesOf(graph_, *best_.found.program, cluster_);
    std::vector<Group> groups;
    for (const ir::OpId op : ir::ProductsInChunks(graph_, plan, 2)) {
      const auto is_like = [&](const Group& group) { return AreAlike(group.ops.front(), op); };
      auto found = std::find_if(groups.begin(), groups.end(), is_like);
      if (found == groups.end()) found = groups.insert(groups.end(), Group());
      found->ops.push_back(op);
      found->most += std::min(times[op].product, times[op].collective) * static_cast<double>(plan.micro_batches);
    }
    groups.erase(std::remove_if(groups.begin(), groups.end(),
                                [&](const Group& group) { return group.most < kWorth * best_.step.value(); }),
                 groups.end());
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.most > b.most; });
    if (groups.size() > kMostGroups) groups.resize(kMostGroups);
    return groups;
  }

  bool AreAlike(ir::OpId first, ir::OpId second) const {
    const ir::Op &a = graph_.op(first), &b = graph_.op(second);
    const auto type = [&](const ir::Op& op, size_t input) { return graph_.op(op.inputs[input]).type; };
    return a.phase == b.phase && a.attributes == b.attributes && type(a, 0) == type(b, 0) && type(a, 1) == type(b, 1) &&
           best_.found.plan.ops[first].strategy == best_.found.plan.ops[second].strategy;
  }

  void Try(const Group& group) {
    std::string tried;
    for (int64_t chunks = 2; chunks <= kMostTried; chunks *= 2) {
      ir::Plan plan = best_.found.plan;
      const std::vector<ir::OpId> possible = ir::ProductsInChunks(graph_, plan, chunks);
      const auto is_possible = [&](ir::OpId op) { return std::binary_search(possible.begin(), possible.end(), op); };
      if (!std::all_of(group.ops.begin(), group.ops.end(), is_possible)) break;
      for (const ir::OpId op : group.ops) plan.ops[op].chunks = chunks;
      MeasuredPlan measured =
          *Measure(graph_, Found{.plan = std::move(plan), .program = std::nullopt}, cluster_, options_);
      absl::StrAppend(&tried, tried.empty() ? "" : ", ", FormatSeconds(measured.step), " in ", chunks, " chunks");
      const bool is_faster = measured.step.value() < (1 - kWorth) * best_.step.value() && Fits(measured);
      if (!is_faster) break;
      best_ = std::move(measured);
    }
    if (tried.empty()) return;
    const std::string why = absl::StrCat("a step takes ", FormatSeconds(before_), " without, ", tried);
    for (const ir::OpId op : group.ops) Explain(op, why, best_.found.plan);
    before_ = best_.step;
  }

  static void Explain(ir::OpId op, const std::string& why, ir::Plan& plan) {
    ir::OpPlan& planned = plan.ops[op];
    absl::StrAppend(&planned.reason, "; ");
    if (planned.chunks == 0) {
      absl::StrAppend(&planned.reason, "reduced as a whole: ", why);
    } else {
      absl::StrAppend(&planned.reason, "in ", planned.chunks,
                      " chunks, each of which is reduced beside the product of the next one: ", why);
    }
  }

  const ir::Graph& graph_;
  const Cluster& cluster_;
  const SearchOptions& options_;
  const std::optional<MemoryLimit> limit_;
  MeasuredPlan best_;
  Seconds before_ = best_.step;  // Without chunks of the group that is tried.
};

}  // namespace

std::optional<Found> SearchWithChunks(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                      const SearchOptions& options, Diagnostics& diagnostics) {
  std::optional<Found> found = SearchWithRings(graph, cluster, pins, options, diagnostics);
  const std::optional<int64_t> asked = pins.settings.collective_matmul;
  if (!found.has_value() || asked == 0 || cluster.devices() == 1) return found;
  const bool chooses = !asked.has_value();
  const bool is_by_time = options.price == ir::Price::kTime && options.objective != ir::Objective::kMemory;
  if (chooses && !(options.execution.overlaps && is_by_time)) return found;
  const ir::Graph planned = GraphOf(graph, found->plan);
  if (chooses && ir::ProductsInChunks(planned, found->plan, 2).empty()) return found;
  ChunkSearch search(planned, cluster, pins, options, *Measure(planned, std::move(found), cluster, options));
  if (chooses) return std::move(search).Choose();
  return std::move(search).Take(*asked, [&](const std::string& why) {
    diagnostics.Add(
        Warning(Code::kW0622, absl::StrCat("`collective_matmul = ", *asked, "`, and no product is computed in chunks"))
            .At(pins.settings.collective_matmul_span, "has no effect")
            .Note(why)
            .Help("`collective_matmul = auto`"));
  });
}

}  // namespace cleave::search
