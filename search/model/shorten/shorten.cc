// Reading guide: LayersOf sorts ops into layers by the passes of the model's loops, AreEqual compares neighbouring
// layers, Shortener copies the ops that are kept, Lengthened copies the plan of kept layers to all others.
#include "search/model/shorten/shorten.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check/check.h"
#include "ir/graph/roles.h"

namespace cleave::search {
namespace {

// The position of an op: its stack of layers (-1: none), its layer in that, and its index in the layer.
struct Position {
  int stack = -1;
  int64_t layer = 0;
  int place = -1;
};

// By layer of the stack, its ops by index.
using Stack = std::map<int64_t, std::map<int, ir::OpId>>;

struct Layers {
  IdVector<ir::OpId, Position> positions;
  std::vector<Stack> stacks;
};

// A loop, in certain passes of the loops around it.
using Loop = std::pair<ir::LoopPasses, ir::TextPlace>;

Loop LoopOf(const ir::LoopPasses& passes, size_t depth) {
  return {ir::LoopPasses(passes.begin(), passes.begin() + static_cast<std::ptrdiff_t>(depth)), passes[depth].loop};
}

// By stack, the first one of those that are joined with it: loops with equal numbers of passes that do not read each
// other's ops, such as two towers, or two recurrent layers over one sequence, the second of which reads the
// concatenated results of the first.
std::vector<int> JoinedStacks(const ir::Graph& graph, const Layers& layers) {
  std::set<std::pair<int, int>> related;
  for (const ir::Op& op : graph.ops) {
    const int to = layers.positions[op.id].stack;
    for (const ir::OpId input : op.inputs) {
      const int from = layers.positions[input].stack;
      if (to >= 0 && from >= 0 && to != from) related.insert(std::minmax(to, from));
    }
  }
  std::vector<int> first(layers.stacks.size());
  std::iota(first.begin(), first.end(), 0);
  std::map<std::vector<int64_t>, std::vector<int>> by_numbers;
  for (int stack = 0; stack < static_cast<int>(first.size()); ++stack) {
    std::vector<int64_t> numbers;
    for (const auto& [layer, ops] : layers.stacks[static_cast<size_t>(stack)]) numbers.push_back(layer);
    std::vector<int>& alike = by_numbers[std::move(numbers)];
    const bool is_apart = std::none_of(alike.begin(), alike.end(),
                                       [&](int other) { return related.count(std::minmax(stack, other)) > 0; });
    if (!is_apart) continue;
    if (!alike.empty()) first[static_cast<size_t>(stack)] = alike.front();
    alike.push_back(stack);
  }
  return first;
}

// The layers that loops at `depth` repeat.
Layers LayersOf(const ir::Graph& graph, size_t depth) {
  Layers layers;
  std::map<Loop, int> stacks;
  std::map<std::pair<ir::TextPlace, ir::LoopPasses>, int> places;  // Of the text, and the passes of other loops.
  for (const ir::Op& op : graph.ops) {
    const ir::LoopPasses& passes = op.repetition.passes;
    if (passes.size() <= depth) {
      layers.positions.push_back({});
      continue;
    }
    const int stack = stacks.emplace(LoopOf(passes, depth), static_cast<int>(stacks.size())).first->second;
    const int64_t layer = passes[depth].number;
    ir::LoopPasses others = passes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(depth));
    const auto place =
        places.emplace(std::pair(op.repetition.place, std::move(others)), static_cast<int>(places.size())).first;
    layers.positions.push_back({.stack = stack, .layer = layer, .place = place->second});
    layers.stacks.resize(stacks.size());
    layers.stacks[static_cast<size_t>(stack)][layer].emplace(place->second, op.id);
  }
  return layers;
}

// The same with each stack joined with `joined`.
Layers WithJoined(Layers layers, const std::vector<int>& joined) {
  for (size_t stack = 0; stack < joined.size(); ++stack) {
    Stack& first = layers.stacks[static_cast<size_t>(joined[stack])];
    if (&first == &layers.stacks[stack]) continue;
    for (auto& [layer, ops] : layers.stacks[stack]) first[layer].merge(ops);
    layers.stacks[stack].clear();
  }
  for (Position& position : layers.positions) {
    if (position.stack >= 0) position.stack = joined[static_cast<size_t>(position.stack)];
  }
  return layers;
}

// What tells equal layers apart: which random numbers they draw, which matrix they store, and which part of a tensor
// they read or make.
bool MayDiffer(const std::string& attribute) {
  return attribute == ir::attribute::kKey.name || attribute == ir::attribute::kStores.name ||
         attribute == ir::attribute::kBegin.name || attribute == ir::attribute::kEnd.name ||
         attribute == ir::attribute::kBefore.name || attribute == ir::attribute::kAfter.name;
}

bool HaveEqualAttributes(const ir::Op& a, const ir::Op& b) {
  const ir::Attributes::Values &of_a = a.attributes.values(), &of_b = b.attributes.values();
  return &of_a == &of_b ||
         std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), [](const auto& x, const auto& y) {
           return x.first == y.first && (x.second == y.second || MayDiffer(x.first));
         });
}

class Comparison {
 public:
  Comparison(const ir::Graph& graph, const Layers& layers)
      : graph_(graph), layers_(layers), outside_readers_(graph.ops.size()) {
    for (const ir::Op& op : graph.ops) {
      for (const ir::OpId input : op.inputs) {
        const bool is_outside = layers.positions[op.id].stack < 0;
        is_outside ? void(outside_readers_[input].insert(op.id)) : ReadFrom(op.id, input);
      }
      if (op.inherits.has_value()) ReadFrom(op.id, op.inherits->op);
      if (op.gradient_of.has_value()) ReadFrom(op.id, *op.gradient_of);
    }
    if (graph.loss.has_value()) reaches_out_.insert(*graph.loss);
    for (const ir::Metric& metric : graph.metrics) reaches_out_.insert(metric.value);
  }

  // Whether the layer and the one behind it are equal. An op that is read from elsewhere makes its layer like no other.
  bool AreEqual(const std::map<int, ir::OpId>& layer, const std::map<int, ir::OpId>& next) const {
    return layer.size() == next.size() &&
           std::equal(layer.begin(), layer.end(), next.begin(),
                      [&](const auto& a, const auto& b) { return a.first == b.first && AreAlike(a.second, b.second); });
  }

 private:
  void ReadFrom(ir::OpId reader, ir::OpId value) {
    const Position& to = layers_.positions[reader];
    const Position& from = layers_.positions[value];
    const bool is_near = from.stack == to.stack && from.layer - to.layer <= 1 && to.layer - from.layer <= 1;
    if (from.stack >= 0 && !is_near) reaches_out_.insert(value);
  }

  bool AreAlike(ir::OpId a, ir::OpId b) const {
    const ir::Op& x = graph_.op(a);
    const ir::Op& y = graph_.op(b);
    if (x.kind != y.kind || x.phase != y.phase || x.type != y.type || x.inputs.size() != y.inputs.size()) return false;
    if (reaches_out_.count(a) > 0 || reaches_out_.count(b) > 0 || !HaveEqualAttributes(x, y)) return false;
    if (outside_readers_[a] != outside_readers_[b]) return false;
    if (x.inherits.has_value() != y.inherits.has_value() || x.gradient_of.has_value() != y.gradient_of.has_value())
      return false;
    if (x.inherits.has_value() &&
        (x.inherits->factors != y.inherits->factors || !IsNextTo(a, x.inherits->op, b, y.inherits->op))) {
      return false;
    }
    if (x.gradient_of.has_value() && !IsNextTo(a, *x.gradient_of, b, *y.gradient_of)) return false;
    for (size_t i = 0; i < x.inputs.size(); ++i) {
      if (!IsNextTo(a, x.inputs[i], b, y.inputs[i])) return false;
    }
    return true;
  }

  // Whether `b`, of the layer behind that of `a`, reads in the same way as `a` does.
  bool IsNextTo(ir::OpId a, ir::OpId read_by_a, ir::OpId b, ir::OpId read_by_b) const {
    const Position& x = layers_.positions[read_by_a];
    const Position& y = layers_.positions[read_by_b];
    if (x.stack != layers_.positions[a].stack || y.stack != x.stack) return read_by_a == read_by_b;
    return x.place == y.place && x.layer - layers_.positions[a].layer == y.layer - layers_.positions[b].layer;
  }

  const ir::Graph& graph_;
  const Layers& layers_;
  std::set<ir::OpId> reaches_out_;                          // Of a layer, and read from one that is not beside it.
  IdVector<ir::OpId, std::set<ir::OpId>> outside_readers_;  // Of no layer.
};

std::vector<ir::OpId> OpsOf(const std::map<int, ir::OpId>& layer) {
  std::vector<ir::OpId> ops;
  for (const auto& [place, op] : layer) ops.push_back(op);
  return ops;
}

// The longest run of equal layers.
EqualLayers LongestRun(const Stack& stack, const Comparison& comparison) {
  EqualLayers longest, run;
  const std::pair<const int64_t, std::map<int, ir::OpId>>* before = nullptr;
  for (const auto& layer : stack) {
    const bool continues =
        before != nullptr && before->first + 1 == layer.first && comparison.AreEqual(before->second, layer.second);
    if (!continues) run.ops.clear();
    run.ops.push_back(OpsOf(layer.second));
    if (run.count() > longest.count()) longest = run;
    before = &layer;
  }
  return longest.count() > 1 ? longest : EqualLayers();
}

class Shortener {
 public:
  Shortener(const ir::Graph& graph, const EqualLayers& equal, size_t begin, size_t end)
      : graph_(graph),
        equal_(equal),
        begin_(begin),
        end_(end),
        places_(graph.ops.size()),
        is_placed_(graph.ops.size(), 0),
        index_(graph.ops.size()) {
    for (size_t layer = 0; layer < equal.count(); ++layer) {
      for (size_t i = 0; i < equal.ops[layer].size(); ++i) index_[equal.ops[layer][i]] = {layer, i};
    }
  }

  Shortened Run() && {
    for (const ir::Op& op : graph_.ops) {
      if (IsKept(op.id)) Keep(op.id);
    }
    ir::Graph roles{.model = graph_.model,
                    .file = graph_.file,
                    .hash = graph_.hash,
                    .ops = {},
                    .loss = graph_.loss,
                    .metrics = graph_.metrics,
                    .updates = graph_.updates,
                    .looks = graph_.looks,
                    .rank_axes = graph_.rank_axes};
    std::erase_if(roles.updates, [&](const ir::StateUpdate& update) { return !IsKept(update.state); });
    std::erase_if(roles.looks, [&](const ir::Look& look) { return !IsKept(look.value); });
    ir::CopyRoles(roles, places_, result_.graph);
    for (const ir::Op& op : graph_.ops) {
      const ir::OpId kept = IsKept(op.id) ? op.id : equal_.ops[begin_ - 1][index_[op.id]->second];
      result_.stand_ins.push_back(places_[kept]);
    }
    return std::move(result_);
  }

 private:
  // Of an op of an equal layer: which layer, and which of its ops.
  using Index = std::optional<std::pair<size_t, size_t>>;

  bool IsKept(ir::OpId op) const {
    const Index& index = index_[op];
    return !index.has_value() || index->first < begin_ || index->first >= end_;
  }

  // What `reader` reads instead of `value`: the same of the layer that is as far away.
  ir::OpId InsteadOf(ir::OpId value, ir::OpId reader) const {
    if (IsKept(value)) return value;
    const auto [layer, i] = *index_[value];
    const size_t left_out = end_ - begin_;
    const Index& own = index_[reader];
    // Outside of all layers it reads the same of each.
    if (!own.has_value()) return equal_.ops[begin_ - 1][i];
    // Readers in front of the removed layers read the first of these.
    const bool is_before = own->first < begin_;
    const size_t other = is_before ? layer + left_out : layer - left_out;
    CLEAVE_CHECK(other < equal_.count() && (other < begin_ || other >= end_)) << graph_.op(reader).name;
    return equal_.ops[other][i];
  }

  // Behind what it reads. In the whole graph this may come later: what the backward pass makes of a forward value of
  // the layer before, such as a cast, stands at its reader.
  void Keep(ir::OpId id) {
    if (std::exchange(is_placed_[id], 1) != 0) return;
    const ir::Op& op = graph_.op(id);
    std::vector<ir::OpId> inputs;
    for (const ir::OpId input : op.inputs) {
      const ir::OpId read = InsteadOf(input, id);
      Keep(read);
      inputs.push_back(places_[read]);
    }
    ir::Op copy = op;
    copy.id = ir::OpId(static_cast<int64_t>(result_.graph.ops.size()));
    copy.inputs = std::move(inputs);
    if (op.inherits.has_value()) copy.inherits->op = places_[InsteadOf(op.inherits->op, id)];
    if (op.gradient_of.has_value()) copy.gradient_of = places_[InsteadOf(*op.gradient_of, id)];
    places_[id] = result_.graph.ops.push_back(std::move(copy));
    result_.originals.push_back(id);
  }

  const ir::Graph& graph_;
  const EqualLayers& equal_;
  const size_t begin_, end_;
  IdVector<ir::OpId, ir::OpId> places_;  // In the result, of what is placed.
  IdVector<ir::OpId, char> is_placed_;
  IdVector<ir::OpId, Index> index_;
  Shortened result_;
};

// Changes the names of ops in sentences about a plan of few layers to those of the whole model.
class Renaming {
 public:
  Renaming(const Shortened& few, const ir::Graph& graph, const EqualLayers& equal) {
    for (size_t i = 0; i < equal.ops[0].size(); ++i) {
      const std::string& name = graph.op(equal.ops[0][i]).name;
      const std::string& next = graph.op(equal.ops[1][i]).name;
      const auto differs = std::mismatch(name.begin(), name.end(), next.begin(), next.end()).first;
      const size_t begin = name.rfind('.', static_cast<size_t>(differs - name.begin())) + 1;
      stacks_.insert(name.substr(0, begin));
      CLEAVE_CHECK(absl::SimpleAtoi(name.substr(begin, name.find('.', begin) - begin), &first_)) << name;
    }
    int64_t kept = 0;
    for (const std::vector<ir::OpId>& layer : equal.ops) {
      const bool is_kept = few.originals[few.stand_ins[layer[0]]] == layer[0];
      places_.push_back(is_kept ? kept++ : places_.back());
    }
  }

  // What `text`, which is about the op that stands for one of layer `own`, says of that one.
  std::string Of(absl::string_view text, size_t own) const {
    std::string result;
    size_t done = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      const bool begins_word =
          at == 0 || !(absl::ascii_isalnum(text[at - 1]) || text[at - 1] == '_' || text[at - 1] == '.');
      if (!begins_word) continue;
      const auto stack = std::find_if(stacks_.begin(), stacks_.end(), [&](const std::string& prefix) {
        return absl::StartsWith(text.substr(at), prefix);
      });
      if (stack == stacks_.end()) continue;
      const size_t begin = at + stack->size();
      const size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
      int64_t number = 0;
      if (!absl::SimpleAtoi(text.substr(begin, end - begin), &number)) continue;
      absl::StrAppend(&result, text.substr(done, begin - done), NumberOf(number, own));
      done = end;
    }
    return absl::StrCat(result, text.substr(done));
  }

 private:
  // Of the layer that is as far from `own` as the one called `number` is from the one that stands for `own`.
  int64_t NumberOf(int64_t number, size_t own) const {
    const int64_t named = number - first_;
    if (named < 0 || named >= static_cast<int64_t>(places_.size())) return number;
    return first_ + static_cast<int64_t>(own) + places_[static_cast<size_t>(named)] - places_[own];
  }

  std::set<std::string> stacks_;  // "x."
  int64_t first_ = 0;             // The number of the first equal layer.
  std::vector<int64_t> places_;   // Of each layer: which of the kept ones stands for it.
};

}  // namespace

OpTimes Shortened::Times() const {
  OpTimes times(graph.ops.size(), 0);
  for (const ir::OpId op : stand_ins) ++times[op];
  return times;
}

EqualLayers FindEqualLayers(const ir::Graph& graph) {
  constexpr size_t kDepths = 2;  // A loop in a loop.
  EqualLayers best;
  const auto size = [](const EqualLayers& equal) {
    return equal.count() > 0 ? equal.count() * equal.ops[0].size() : 0;
  };
  for (size_t depth = 0; depth < kDepths; ++depth) {
    const Layers found = LayersOf(graph, depth);
    if (found.stacks.empty()) break;
    const std::vector<int> joined = JoinedStacks(graph, found);
    const bool joins = !std::is_sorted(joined.begin(), joined.end()) ||
                       std::adjacent_find(joined.begin(), joined.end()) != joined.end();
    for (const bool is_joined : {false, true}) {
      if (is_joined && !joins) continue;
      const Layers layers = is_joined ? WithJoined(found, joined) : found;
      const Comparison comparison(graph, layers);
      for (const Stack& stack : layers.stacks) {
        EqualLayers run = LongestRun(stack, comparison);
        if (size(run) > size(best)) best = std::move(run);
      }
    }
  }
  return best;
}

Shortened WithoutLayers(const ir::Graph& graph, const EqualLayers& equal, size_t begin, size_t end) {
  CLEAVE_CHECK(1 <= begin && begin <= end && end < equal.count()) << begin << " to " << end;
  return Shortener(graph, equal, begin, end).Run();
}

ir::Plan Lengthened(const Shortened& few, const ir::Graph& graph, const EqualLayers& equal, const ir::Plan& plan) {
  ir::Plan whole = plan;
  whole.ops = IdVector<ir::OpId, ir::OpPlan>();
  whole.ops.reserve(graph.ops.size());
  for (const ir::Op& op : graph.ops) whole.ops.push_back(plan.ops[few.stand_ins[op.id]]);
  const Renaming renaming(few, graph, equal);
  for (size_t layer = 0; layer < equal.count(); ++layer) {
    for (const ir::OpId op : equal.ops[layer]) {
      std::string& reason = whole.ops[op].reason;
      if (std::any_of(reason.begin(), reason.end(), absl::ascii_isdigit)) reason = renaming.Of(reason, layer);
    }
  }
  return whole;
}

ir::Plan ShortPlan(const Shortened& few, const ir::Plan& plan) {
  ir::Plan own{.cluster = plan.cluster,
               .mesh = plan.mesh,
               .ops = {},
               .micro_batches = plan.micro_batches,
               .moves_steps = plan.moves_steps,
               .gradient_weight = plan.gradient_weight,
               .search = plan.search};
  for (const ir::OpId op : few.originals) {
    const ir::OpPlan& planned = plan.ops[op];
    own.ops.push_back({.strategy = planned.strategy,
                       .output = planned.output,
                       .retention = planned.retention,
                       .decided_by = planned.decided_by,
                       .reason = {},
                       .choices = {}});
  }
  return own;
}

SearchedGraph SearchedGraph::WithFewLayers(const ir::Graph& whole, size_t kept) {
  SearchedGraph searched(whole);
  EqualLayers equal = FindEqualLayers(whole);
  if (equal.count() <= kept) return searched;
  const size_t begin = kept / 2 + 1;
  searched.few_ = WithoutLayers(whole, equal, begin, begin + equal.count() - kept);
  searched.equal_ = std::move(equal);
  return searched;
}

OpTimes SearchedGraph::Times() const { return few_.has_value() ? few_->Times() : OpTimes(whole_->ops.size(), 1); }

IdVector<ir::OpId, ir::OpId> SearchedGraph::StandIns() const {
  if (few_.has_value()) return few_->stand_ins;
  IdVector<ir::OpId, ir::OpId> own;
  for (const ir::Op& op : whole_->ops) own.push_back(op.id);
  return own;
}

EqualLayers SearchedGraph::Layers() const {
  if (!few_.has_value()) return FindEqualLayers(*whole_);
  EqualLayers layers;
  for (const std::vector<ir::OpId>& layer : equal_.ops) {
    if (few_->originals[few_->stand_ins[layer[0]]] != layer[0]) continue;
    std::vector<ir::OpId>& ops = layers.ops.emplace_back();
    for (const ir::OpId op : layer) ops.push_back(few_->stand_ins[op]);
  }
  return layers;
}

ir::Plan SearchedGraph::Lengthened(ir::Plan plan) const {
  return few_.has_value() ? search::Lengthened(*few_, *whole_, equal_, plan) : plan;
}

ir::Plan SearchedGraph::Searched(const ir::Plan& plan) const {
  return few_.has_value() ? ShortPlan(*few_, plan) : plan;
}

}  // namespace cleave::search
