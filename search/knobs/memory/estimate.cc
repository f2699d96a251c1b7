// Reading guide: Make compares a program without the repeated layers with one that has one more of them (MoreOf). With
// does so for a choice of recomputation, which some layers make in full and others in part; WholeWith writes such a
// choice into the plan of the whole model (Take).
#include "search/knobs/memory/estimate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "base/parallel/parallel.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"

namespace cleave::search {
namespace {

// How many of the first and of the last equal layers a program of few layers has.
constexpr size_t kFirst = 1, kLast = 2;
// How many of the others it has: one that makes a choice again in full, one that makes a part of it again.
constexpr size_t kMost = 2;
// With fewer equal layers there is no estimate.
constexpr int64_t kFewest = 4 * (kFirst + 1 + kLast);

// Layers [begin, end) of the equal ones.
struct LayerRun {
  size_t begin = 0;
  size_t end = 0;
  int64_t layers = 0;  // Of the whole model.
};

// The longest run of layers with equal plans. `times`: how many layers each stands for.
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

// How many of `layers` layers make all of the choice again.
int64_t AgainOf(const RecomputeChoice& choice, int64_t layers) {
  if (choice.partly.empty()) return layers;
  return std::min(layers, static_cast<int64_t>(std::ceil(choice.share * static_cast<double>(layers))));
}

// Sets the retention of each op of `plan` to that of `models[op]` in the choice. Ops of the layers `kept` do not get
// the retentions in `choice.partly`.
void Take(const RecomputeChoice& choice, const IdVector<ir::OpId, ir::OpId>& models,
          const std::vector<std::vector<ir::OpId>>& kept, ir::Plan& plan) {
  std::set<ir::OpId> keep;
  for (const std::vector<ir::OpId>& layer : kept) {
    std::copy_if(layer.begin(), layer.end(), std::inserter(keep, keep.end()),
                 [&](ir::OpId op) { return choice.partly.count(models[op]) > 0; });
  }
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const ir::OpId op(static_cast<int64_t>(i));
    const auto found = choice.ops.find(models[op]);
    if (found != choice.ops.end() && keep.count(op) == 0) plan.ops[op].retention = found->second;
  }
}

// `all` plus `times` the difference between `with` and `without`.
Estimator::Taken MoreOf(const Estimator::Taken& all, const Estimator::Taken& with, const Estimator::Taken& without,
                        int64_t times) {
  return {.peak = all.peak + (with.peak - without.peak) * times,
          .step = all.step + (with.step - without.step) * static_cast<double>(times)};
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
  if (run.layers < kFewest || run.end - run.begin < kFirst + kMost + kLast) return std::nullopt;
  return LeftOut{.begin = run.begin + kFirst,
                 .end = run.end - kLast,
                 .layers = run.layers - static_cast<int64_t>(kFirst + kLast),
                 .whole = run.layers};
}

const Estimate* Estimator::Of(const ir::Plan& plan) {
  const Known* const known = KnownOf(plan);
  return known != nullptr ? &*known->estimate : nullptr;
}

// Null where there is no estimate.
const Estimator::Known* Estimator::KnownOf(const ir::Plan& plan) {
  const std::optional<LeftOut> layers = LeftOutOf(plan);
  if (!layers.has_value()) return nullptr;
  ir::Plan few = FewOf(*layers, plan).plan;
  auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& other) {
    return other.layers == *layers && other.plan.micro_batches == few.micro_batches && other.plan.ops == few.ops;
  });
  if (known == known_.end()) {
    known_.push_back({.layers = *layers, .plan = std::move(few), .estimate = Make(*layers, plan)});
    known = std::prev(known_.end());
  }
  return known->estimate.has_value() ? &*known : nullptr;
}

std::optional<Estimator::Taken> Estimator::With(const ir::Plan& plan, const RecomputeChoice& choice) {
  const LeftOut& layers = KnownOf(plan)->layers;
  const int64_t again = AgainOf(choice, layers.layers);
  const int64_t kept = layers.layers - again;
  const auto with_few = [&](bool is_needed, bool has_again, bool has_kept) {
    std::optional<Few> few;
    if (is_needed) few = FewWith(layers, plan, choice, has_again, has_kept);
    return [this, few = std::move(few)] { return few.has_value() ? TakenBy(*few) : std::optional(Taken()); };
  };
  const auto [one_of_each, without_again, without_kept] =
      InParallel(with_few(/*is_needed=*/true, again > 0, kept > 0), with_few(again > 1, /*has_again=*/false, kept > 0),
                 with_few(kept > 1, again > 0, /*has_kept=*/false));
  if (!one_of_each.has_value() || !without_again.has_value() || !without_kept.has_value()) return std::nullopt;
  Taken taken = *one_of_each;
  if (again > 1) taken = MoreOf(taken, *one_of_each, *without_again, again - 1);
  if (kept > 1) taken = MoreOf(taken, *one_of_each, *without_kept, kept - 1);
  return taken;
}

std::optional<Estimator::Thrifty> Estimator::Smallest(const ir::Plan& plan) {
  const Estimate* const estimate = Of(plan);
  if (estimate == nullptr) return std::nullopt;
  Thrifty kept{.again = {}, .taken = {.peak = estimate->peak, .step = estimate->step}};
  RecomputeChoice again = estimate->recomputation->Smallest();
  const std::optional<Taken> taken = With(plan, again);
  // Gaps in the arena may take more than recomputation saves.
  if (!taken.has_value() || taken->peak >= kept.taken.peak) return kept;
  return Thrifty{.again = std::move(again), .taken = *taken};
}

ir::Plan Estimator::WholeWith(const ir::Plan& plan, const RecomputeChoice& choice) {
  const LeftOut& layers = KnownOf(plan)->layers;
  const Shortened& few = GraphWithout(layers.AllBut(1));
  ir::Plan whole = model_.Lengthened(plan);
  IdVector<ir::OpId, ir::OpId> models;  // By op, the op of the program of few layers whose retention it gets.
  for (const ir::OpId op : model_.StandIns()) models.push_back(few.stand_ins[op]);
  const int64_t first =
      std::accumulate(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(layers.begin), int64_t{0});
  std::vector<std::vector<ir::OpId>> kept;
  const int64_t again = AgainOf(choice, layers.layers);
  const std::vector<ir::OpId>& alike = equal_.ops[layers.begin];
  for (int64_t layer = 0; layer < layers.layers; ++layer) {
    const std::vector<ir::OpId>& own = whole_equal_.ops[static_cast<size_t>(first + layer)];
    for (size_t place = 0; place < own.size(); ++place) models[own[place]] = few.stand_ins[alike[place]];
    if (layer >= again) kept.push_back(own);
  }
  Take(choice, models, kept, whole);
  return whole;
}

// The plan of few layers with one of the left-out layers that makes all of the choice again (`has_again`), one that
// makes a part of it again (`has_kept`), or both.
Estimator::Few Estimator::FewWith(const LeftOut& layers, const ir::Plan& plan, const RecomputeChoice& choice,
                                  bool has_again, bool has_kept) {
  const int64_t again = has_again ? 1 : 0;
  const int64_t kept = has_kept ? 1 : 0;
  Few few = FewOf(layers.AllBut(again + kept), plan);
  const Shortened& model = GraphWithout(layers.AllBut(1));
  IdVector<ir::OpId, ir::OpId> models;
  for (const ir::OpId op : few.model->originals) models.push_back(model.stand_ins[op]);
  std::vector<std::vector<ir::OpId>> kept_layers;
  for (int64_t layer = again; layer < again + kept; ++layer) {
    std::vector<ir::OpId>& ops = kept_layers.emplace_back();
    for (const ir::OpId op : equal_.ops[layers.begin + static_cast<size_t>(layer)]) {
      ops.push_back(few.model->stand_ins[op]);
    }
  }
  Take(choice, models, kept_layers, few.plan);
  return few;
}

Estimator::Few Estimator::FewOf(const LeftOut& layers, const ir::Plan& plan) {
  const Shortened& few = GraphWithout(layers);
  ir::Plan own = ShortPlan(few, plan);
  own.moves_steps = false;
  return {.model = &few, .plan = std::move(own), .layers = layers.PartThatIsLeft()};
}

absl::StatusOr<ir::LoweredProgram> Estimator::ProgramOf(const Few& few) const {
  return search::ProgramOf(few.model->graph, few.plan, cluster_, execution_, few.layers);
}

Estimator::Taken Estimator::TakenBy(const ir::LoweredProgram& program) const {
  return {.peak = PeakOf(program), .step = StepOf(program, cluster_, execution_)};
}

std::optional<Estimator::Taken> Estimator::TakenBy(const Few& few) const {
  const absl::StatusOr<ir::LoweredProgram> made = ProgramOf(few);
  return made.ok() ? std::optional(TakenBy(*made)) : std::nullopt;
}

std::optional<Estimate> Estimator::Make(const LeftOut& layers, const ir::Plan& plan) {
  const LeftOut others = layers.AllBut(1);
  const Few few = FewOf(layers, plan), more = FewOf(others, plan);
  const auto [without, made] = InParallel([&] { return TakenBy(few); }, [&] { return ProgramOf(more); });
  if (!without.has_value() || !made.ok()) return std::nullopt;
  OpTimes times(more.model->graph.ops.size(), 1);
  for (const ir::OpId op : equal_.ops[layers.begin]) times[more.model->stand_ins[op]] = layers.layers;
  const Taken with = TakenBy(*made);
  const Taken all = MoreOf(with, with, *without, others.layers);
  Estimate estimate{.peak = all.peak,
                    .least = Bytes(0),
                    .step = all.step,
                    .recomputation = RecomputationOf(*made, cluster_, {}, {}, times)};
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

}  // namespace cleave::search
