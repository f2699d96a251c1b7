#include "search/memory/estimate.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "search/memory/measured.h"
#include "search/memory/memory.h"

namespace cleave::search {
namespace {

// Of the equal layers so many of the first and of the last are kept.
constexpr size_t kFirst = 1, kLast = 2;
// With fewer layers a program of all of them is made at once.
constexpr int64_t kFewest = 4 * (kFirst + 1 + kLast);

// Layers [begin, end) of the equal ones.
struct LayerRun {
  size_t begin = 0;
  size_t end = 0;
  int64_t layers = 0;  // Of the whole model.
};

// The longest run of layers that the plan treats alike. `times`: how many layers each stands for.
LayerRun LongestRun(const EqualLayers& equal, const std::vector<int64_t>& times, const ir::Plan& plan) {
  const auto is_alike = [&](ir::OpId a, ir::OpId b) {
    const ir::OpPlan& x = plan.ops[a];
    const ir::OpPlan& y = plan.ops[b];
    return x.strategy == y.strategy && x.output == y.output && x.retention == y.retention;
  };
  const std::vector<std::vector<ir::OpId>>& layers = equal.ops;
  LayerRun longest, run;
  for (size_t i = 0; i < layers.size(); ++i) {
    const bool continues = i > 0 && std::equal(layers[i - 1].begin(), layers[i - 1].end(), layers[i].begin(), is_alike);
    if (!continues) run = {.begin = i, .end = i, .layers = 0};
    run.end = i + 1;
    run.layers += times[i];
    if (run.layers > longest.layers) longest = run;
  }
  return longest;
}

// Gives each op of `plan` what the choice says of the op that `model_of` gives for it, if it gives one.
void Take(const RecomputeChoice& choice, const std::function<std::optional<ir::OpId>(ir::OpId)>& model_of,
          ir::Plan& plan) {
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const ir::OpId op(static_cast<int64_t>(i));
    const std::optional<ir::OpId> model = model_of(op);
    const auto found = model.has_value() ? choice.ops.find(*model) : choice.ops.end();
    if (found != choice.ops.end()) plan.ops[op].retention = found->second;
  }
}

}  // namespace

std::optional<RecomputeChoice> Estimate::ChoiceWithin(Bytes limit) const {
  if (peak <= limit) return RecomputeChoice{};
  return AtLeast() <= limit ? recomputation->Cheapest(limit - besides) : std::nullopt;
}

Estimator::Estimator(const SearchedGraph& model, const Cluster& cluster, const Execution& execution)
    : model_(model),
      graph_(model.graph()),
      cluster_(cluster),
      execution_(execution),
      equal_(graph_.is_manual() ? EqualLayers() : model.Layers()),
      whole_equal_(graph_.is_manual() || model.is_whole() ? equal_ : model.WholeLayers()) {
  const OpTimes times = model.Times();
  for (const std::vector<ir::OpId>& layer : equal_.ops) times_.push_back(times[layer[0]]);
}

std::optional<Estimator::LeftOut> Estimator::LeftOutOf(const ir::Plan& plan) const {
  const LayerRun run = LongestRun(equal_, times_, plan);
  if (run.layers < kFewest || run.end - run.begin < kFirst + 1 + kLast) return std::nullopt;
  return LeftOut{
      .begin = run.begin + kFirst, .end = run.end - kLast, .layers = run.layers - static_cast<int64_t>(kFirst + kLast)};
}

const Estimate* Estimator::Of(const ir::Plan& plan) {
  const Known* const known = KnownOf(plan);
  return known != nullptr ? &*known->estimate : nullptr;
}

// Null where there is no estimate.
const Estimator::Known* Estimator::KnownOf(const ir::Plan& plan) {
  const std::optional<LeftOut> layers = LeftOutOf(plan);
  if (!layers.has_value()) return nullptr;
  ir::Plan few = ShortPlan(GraphWithout(*layers), plan);
  auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& other) {
    return other.layers == *layers && other.plan.micro_batches == few.micro_batches &&
           other.plan.moves_steps == few.moves_steps && other.plan.ops == few.ops;
  });
  if (known == known_.end()) {
    known_.push_back({.layers = *layers, .plan = std::move(few), .estimate = Make(*layers, plan)});
    known = std::prev(known_.end());
  }
  return known->estimate.has_value() ? &*known : nullptr;
}

std::optional<Seconds> Estimator::StepWithin(const ir::Plan& plan, Bytes limit) {
  const Known* const known = KnownOf(plan);
  if (known == nullptr) return std::nullopt;
  const Seconds kept = known->estimate->step;
  const std::optional<RecomputeChoice> choice = known->estimate->ChoiceWithin(limit);
  if (!choice.has_value()) return std::nullopt;
  if (choice->if_all <= Seconds(0)) return kept;
  // Part of it may run beside communication, which programs show.
  const Shortened& few = GraphWithout(known->layers.AllButTheFirst());
  ir::Plan thrifty = plan;
  Take(
      *choice, [&](ir::OpId op) { return std::optional(few.stand_ins[op]); }, thrifty);
  const std::optional<Programs> made = ProgramsOf(known->layers, thrifty);
  if (!made.has_value()) return std::nullopt;
  const Seconds all = StepOfAll(*made, known->layers);
  return kept + (all - kept) * (choice->seconds.value() / choice->if_all.value());
}

std::optional<ir::Plan> Estimator::PlanWithin(const ir::Plan& plan, Bytes limit) {
  const Known* const known = KnownOf(plan);
  if (known == nullptr) return std::nullopt;
  const std::optional<RecomputeChoice> choice = known->estimate->ChoiceWithin(limit);
  if (!choice.has_value()) return std::nullopt;
  ir::Plan whole = model_.Lengthened(plan);
  Repeat(*choice, known->layers, whole);
  return whole;
}

// Gives `whole` a choice for the program in which the first of `layers` stands for all of them.
void Estimator::Repeat(const RecomputeChoice& choice, const LeftOut& layers, ir::Plan& whole) {
  const Shortened& few = GraphWithout(layers.AllButTheFirst());
  IdVector<ir::OpId, std::optional<ir::OpId>> models;  // The op of the program whose choice each op takes.
  for (const ir::OpId op : model_.StandIns()) models.push_back(few.stand_ins[op]);
  const int64_t first =
      std::accumulate(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(layers.begin), int64_t{0});
  const std::vector<ir::OpId>& alike = equal_.ops[layers.begin];
  for (int64_t layer = 0; layer < layers.layers; ++layer) {
    const std::vector<ir::OpId>& own = whole_equal_.ops[static_cast<size_t>(first + layer)];
    const bool is_beyond = static_cast<double>(layer) >= choice.share * static_cast<double>(layers.layers);
    for (size_t place = 0; place < own.size(); ++place) {
      const ir::OpId model = few.stand_ins[alike[place]];
      const bool keeps = is_beyond && choice.partly.count(model) > 0;
      models[own[place]] = keeps ? std::nullopt : std::optional(model);
    }
  }
  Take(
      choice, [&](ir::OpId op) { return models[op]; }, whole);
}

std::optional<Estimator::Programs> Estimator::ProgramsOf(const LeftOut& layers, const ir::Plan& plan) {
  std::optional<PlannedProgram> few = ProgramWithout(layers, plan);
  if (!few.has_value()) return std::nullopt;
  std::optional<PlannedProgram> more = ProgramWithout(layers.AllButTheFirst(), plan);
  if (!more.has_value()) return std::nullopt;
  return Programs{.few = *std::move(few), .more = *std::move(more)};
}

Seconds Estimator::StepOfAll(const Programs& made, const LeftOut& layers) const {
  const Seconds more = StepOf(made.more, cluster_, execution_);
  return more + (more - StepOf(made.few, cluster_, execution_)) * static_cast<double>(layers.others());
}

std::optional<Estimate> Estimator::Make(const LeftOut& layers, const ir::Plan& plan) {
  const std::optional<Programs> made = ProgramsOf(layers, plan);
  if (!made.has_value()) return std::nullopt;
  const Shortened& graph = GraphWithout(layers.AllButTheFirst());
  OpTimes times(graph.graph.ops.size(), 1);
  for (const ir::OpId op : equal_.ops[layers.begin]) times[graph.stand_ins[op]] = layers.layers;
  const Bytes peak = PeakOf(made->more);
  Estimate estimate{.peak = peak + (peak - PeakOf(made->few)) * layers.others(),
                    .least = Bytes(0),
                    .step = StepOfAll(*made, layers),
                    .recomputation = RecomputationOf(made->more, cluster_, {}, {}, times)};
  estimate.least = estimate.recomputation->LeastPeak();
  estimate.besides = std::max(Bytes(0), estimate.peak - estimate.recomputation->PeakAsAsked());
  return estimate;
}

const Shortened& Estimator::GraphWithout(const LeftOut& layers) {
  auto found = shortened_.find(layers);
  if (found == shortened_.end()) {
    found = shortened_.emplace(layers, WithoutLayers(graph_, equal_, layers.begin, layers.end)).first;
  }
  return found->second;
}

std::optional<PlannedProgram> Estimator::ProgramWithout(const LeftOut& layers, const ir::Plan& plan) {
  const Shortened& few = GraphWithout(layers);
  absl::StatusOr<PlannedProgram> made = ProgramOf(few.graph, ShortPlan(few, plan), execution_);
  return made.ok() ? std::optional(*std::move(made)) : std::nullopt;
}

}  // namespace cleave::search
