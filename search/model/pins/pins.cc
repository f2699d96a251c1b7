// Reading guide: ResolvePins calls Resolution::Resolve for each pin: FromShard for numbers of slices, FromLayout for
// named axes. LayoutFromCounts searches the axes for given numbers by backtracking (Assign).
#include "search/model/pins/pins.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "search/model/cluster/cluster.h"
#include "search/model/facts/cuts.h"

namespace cleave::search {
namespace {

std::string MeshSizes(const ir::Mesh& mesh) {
  if (mesh.axis_count() == 0) return "1";
  return absl::StrJoin(mesh.axes(), " x ",
                       [](std::string* out, const ir::MeshAxis& axis) { absl::StrAppend(out, axis.size); });
}

// "the mesh is 2 x 2 x 2: 1, 2, 4 or 8 slices are possible"
std::string PossibleText(const ir::Mesh& mesh) {
  const std::vector<int64_t> counts = PossibleCounts(mesh);
  std::string text = absl::StrJoin(counts.begin(), counts.end() - 1, ", ");
  absl::StrAppend(&text, text.empty() ? "" : " or ", counts.back());
  return absl::StrCat("the mesh is ", MeshSizes(mesh), ": ", text, counts.back() == 1 ? " slice is" : " slices are",
                      " possible");
}

std::string TensorText(const ir::Op& op) {
  return absl::StrCat("`", op.name, "` is ", op.type.ToString(),
                      op.line > 0 ? absl::StrCat(", from line ", op.line) : "");
}

class Resolution {
 public:
  Resolution(const GraphFacts& facts, const ir::Mesh& mesh, const std::vector<ir::NamedAxis>& named,
             Diagnostics& diagnostics)
      : facts_(facts), mesh_(mesh), named_(named), diagnostics_(diagnostics) {}

  std::optional<OpDemand> Resolve(const ir::Pin& pin) {
    return Match(
        pin.demand, [&](const ir::ShardPin& shard) { return FromShard(pin, shard); },
        [&](const ir::LayoutPin& layout) { return FromLayout(pin, layout); },
        [&](const ir::ReplicatePin&) -> std::optional<OpDemand> {
          return OpDemand{.strategy = ir::Strategy::Replicated(facts_.rule(pin.op)), .output = std::nullopt};
        },
        [&](const ir::DataParallelPin&) -> std::optional<OpDemand> {
          return WithOutput(pin.op, OpDemand{}, CutByBatch(facts_.op(pin.op).type.shape, mesh_));
        });
  }

 private:
  // Reports numbers that no axes of the mesh have. Returns true when all are possible.
  bool CheckCounts(const ir::CountsPin& counts, const ir::Op& tensor) {
    if (!counts.has_value()) return true;
    const std::vector<int64_t> possible = PossibleCounts(mesh_);
    bool ok = true;
    for (size_t d = 0; d < counts->size(); ++d) {
      const ir::Placed<int64_t>& count = (*counts)[d];
      if (std::binary_search(possible.begin(), possible.end(), count.value)) continue;
      diagnostics_.Add(
          Error(Code::kE0304, absl::StrCat(Plural(mesh_.rank_count(), "device"), " cannot be divided into ",
                                           Plural(count.value, "slice")))
              .At(count.span, absl::StrCat("dimension ", d, " of `", tensor.name, "` is to be cut into ", count.value))
              .Note(TensorText(tensor))
              .Help(PossibleText(mesh_)));
      ok = false;
    }
    return ok;
  }

  std::optional<OpDemand> FromShard(const ir::Pin& pin, const ir::ShardPin& shard) {
    const ir::Op& op = facts_.op(pin.op);
    bool ok = CheckCounts(shard.out, op);
    for (size_t i = 0; i < shard.in.size(); ++i) ok = CheckCounts(shard.in[i], facts_.op(op.inputs[i])) && ok;
    if (!ok) return std::nullopt;
    OpDemand demand;
    const bool any_input =
        std::any_of(shard.in.begin(), shard.in.end(), [](const ir::CountsPin& in) { return in.has_value(); });
    if (any_input) {
      demand.strategy = StrategyOf(pin, shard);
      if (!demand.strategy.has_value()) return std::nullopt;
    }
    if (!shard.out.has_value()) return demand;
    const ir::Rule& rule = facts_.rule(pin.op);
    const ir::Layout from =
        demand.strategy.has_value() ? ir::OutputLayout(*demand.strategy, rule) : ir::Layout::Replicated(op.type.rank());
    std::vector<int64_t> counts;
    for (const ir::Placed<int64_t>& count : *shard.out) counts.push_back(count.value);
    std::optional<ir::Layout> layout = LayoutFromCounts(counts, from, mesh_);
    if (!layout.has_value()) {
      diagnostics_.Add(
          Error(
              Code::kE0312,
              absl::StrCat("the slices of ", op.inputs.empty() ? absl::StrCat("`", op.name, "`") : "`out`",
                           " together are ", Product(counts), ", and there are ", Plural(mesh_.rank_count(), "device")))
              .At(Cover(shard.out->front().span, shard.out->back().span), "more slices than mesh axes can give")
              .Note(TensorText(op))
              .Help(PossibleText(mesh_)));
      return std::nullopt;
    }
    return WithOutput(pin.op, std::move(demand), *std::move(layout));
  }

  static int64_t Product(const std::vector<int64_t>& counts) {
    int64_t product = 1;
    for (int64_t count : counts) product *= count;
    return product;
  }

  std::optional<ir::Strategy> StrategyOf(const ir::Pin& pin, const ir::ShardPin& shard) {
    std::vector<std::optional<std::vector<int64_t>>> counts;
    for (const ir::CountsPin& in : shard.in) {
      std::optional<std::vector<int64_t>>& own = counts.emplace_back();
      if (!in.has_value()) continue;
      own.emplace();
      for (const ir::Placed<int64_t>& count : *in) own->push_back(count.value);
    }
    ir::CountsPlace place;
    absl::StatusOr<ir::Strategy> strategy = ir::StrategyFromCounts(counts, facts_.rule(pin.op), mesh_, &place);
    if (strategy.ok()) return *std::move(strategy);
    Report(pin, shard, place, strategy.status());
    return std::nullopt;
  }

  void Report(const ir::Pin& pin, const ir::ShardPin& shard, const ir::CountsPlace& place,
              const absl::Status& mistake) {
    const ir::Op& op = facts_.op(pin.op);
    const bool too_many = absl::IsResourceExhausted(mistake);
    Diagnostic error = Error(too_many ? Code::kE0312 : Code::kE0311, std::string(mistake.message()));
    if (place.input >= 0 && place.dimension >= 0) {
      const ir::Op& tensor = facts_.op(op.inputs[static_cast<size_t>(place.input)]);
      const ir::Placed<int64_t>& count =
          (*shard.in[static_cast<size_t>(place.input)])[static_cast<size_t>(place.dimension)];
      error.labels.push_back({count.span, absl::StrCat("dimension ", place.dimension, " of `", tensor.name,
                                                       "` is to be cut into ", count.value)});
      if (!too_many) AddOtherCount(pin.op, shard, place, error);
      error.notes.push_back(TensorText(tensor));
    } else {
      error.labels.push_back({pin.span, absl::StrCat("on `", op.name, "`")});
    }
    error.notes.push_back(
        absl::StrCat("the factors of `", ir::OpKindName(op.kind), "` are ", facts_.rule(pin.op).ToString()));
    if (too_many) error.help.push_back(PossibleText(mesh_));
    diagnostics_.Add(std::move(error));
  }

  // Adds a label for the earlier number that contradicts this one for a factor of the dimension at `place`.
  void AddOtherCount(ir::OpId id, const ir::ShardPin& shard, const ir::CountsPlace& place, Diagnostic& error) const {
    const ir::Rule& rule = facts_.rule(id);
    const auto input = static_cast<size_t>(place.input);
    const auto dimension = static_cast<size_t>(place.dimension);
    const ir::FactorList& factors = rule.inputs[input][dimension];
    const int64_t count = (*shard.in[input])[dimension].value;
    for (size_t i = 0; i < input; ++i) {
      for (size_t d = 0; shard.in[i].has_value() && d < rule.inputs[i].size(); ++d) {
        const ir::Placed<int64_t>& other = (*shard.in[i])[d];
        if (rule.inputs[i][d] != factors || factors.empty() || other.value == count) continue;
        const std::string& name = facts_.op(facts_.op(id).inputs[i]).name;
        error.labels.push_back({other.span, absl::StrCat("dimension ", d, " of `", name, "` into ", other.value)});
        return;
      }
    }
  }

  std::optional<OpDemand> FromLayout(const ir::Pin& pin, const ir::LayoutPin& pinned) {
    ir::Layout layout;
    bool ok = true;
    std::set<ir::AxisId> used;
    for (const std::vector<ir::Placed<std::string>>& names : pinned.dimensions) {
      ir::AxisList& axes = layout.dimensions.emplace_back();
      for (const ir::Placed<std::string>& name : names) {
        const ir::AxisList named = AxesNamed(mesh_, name.value);
        if (named.empty() && !IsOneDevice(name.value)) ok = ReportAxis(name);
        for (ir::AxisId axis : named) {
          if (!used.insert(axis).second) ok = ReportTwice(name, axis);
          axes.push_back(axis);
        }
      }
    }
    if (!ok) return std::nullopt;
    return WithOutput(pin.op, OpDemand{}, std::move(layout));
  }

  bool IsOneDevice(const std::string& name) const {
    return std::any_of(named_.begin(), named_.end(),
                       [&](const ir::NamedAxis& axis) { return axis.name == name && axis.size == 1; });
  }

  bool ReportAxis(const ir::Placed<std::string>& name) {
    const std::vector<std::string> known = AxisNames(mesh_);
    Diagnostic error = Error(Code::kE0310, absl::StrCat("the mesh has no axis `", name.value, "`"))
                           .At(name.span, "not an axis of the mesh");
    error.notes.push_back(known.empty() ? "one device has no mesh axes"
                                        : absl::StrCat("the axes are ", QuotedList(known, "and")));
    if (const auto nearest = NearestName(name.value, known)) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    } else {
      error.help.push_back("name the axes in `parallel { mesh = (dp = 4, tp = 2); }`");
    }
    diagnostics_.Add(std::move(error));
    return false;
  }

  bool ReportTwice(const ir::Placed<std::string>& name, ir::AxisId axis) {
    diagnostics_.Add(
        Error(Code::kE0308, absl::StrCat("mesh axis `", mesh_.axis(axis).name, "` is used twice in one layout"))
            .At(name.span, "cuts a second time"));
    return false;
  }

  // The value must have `layout`. An op makes it in this layout where its rule can; a product may be cut in another
  // way, and its value is then redistributed.
  OpDemand WithOutput(ir::OpId id, OpDemand demand, ir::Layout layout) const {
    const ir::Rule& rule = facts_.rule(id);
    const Role role = facts_.roles[id];
    if (!demand.strategy.has_value() && role != Role::kProduct) {
      absl::StatusOr<ir::Strategy> strategy = ir::StrategyFromOutputLayout(layout, rule, mesh_);
      if (strategy.ok()) demand.strategy = *std::move(strategy);
    }
    if (!demand.strategy.has_value() || !(ir::OutputLayout(*demand.strategy, rule) == layout))
      demand.output = std::move(layout);
    return demand;
  }

  const GraphFacts& facts_;
  const ir::Mesh& mesh_;
  const std::vector<ir::NamedAxis>& named_;
  Diagnostics& diagnostics_;
};

// Gives one dimension after the other its axes, in the order of `order`.
bool Assign(const std::vector<int64_t>& counts, const ir::AxisList& order, const ir::Mesh& mesh, size_t dimension,
            std::set<ir::AxisId>& used, ir::Layout& layout) {
  if (dimension == counts.size()) return true;
  const int64_t have = mesh.Size(layout.dimensions[dimension]);
  if (have == counts[dimension]) return Assign(counts, order, mesh, dimension + 1, used, layout);
  for (ir::AxisId axis : order) {
    if (used.count(axis) > 0 || counts[dimension] % (have * mesh.axis(axis).size) != 0) continue;
    used.insert(axis);
    layout.dimensions[dimension].push_back(axis);
    if (Assign(counts, order, mesh, dimension, used, layout)) return true;
    layout.dimensions[dimension].pop_back();
    used.erase(axis);
  }
  return false;
}

}  // namespace

std::vector<int64_t> PossibleCounts(const ir::Mesh& mesh) {
  std::set<int64_t> counts = {1};
  for (const ir::MeshAxis& axis : mesh.axes()) {
    const std::vector<int64_t> before(counts.begin(), counts.end());
    for (int64_t count : before) counts.insert(count * axis.size);
  }
  return {counts.begin(), counts.end()};
}

std::optional<ir::Layout> LayoutFromCounts(const std::vector<int64_t>& counts, const ir::Layout& from,
                                           const ir::Mesh& mesh) {
  ir::Layout layout = ir::Layout::Replicated(static_cast<int>(counts.size()));
  std::set<ir::AxisId> used;
  for (size_t d = 0; d < counts.size(); ++d) {
    for (ir::AxisId axis : from.dimensions[d]) {
      if (counts[d] % (mesh.Size(layout.dimensions[d]) * mesh.axis(axis).size) != 0) break;
      layout.dimensions[d].push_back(axis);
      used.insert(axis);
    }
  }
  ir::AxisList order = from.PartialAxes();
  for (ir::AxisId axis : mesh.AxisIds()) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  }
  if (Assign(counts, order, mesh, 0, used, layout)) return layout;
  layout = ir::Layout::Replicated(static_cast<int>(counts.size()));
  used.clear();
  if (Assign(counts, mesh.AxisIds(), mesh, 0, used, layout)) return layout;
  return std::nullopt;
}

std::optional<OpDemands> ResolvePins(const GraphFacts& facts, const ir::Mesh& mesh, const ir::Pins& pins,
                                     Diagnostics& diagnostics) {
  Resolution resolution(facts, mesh, pins.settings.mesh, diagnostics);
  OpDemands demands;
  std::map<ir::OpId, Span> places;
  bool ok = true;
  for (const ir::Pin& pin : pins.pins) {
    const std::optional<OpDemand> demand = resolution.Resolve(pin);
    if (!demand.has_value()) {
      ok = false;
      continue;
    }
    const auto [found, is_new] = demands.emplace(pin.op, *demand);
    if (!is_new && !(found->second == *demand)) {
      diagnostics.Add(
          Error(Code::kE0307, absl::StrCat("two pins on `", facts.op(pin.op).name, "` contradict each other"))
              .At(pin.span, "demands one thing")
              .At(places[pin.op], "demands another")
              .Help("remove one of them"));
      ok = false;
    }
    places.emplace(pin.op, pin.span);
  }
  if (!ok) return std::nullopt;
  return demands;
}

std::vector<ir::OpId> BrokenDemands(const GraphFacts& facts, const ir::Plan& plan, const OpDemands& demands) {
  std::vector<ir::OpId> broken;
  for (const auto& [op, demand] : demands) {
    const ir::OpPlan& own = plan.ops[op];
    const ir::Layout seen = own.output.value_or(ir::OutputLayout(own.strategy, facts.rule(op)));
    const bool strategy_kept = !demand.strategy.has_value() || own.strategy == *demand.strategy;
    const bool output_kept = !demand.output.has_value() || seen == *demand.output;
    if (!strategy_kept || !output_kept) broken.push_back(op);
  }
  return broken;
}

}  // namespace cleave::search
