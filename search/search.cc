#include "search/search.h"

#include <chrono>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "search/assignment/assignment.h"
#include "search/baselines/baselines.h"
#include "search/cost/cost.h"
#include "search/cost/facts.h"
#include "search/pins/pins.h"
#include "search/sapp/bundles.h"
#include "search/sapp/reasons.h"
#include "search/sapp/sapp.h"
#include "search/warnings.h"
#include "search/zero/zero.h"

namespace cleave {
namespace {

// Settings that this version cannot honour: refused, not ignored.
bool CheckSupported(const Pins& pins, const SearchOptions& options, Diagnostics& diagnostics) {
  const auto refuse = [&](const std::string& what, const Span& place, const std::string& help) {
    Diagnostic error = Error(Code::kE0220, absl::StrCat("`", what, "` is not supported by this version"));
    if (!(place == Span{})) error.labels.push_back({place, "asked for here"});
    error.help.push_back(help);
    diagnostics.Add(std::move(error));
  };
  const ParallelSettings& settings = pins.settings;
  switch (options.algorithm) {
    case SearchAlgorithm::kSapp:
    case SearchAlgorithm::kDataParallel:
    case SearchAlgorithm::kReplicate:
      break;
    case SearchAlgorithm::kPropagate:
    case SearchAlgorithm::kExact:
    case SearchAlgorithm::kManual:
      refuse(absl::StrCat("search = ", AlgorithmName(options.algorithm)), settings.search_span,
             "use `sapp`, `data_parallel` or `replicate`");
  }
  if (options.price == Price::kTime) refuse("cost = time", settings.cost_span, "use `bytes` or `classic`");
  if (settings.objective != Objective::kSpeed)
    refuse("objective", settings.objective_span, "leave it out, or set `objective = speed`");
  if (settings.memory.has_value())
    refuse("memory", settings.memory->span, "leave it out: plans have no memory limit yet");
  return !diagnostics.has_errors();
}

}  // namespace

SearchOptions OptionsFrom(const ParallelSettings& settings) {
  SearchOptions options{.algorithm = settings.search,
                        .price = settings.cost,
                        .gradient_weight = settings.gradient_weight,
                        .dataset = std::nullopt,
                        .zero = static_cast<int>(settings.zero)};
  if (settings.dataset_given) options.dataset = settings.dataset;
  return options;
}

absl::string_view AlgorithmName(SearchAlgorithm algorithm) {
  switch (algorithm) {
    case SearchAlgorithm::kSapp:
      return "sapp";
    case SearchAlgorithm::kPropagate:
      return "propagate";
    case SearchAlgorithm::kExact:
      return "exact";
    case SearchAlgorithm::kDataParallel:
      return "data_parallel";
    case SearchAlgorithm::kReplicate:
      return "replicate";
    case SearchAlgorithm::kManual:
      return "manual";
  }
  return "";
}

std::optional<SearchAlgorithm> ParseAlgorithm(absl::string_view name) {
  for (const SearchAlgorithm algorithm :
       {SearchAlgorithm::kSapp, SearchAlgorithm::kPropagate, SearchAlgorithm::kExact, SearchAlgorithm::kDataParallel,
        SearchAlgorithm::kReplicate, SearchAlgorithm::kManual}) {
    if (AlgorithmName(algorithm) == name) return algorithm;
  }
  return std::nullopt;
}

absl::string_view PriceName(Price price) {
  switch (price) {
    case Price::kBytes:
      return "bytes";
    case Price::kClassic:
      return "classic";
    case Price::kTime:
      return "time";
  }
  return "";
}

std::optional<Plan> Search(const Graph& training_graph, const Cluster& cluster, const Pins& pins,
                           const SearchOptions& options, Diagnostics& diagnostics) {
  const auto start = std::chrono::steady_clock::now();
  if (!CheckSupported(pins, options, diagnostics)) return std::nullopt;
  const std::optional<Mesh> mesh = MeshFor(cluster, pins.settings.mesh, pins.settings.mesh_span, diagnostics);
  if (!mesh.has_value()) return std::nullopt;
  const GraphFacts facts = FactsOf(training_graph);
  const std::optional<std::map<OpId, Demand>> demands = ResolvePins(facts, *mesh, pins.pins, diagnostics);
  if (!demands.has_value()) return std::nullopt;

  Assignment assignment(facts, *mesh, {.gradient_weight = options.gradient_weight, .dataset = options.dataset},
                        *demands);
  const Bundles bundles = FindBundles(facts);
  ReasonOptions reasons{.searched = false, .rule = "", .classic = options.price == Price::kClassic};
  std::optional<double> cost;
  switch (options.algorithm) {
    case SearchAlgorithm::kSapp:
      cost = Sapp(assignment, bundles, {.price = options.price, .work = options.work});
      reasons.searched = true;
      break;
    case SearchAlgorithm::kDataParallel:
      DataParallel(assignment);
      reasons.rule = "data_parallel cuts the batch on every mesh axis";
      break;
    case SearchAlgorithm::kReplicate:
      Replicate(assignment);
      reasons.rule = "replicate cuts nothing";
      break;
    case SearchAlgorithm::kPropagate:
    case SearchAlgorithm::kExact:
    case SearchAlgorithm::kManual:
      CLEAVE_UNREACHABLE();
  }
  CLEAVE_CHECK(assignment.cost().impossible == 0) << "a value is read in a layout in which it cannot be made";

  Plan plan{
      .cluster = cluster.name, .mesh = *mesh, .ops = {}, .gradient_weight = options.gradient_weight, .search = {}};
  plan.search = {.algorithm = std::string(AlgorithmName(options.algorithm)),
                 .objective = "speed",
                 .price = std::string(PriceName(options.price)),
                 .seconds = 0,
                 .cost = cost.value_or(assignment.cost().bytes),
                 .lower_bound = std::nullopt};
  plan.ops = PlansWithReasons(assignment, bundles, *demands, reasons);
  for (OpId op : BrokenDemands(facts, plan, *demands)) {
    CLEAVE_CHECK(false) << "the plan does not keep the pin on " << facts.op(op).name;
  }
  if (options.zero > 0) {
    ShardReplicas(facts, *demands, options.zero, plan);
    plan.search.zero = options.zero;
    plan.search.cost = PlanCost(training_graph, plan).bytes;
  }
  WarnOfIdleRanks(facts, plan, *demands, pins, diagnostics);
  plan.search.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return plan;
}

}  // namespace cleave
