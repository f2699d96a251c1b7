#include "search/propagate/waves.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/layer_names/layer_names.h"
#include "search/sapp/choices.h"

namespace cleave::search {
namespace {

constexpr int kClasses = 3;  // Products, light ops, sources.

bool CutsBy(const Assignment& assignment, ir::OpId op, const AxisGroup& group) {
  return search::CutsBy(assignment.strategy(op), group) || search::CutsBy(assignment.seen(op), group);
}

// Products at the same place of repeated layers whose rules are equal, in the order of the first product of each list.
std::vector<std::vector<ir::OpId>> TwinsIn(const GraphFacts& facts) {
  std::map<std::pair<std::string, int>, size_t> index;
  std::vector<std::vector<ir::OpId>> twins;
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] != Role::kProduct) continue;
    const std::pair place(LayerNameOf(op.name).place, facts.rule_of[op.id]);
    const auto [found, is_new] = index.emplace(place, twins.size());
    if (is_new) twins.emplace_back();
    twins[found->second].push_back(op.id);
  }
  return twins;
}

}  // namespace

ir::Strategy WithRestPlaced(ir::Strategy strategy, const ir::Rule& rule, const ir::Mesh& mesh, const AxisGroup& group) {
  for (ir::AxisId axis : group) {
    if (FactorCutBy(strategy, axis) >= 0) continue;
    const std::vector<int> factors = FactorsFor(strategy, rule, mesh, axis);
    if (!factors.empty()) strategy = *Moved(strategy, rule, mesh, factors[0], axis);
  }
  return strategy;
}

Waves::Waves(Assignment& assignment, std::vector<AxisGroup> groups, std::vector<Seed> seeds)
    : assignment_(assignment),
      facts_(assignment.facts()),
      offers_(assignment),
      groups_(std::move(groups)),
      seeds_(std::move(seeds)),
      followed_(groups_.size(), IdVector<ir::OpId, std::optional<Followed>>(facts_.graph->ops.size())) {
  std::sort(seeds_.begin(), seeds_.end(), [&](const Seed& a, const Seed& b) {
    return std::tuple(a.priority, ClassOf(a.op), a.op) < std::tuple(b.priority, ClassOf(b.op), b.op);
  });
  for (size_t group = 0; group < groups_.size(); ++group) {
    for (const Seed& seed : seeds_) {
      if (!CutsBy(assignment_, seed.op, groups_[group])) continue;
      followed_[group][seed.op] = Followed{.pin = seed.op, .neighbour = seed.op};
    }
  }
}

bool Waves::IsFree(ir::OpId op) const { return facts_.is_set(op) && !assignment_.fixed(op); }

int Waves::ClassOf(ir::OpId op) const {
  if (facts_.roles[op] == Role::kProduct) return 0;
  return facts_.roles[op] == Role::kLight ? 1 : 2;
}

void Waves::Run() {
  for (const ir::Op& op : facts_.graph->ops) {
    if (IsFree(op.id)) assignment_.SetDecided(op.id, false);
  }
  const auto activate = [&](ir::OpId op, bool active) {
    assignment_.SetDecided(op, active);
    offers_.SetActive(op, active);
  };
  for (const Seed& seed : seeds_) activate(seed.op, false);
  std::set<int64_t> priorities;
  for (const Seed& seed : seeds_) priorities.insert(seed.priority);
  for (int64_t priority : priorities) {
    for (const Seed& seed : seeds_) {
      if (seed.priority == priority) activate(seed.op, true);
    }
    for (size_t group = 0; group < groups_.size(); ++group) {
      OpenAll(group);
      for (int op_class = 0; op_class < kClasses; ++op_class) {
        Level level;
        Start(group, op_class, priority, level);
        Flood(group, std::move(level));
      }
    }
    if (priority == *priorities.rbegin()) {
      for (size_t group = 0; group < groups_.size(); ++group) {
        OpenAll(group);
        Level level;
        while (CutTwins(group, level)) Flood(group, std::exchange(level, {}));
      }
    }
    LookAgain();
  }
}

// While a wave runs, only ops that its axes cut are decided; the others may still follow.
void Waves::OpenAll(size_t group) {
  for (const ir::Op& op : facts_.graph->ops) {
    if (IsFree(op.id)) assignment_.SetDecided(op.id, CutsBy(assignment_.strategy(op.id), groups_[group]));
  }
}

void Waves::Start(size_t group, int op_class, int64_t priority, Level& level) {
  for (const Seed& seed : seeds_) {
    if (seed.priority > priority || ClassOf(seed.op) != op_class) continue;
    if (!CutsBy(assignment_, seed.op, groups_[group])) continue;
    // A pin only on the value does not say how the op makes it.
    if (IsFree(seed.op)) level.insert({op_class, seed.op});
    AddNeighbours(seed.op, group, level);
  }
}

void Waves::AddNeighbours(ir::OpId op, size_t group, Level& level) const {
  for (ir::OpId neighbour : offers_.Neighbours(op)) {
    if (!CutsBy(assignment_.strategy(neighbour), groups_[group])) level.insert({ClassOf(neighbour), neighbour});
  }
}

void Waves::Flood(size_t group, Level level) {
  while (!level.empty()) {
    Level next;
    for (const auto& [op_class, op] : level) {
      if (!CutsBy(assignment_.strategy(op), groups_[group]) && Reach(op, group)) AddNeighbours(op, group, next);
    }
    level = std::move(next);
  }
}

bool Waves::Reach(ir::OpId op, size_t group) {
  std::vector<Candidate> candidates = Candidates(op, group);
  if (candidates.empty()) return false;
  assignment_.SetDecided(op, true);
  if (facts_.roles[op] == Role::kLight) candidates.push_back({.strategy = assignment_.strategy(op), .from = op});
  Cost least;
  const Candidate* best = Cheapest(op, group, candidates, &least);
  if (!CutsBy(best->strategy, groups_[group])) {
    assignment_.SetDecided(op, false);
    return false;
  }
  round_.push_back(op);
  SetCut(op, group, *best);
  return true;
}

void Waves::SetCut(ir::OpId op, size_t group, const Candidate& candidate) {
  assignment_.Apply(std::vector<Change>{{op, candidate.strategy}});
  std::optional<Followed>& followed = followed_[group][op];
  if (!CutsBy(candidate.strategy, groups_[group])) {
    followed.reset();
    return;
  }
  const std::optional<Followed>& from = followed_[group][candidate.from];
  followed = Followed{.pin = from.has_value() ? from->pin : candidate.from, .neighbour = candidate.from};
}

std::vector<Waves::Candidate> Waves::Candidates(ir::OpId op, size_t group) const {
  const AxisGroup& axes = groups_[group];
  const std::vector<Offer> offers = offers_.To(op, axes);
  const ir::Strategy without = WithoutGroup(assignment_.strategy(op), axes);
  std::vector<Candidate> candidates;
  for (const Offer& first : offers) {
    ir::Strategy strategy = TakeOffer(assignment_, op, without, first, axes);
    if (!CutsBy(strategy, axes)) continue;
    for (const Offer& other : offers) strategy = TakeOffer(assignment_, op, std::move(strategy), other, axes);
    if (facts_.roles[op] == Role::kProduct) {
      strategy = WithRestPlaced(std::move(strategy), facts_.rule(op), assignment_.mesh(), axes);
    }
    candidates.push_back({.strategy = std::move(strategy), .from = first.from});
  }
  if (candidates.empty() && !offers.empty() && facts_.roles[op] == Role::kProduct) {
    return OtherFactors(op, without, axes, offers[0].from);
  }
  return candidates;
}

std::vector<Waves::Candidate> Waves::OtherFactors(ir::OpId op, const ir::Strategy& without, const AxisGroup& group,
                                                  ir::OpId from) const {
  const ir::Rule& rule = facts_.rule(op);
  const ir::Mesh& mesh = assignment_.mesh();
  std::vector<Candidate> candidates;
  for (int factor : FactorsFor(without, rule, mesh, group[0])) {
    ir::Strategy strategy = without;
    for (ir::AxisId axis : group) {
      const std::vector<int> fitting = FactorsFor(strategy, rule, mesh, axis);
      if (std::find(fitting.begin(), fitting.end(), factor) == fitting.end()) break;
      strategy = *Moved(strategy, rule, mesh, factor, axis);
    }
    candidates.push_back({.strategy = WithRestPlaced(std::move(strategy), rule, mesh, group), .from = from});
  }
  return candidates;
}

// The best of `candidates`, which are not empty; `least` becomes its cost.
const Waves::Candidate* Waves::Cheapest(ir::OpId op, size_t group, const std::vector<Candidate>& candidates,
                                        Cost* least) {
  const bool product = facts_.roles[op] == Role::kProduct;
  const Candidate* best = nullptr;
  int most = 0;
  for (const Candidate& candidate : candidates) {
    const int mark = assignment_.mark();
    assignment_.Apply(std::vector<Change>{{op, candidate.strategy}});
    const Cost cost = MovesAround(op);
    assignment_.Rollback(mark);
    const int used = AxesUsed(candidate.strategy, groups_[group]);
    const bool more = used > most;
    const bool cheaper = best == nullptr || Cheaper(cost, *least);
    const bool equal = best != nullptr && !cheaper && !Cheaper(*least, cost);
    const bool better = product && used != most ? more : cheaper || (equal && more);
    if (best != nullptr && !better) continue;
    best = &candidate;
    *least = cost;
    most = used;
  }
  return best;
}

// The cost of redistributing the values that the op and its gradients make and read. Gradients of parameters do not
// count, because they are not between neighbours.
Cost Waves::MovesAround(ir::OpId op) const {
  std::set<ir::OpId> values = {op};
  const auto add_inputs = [&](ir::OpId id) {
    for (ir::OpId input : facts_.op(id).inputs) values.insert(input);
  };
  add_inputs(op);
  for (ir::OpId heir : facts_.inheritors[op]) {
    values.insert(heir);
    add_inputs(heir);
    for (const Read& read : facts_.reads[heir]) {
      if (facts_.roles[read.reader] == Role::kSum) values.insert(read.reader);
    }
  }
  Cost total;
  for (ir::OpId value : values) {
    if (!facts_.gradient[value]) total = total + assignment_.value_cost(value);
  }
  return total;
}

// Gives products that no wave reached the cut of the same product in another of the repeated layers.
bool Waves::CutTwins(size_t group, Level& level) {
  const AxisGroup& axes = groups_[group];
  bool any = false;
  for (const std::vector<ir::OpId>& twins : TwinsIn(facts_)) {
    const auto model =
        std::find_if(twins.begin(), twins.end(), [&](ir::OpId op) { return CutsBy(assignment_.strategy(op), axes); });
    if (model == twins.end()) continue;
    for (ir::OpId twin : twins) {
      if (!IsFree(twin) || CutsBy(assignment_.strategy(twin), axes)) continue;
      ir::Strategy strategy = assignment_.strategy(twin);
      for (ir::AxisId axis : axes) {
        const int factor = FactorCutBy(assignment_.strategy(*model), axis);
        if (factor < 0) continue;
        strategy = Moved(strategy, facts_.rule(twin), assignment_.mesh(), factor, axis).value_or(strategy);
      }
      if (!CutsBy(strategy, axes)) continue;
      assignment_.SetDecided(twin, true);
      round_.push_back(twin);
      SetCut(twin, group, {.strategy = strategy, .from = *model});
      AddNeighbours(twin, group, level);
      any = true;
    }
  }
  return any;
}

void Waves::LookAgain() {
  for (const ir::Op& op : facts_.graph->ops) {
    if (IsFree(op.id)) assignment_.SetDecided(op.id, true);
  }
  std::sort(round_.begin(), round_.end());
  round_.erase(std::unique(round_.begin(), round_.end()), round_.end());
  bool improved = true;
  for (int sweep = 0; sweep < assignment_.options().tuning.propagation_sweeps && improved; ++sweep) {
    improved = false;
    for (ir::OpId op : round_) {
      for (size_t group = 0; group < groups_.size(); ++group) improved |= Improve(op, group);
    }
  }
  round_.clear();
}

bool Waves::Improve(ir::OpId op, size_t group) {
  if (!CutsBy(assignment_.strategy(op), groups_[group])) return false;
  std::vector<Candidate> candidates = Candidates(op, group);
  if (facts_.roles[op] == Role::kLight) {
    candidates.push_back({.strategy = WithoutGroup(assignment_.strategy(op), groups_[group]), .from = op});
  }
  const int used = AxesUsed(assignment_.strategy(op), groups_[group]);
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& candidate) {
                                    return facts_.roles[op] == Role::kProduct &&
                                           AxesUsed(candidate.strategy, groups_[group]) < used;
                                  }),
                   candidates.end());
  if (candidates.empty()) return false;
  const Cost before = MovesAround(op);
  Cost least;
  const Candidate* best = Cheapest(op, group, candidates, &least);
  if (best->strategy == assignment_.strategy(op) || !Cheaper(least, before)) return false;
  SetCut(op, group, *best);
  return true;
}

}  // namespace cleave::search
