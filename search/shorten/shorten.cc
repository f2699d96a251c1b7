// Reading guide: LayersOf sorts the ops by the numbers in their names, AreEqual compares neighbouring layers, Shortener
// copies the ops that are kept, Lengthened gives all layers what the kept ones have.
#include "search/shorten/shorten.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check/check.h"
#include "base/layer_names/layer_names.h"
#include "ir/graph/roles.h"

namespace cleave::search {
namespace {

// Where an op stands: in which stack of layers (-1: in none), in which of its layers, and in which place there.
struct Position {
  int stack = -1;
  int64_t layer = 0;
  int place = -1;
};

// By the stack's layers, their ops by place.
using Stack = std::map<int64_t, std::map<int, ir::OpId>>;

struct Layers {
  IdVector<ir::OpId, Position> positions;
  std::vector<Stack> stacks;
};

Layers LayersOf(const ir::Graph& graph) {
  Layers layers;
  std::map<std::string, int> stacks;                                   // By the beginning of the names.
  std::map<std::pair<std::string, std::vector<int64_t>>, int> places;  // By the names without the layer's number.
  for (const ir::Op& op : graph.ops) {
    LayerName name = LayerNameOf(op.name);
    if (name.numbers.empty()) {
      layers.positions.push_back({});
      continue;
    }
    const auto [stack, is_new] =
        stacks.emplace(name.place.substr(0, name.place.find('#')), static_cast<int>(layers.stacks.size()));
    if (is_new) layers.stacks.emplace_back();
    const int64_t layer = name.numbers.front();
    name.numbers.erase(name.numbers.begin());
    const auto place = places.emplace(std::pair(std::move(name.place), std::move(name.numbers)), places.size()).first;
    layers.positions.push_back({.stack = stack->second, .layer = layer, .place = place->second});
    layers.stacks[static_cast<size_t>(stack->second)][layer].emplace(place->second, op.id);
  }
  return layers;
}

bool HaveEqualAttributes(const ir::Op& a, const ir::Op& b) {
  return a.attributes.values.size() == b.attributes.values.size() &&
         std::equal(a.attributes.values.begin(), a.attributes.values.end(), b.attributes.values.begin(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && (x.second == y.second || x.first == ir::attribute::kKey.name);
                    });
}

class Comparison {
 public:
  Comparison(const ir::Graph& graph, const Layers& layers) : graph_(graph), layers_(layers) {
    for (const ir::Op& op : graph.ops) {
      for (const ir::OpId input : op.inputs) ReadFrom(op.id, input);
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
  std::set<ir::OpId> reaches_out_;  // Of a layer, and read from a place that is not beside it.
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
      : graph_(graph), equal_(equal), begin_(begin), end_(end), places_(graph.ops.size()), index_(graph.ops.size()) {
    for (size_t layer = 0; layer < equal.count(); ++layer) {
      for (size_t i = 0; i < equal.ops[layer].size(); ++i) index_[equal.ops[layer][i]] = {layer, i};
    }
  }

  Shortened Run() && {
    for (const ir::Op& op : graph_.ops) {
      if (IsKept(op.id)) Keep(op);
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
    // Whatever stands before the layers that are left out reads them at their beginning.
    const Index& own = index_[reader];
    const bool is_before = own.has_value() && own->first < begin_;
    const size_t other = is_before ? layer + left_out : layer - left_out;
    CLEAVE_CHECK(other < equal_.count() && (other < begin_ || other >= end_)) << graph_.op(reader).name;
    return equal_.ops[other][i];
  }

  void Keep(const ir::Op& op) {
    ir::Op copy = op;
    copy.id = ir::OpId(static_cast<int64_t>(result_.graph.ops.size()));
    for (ir::OpId& input : copy.inputs) {
      const ir::OpId read = InsteadOf(input, op.id);
      CLEAVE_CHECK(read < op.id) << op.name << " would read what comes after it";
      input = places_[read];
    }
    if (op.inherits.has_value()) copy.inherits->op = places_[InsteadOf(op.inherits->op, op.id)];
    if (op.gradient_of.has_value()) copy.gradient_of = places_[InsteadOf(*op.gradient_of, op.id)];
    places_[op.id] = result_.graph.ops.push_back(std::move(copy));
    result_.originals.push_back(op.id);
  }

  const ir::Graph& graph_;
  const EqualLayers& equal_;
  const size_t begin_, end_;
  IdVector<ir::OpId, ir::OpId> places_;
  IdVector<ir::OpId, Index> index_;
  Shortened result_;
};

// Changes the names of ops in sentences about a plan of few layers to those of the whole model.
class Renaming {
 public:
  Renaming(const Shortened& few, const ir::Graph& graph, const EqualLayers& equal) {
    const LayerName first = LayerNameOf(graph.op(equal.ops[0][0]).name);
    stack_ = first.place.substr(0, first.place.find('#'));
    first_ = first.numbers.front();
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
    for (size_t at = text.find(stack_); at != absl::string_view::npos; at = text.find(stack_, at + 1)) {
      const size_t begin = at + stack_.size();
      const size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
      const bool begins_word =
          at == 0 || !(absl::ascii_isalnum(text[at - 1]) || text[at - 1] == '_' || text[at - 1] == '.');
      int64_t number = 0;
      if (!begins_word || !absl::SimpleAtoi(text.substr(begin, end - begin), &number)) continue;
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

  std::string stack_;            // "x."
  int64_t first_ = 0;            // The number of the first equal layer.
  std::vector<int64_t> places_;  // Of each layer: which of the kept ones stands for it.
};

}  // namespace

OpTimes Shortened::Times() const {
  OpTimes times(graph.ops.size(), 0);
  for (const ir::OpId op : stand_ins) ++times[op];
  return times;
}

EqualLayers FindEqualLayers(const ir::Graph& graph) {
  const Layers layers = LayersOf(graph);
  const Comparison comparison(graph, layers);
  EqualLayers best;
  const auto size = [](const EqualLayers& equal) {
    return equal.count() > 0 ? equal.count() * equal.ops[0].size() : 0;
  };
  for (const Stack& stack : layers.stacks) {
    EqualLayers run = LongestRun(stack, comparison);
    if (size(run) > size(best)) best = std::move(run);
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
  for (const ir::Op& op : graph.ops) whole.ops.push_back(plan.ops[few.stand_ins[op.id]]);
  const Renaming renaming(few, graph, equal);
  for (size_t layer = 0; layer < equal.count(); ++layer) {
    for (const ir::OpId op : equal.ops[layer]) whole.ops[op].reason = renaming.Of(whole.ops[op].reason, layer);
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
