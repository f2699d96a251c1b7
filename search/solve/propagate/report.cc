// Reading guide: Conflicts finds the values that are redistributed because of pins. WarningOf describes one:
// ContradictionOf where two pins meet, EndOf where a cut ends. ReportNoPins and WarnOfUnreached are about products.
#include "search/solve/propagate/report.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"
#include "search/price/cost/prices.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

constexpr size_t kMostConflicts = 20;
constexpr size_t kMostProducts = 3;  // The most that are named in a note.

// The axes of `group` that `strategy` does not use, each on the first factor of `rule` that has elements for it.
ir::Strategy WithRestPlaced(ir::Strategy strategy, const ir::Rule& rule, const ir::Mesh& mesh, const AxisGroup& group) {
  for (ir::AxisId axis : group) {
    if (FactorCutBy(strategy, axis) >= 0) continue;
    const std::vector<int> factors = FactorsFor(strategy, rule, mesh, axis);
    if (!factors.empty()) strategy = *Moved(strategy, rule, mesh, factors[0], axis);
  }
  return strategy;
}

std::string QuotedAxes(const ir::Mesh& mesh, const AxisGroup& group) {
  std::vector<std::string> axes;
  for (ir::AxisId axis : group) axes.push_back(mesh.axis(axis).name);
  return QuotedList(axes, "and");
}

// The products among the graph's ops for which `wanted` holds.
template <typename Wanted>
std::vector<ir::OpId> HeaviestFirst(const GraphFacts& facts, const Wanted& wanted) {
  std::vector<ir::OpId> products;
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] == Role::kProduct && wanted(op.id)) products.push_back(op.id);
  }
  std::stable_sort(products.begin(), products.end(),
                   [&](ir::OpId a, ir::OpId b) { return facts.product_flops[a] > facts.product_flops[b]; });
  return products;
}

// "`up` (line 12), `down` (line 14) and 3 more products"
std::string ProductsText(const GraphFacts& facts, const std::vector<ir::OpId>& products) {
  std::vector<std::string> names;
  for (size_t i = 0; i < products.size() && i < kMostProducts; ++i) names.push_back(PlaceText(facts, products[i]));
  const auto more = static_cast<int64_t>(products.size() - names.size());
  if (more > 0) return absl::StrCat(absl::StrJoin(names, ", "), " and ", Plural(more, "more product"));
  if (names.size() == 1) return names[0];
  return absl::StrCat(absl::StrJoin(names.begin(), names.end() - 1, ", "), " and ", names.back());
}

// `pin "h1.matmul" = shard((8, 1), (1, 1));`
// The layout of a value as `layout(…)` says it, with the names of the user's axes; nullopt where it is summed on some,
// or where a part of an axis cuts it, which has no name.
std::optional<std::string> NamedLayoutText(const ir::Layout& layout, const ir::Mesh& mesh, const ir::Pins& pins) {
  if (!layout.PartialAxes().empty()) return std::nullopt;
  std::vector<std::string> dimensions;
  for (const ir::AxisList& axes : layout.dimensions) {
    std::vector<std::string> names;
    for (const ir::AxisId axis : axes) {
      const std::string& name = mesh.axis(axis).name;
      const bool is_named = std::any_of(pins.settings.mesh.begin(), pins.settings.mesh.end(),
                                        [&](const ir::NamedAxis& named) { return named.name == name; });
      if (!is_named) return std::nullopt;
      names.push_back(absl::StrCat("\"", name, "\""));
    }
    const std::string list = absl::StrJoin(names, ", ");
    dimensions.push_back(names.empty() ? "_" : names.size() == 1 ? list : absl::StrCat("(", list, ")"));
  }
  return absl::StrCat("layout(", absl::StrJoin(dimensions, ", "), ")");
}

// Numbers of slices do not say which axes of the user's mesh cut, where several have one size.
std::string PinText(const Assignment& assignment, ir::OpId op, const ir::Strategy& strategy, const ir::Pins& pins) {
  const ir::Layout made = ir::OutputLayout(strategy, assignment.facts().rule(op));
  const auto named = pins.settings.mesh.empty() ? std::nullopt : NamedLayoutText(made, assignment.mesh(), pins);
  if (named.has_value()) {
    return absl::StrCat("`pin \"", assignment.facts().op(op).name, "\" = ", *named, ";`");
  }
  const std::string counts =
      ir::InStrategyText(ir::InStrategy(strategy, assignment.facts().rule(op), assignment.mesh()));
  return absl::StrCat("`pin \"", assignment.facts().op(op).name, "\" = shard", counts, ";`");
}

// The pin on `op` that comes first in the source.
std::optional<Span> SpanOf(const ir::Pins& pins, ir::OpId op) {
  std::optional<Span> first;
  for (const ir::Pin& pin : pins.pins) {
    if (!(pin.op == op) || !pin.span.is_somewhere()) continue;
    if (!first.has_value() || pin.span.begin < first->begin) first = pin.span;
  }
  return first;
}

// A value that is redistributed between ops of which at least one follows a pin.
struct Conflict {
  ir::OpId value;
  ir::OpId reader;
  double cost = 0;                   // Of moving the value and its gradient.
  size_t group = 0;                  // Of mesh axes.
  std::optional<ir::OpId> made_for;  // The pin that the value follows; nullopt where its maker does not take the cut.
  std::optional<ir::OpId> read_for;  // The pin that the reader follows; nullopt where it does not take the cut.
};

class Conflicts {
 public:
  Conflicts(const Assignment& assignment, const Spread& spread, const OpDemands& demands, const ir::Pins& pins)
      : assignment_(assignment), facts_(assignment.facts()), spread_(spread), demands_(demands), pins_(pins) {}

  std::vector<Conflict> Find() const {
    std::vector<Conflict> conflicts;
    for (const ir::Op& op : facts_.graph->ops) {
      if (!facts_.is_set(op.id) && demands_.count(op.id) == 0) continue;
      if (const std::optional<Conflict> conflict = ConflictAt(op.id)) conflicts.push_back(*conflict);
    }
    std::stable_sort(conflicts.begin(), conflicts.end(),
                     [](const Conflict& a, const Conflict& b) { return a.cost > b.cost; });
    return conflicts;
  }

 private:
  std::optional<Conflict> ConflictAt(ir::OpId value) const {
    for (const Read& read : facts_.reads[value]) {
      if (!facts_.is_set(read.reader) || (demands_.count(value) > 0 && demands_.count(read.reader) > 0)) continue;
      std::optional<Conflict> conflict = Difference(value, read);
      if (!conflict.has_value() || IsWithinARegion(*conflict)) continue;
      conflict->cost = CostOf(value);
      if (conflict->cost > 0) return conflict;
    }
    return std::nullopt;
  }

  // Whether both pins are what one region asks for: where its `in` and `out` differ, something in it is redistributed.
  bool IsWithinARegion(const Conflict& conflict) const {
    if (!conflict.made_for.has_value() || !conflict.read_for.has_value()) return false;
    const std::optional<Span> made = SpanOf(pins_, *conflict.made_for), read = SpanOf(pins_, *conflict.read_for);
    if (!made.has_value() || !read.has_value()) return false;
    return std::any_of(pins_.regions.begin(), pins_.regions.end(), [&](const ir::Region& region) {
      const auto holds = [&](const Span& span) {
        return span.file == region.span.file && span.begin >= region.span.begin && span.end <= region.span.end;
      };
      return holds(*made) && holds(*read);
    });
  }

  // The first group whose axes cut the two ends of an edge differently, where a pin leads to one of them.
  std::optional<Conflict> Difference(ir::OpId value, const Read& read) const {
    for (size_t group = 0; group < spread_.groups.size(); ++group) {
      if (Agree(assignment_.seen(value), assignment_.wanted(read.reader, read.input), spread_.groups[group])) continue;
      const Conflict conflict{.value = value,
                              .reader = read.reader,
                              .group = group,
                              .made_for = PinOf(value, group),
                              .read_for = PinOf(read.reader, group)};
      const bool is_maker_uncut = !conflict.made_for.has_value() && !CutsBy(assignment_, value, spread_.groups[group]);
      const bool is_reader_uncut =
          !conflict.read_for.has_value() && !CutsBy(assignment_, read.reader, spread_.groups[group]);
      if (conflict.made_for.has_value() && (conflict.read_for.has_value() || is_reader_uncut)) return conflict;
      if (conflict.read_for.has_value() && is_maker_uncut) return conflict;
    }
    return std::nullopt;
  }

  // A pinned op follows its own pin, whether or not that uses the axes.
  std::optional<ir::OpId> PinOf(ir::OpId op, size_t group) const {
    if (demands_.count(op) > 0) return op;
    const std::optional<Followed>& followed = spread_.trails[group].followed(op);
    if (!followed.has_value()) return std::nullopt;
    return followed->pin;
  }

  // The price of redistributing the value and its gradient, which the op's backward ops read.
  double CostOf(ir::OpId value) const {
    std::set<ir::OpId> moved = {value};
    for (ir::OpId heir : facts_.inheritors[value]) {
      for (ir::OpId input : facts_.op(heir).inputs) {
        const ir::Op& read = facts_.op(input);
        const bool own = read.inherits.has_value() && read.inherits->op == value;
        if (read.phase == ir::Phase::kBackward && !own) AddGradient(input, moved);
      }
    }
    double cost = 0;
    for (ir::OpId id : moved) cost += assignment_.value_cost(id).price;
    return cost;
  }

  void AddGradient(ir::OpId gradient, std::set<ir::OpId>& moved) const {
    if (!moved.insert(gradient).second || facts_.roles[gradient] != Role::kSum) return;
    for (ir::OpId summand : facts_.op(gradient).inputs) AddGradient(summand, moved);
  }

  const Assignment& assignment_;
  const GraphFacts& facts_;
  const Spread& spread_;
  const OpDemands& demands_;
  const ir::Pins& pins_;
};

Diagnostic ContradictionOf(const GraphFacts& facts, const Conflict& conflict, const std::string& cost,
                           const ir::Pins& pins) {
  Diagnostic warning = Warning(
      Code::kW0605, absl::StrCat("pins contradict each other at `", facts.op(conflict.value).name,
                                 "`, which is redistributed for `", facts.op(conflict.reader).name, "`: ", cost));
  const bool same = conflict.made_for == conflict.read_for;
  if (const auto span = SpanOf(pins, *conflict.made_for)) {
    warning.labels.push_back({*span, same ? "both ways of cutting it come from this pin" : "cuts it in one way"});
  }
  if (const auto span = SpanOf(pins, *conflict.read_for); span.has_value() && !same) {
    warning.labels.push_back({*span, "cuts it in another"});
    warning.help.push_back("cut both alike, or say with `#[priority(0)]` which one spreads first");
  }
  return warning;
}

Diagnostic EndOf(const Assignment& assignment, const Conflict& conflict, const AxisGroup& group,
                 const std::string& cost, const ir::Pins& pins) {
  const GraphFacts& facts = assignment.facts();
  const std::string axes = QuotedAxes(assignment.mesh(), group);
  const ir::OpId end = conflict.made_for.has_value() ? conflict.reader : conflict.value;
  Diagnostic warning =
      Warning(Code::kW0607, absl::StrCat("the cut by ", axes, " ends at `", facts.op(end).name, "`, which ", axes,
                                         group.size() == 1 ? " does" : " do", " not cut; `",
                                         facts.op(conflict.value).name, "` is redistributed: ", cost));
  const ir::OpId pin = conflict.made_for.has_value() ? *conflict.made_for : *conflict.read_for;
  if (const auto span = SpanOf(pins, pin)) warning.labels.push_back({*span, "the cut comes from this pin"});
  const ir::Strategy divided = WithRestPlaced(assignment.strategy(end), facts.rule(end), assignment.mesh(), group);
  if (!(divided == assignment.strategy(end))) {
    warning.help.push_back(absl::StrCat("pin it in `parallel`: ", PinText(assignment, end, divided, pins)));
  }
  return warning;
}

Diagnostic WarningOf(const Assignment& assignment, const Spread& spread, const Conflict& conflict,
                     const ir::Pins& pins) {
  const GraphFacts& facts = assignment.facts();
  const std::string cost = absl::StrCat(CostText(assignment.options().prices, conflict.cost), " per step");
  const bool is_contradiction = conflict.made_for.has_value() && conflict.read_for.has_value();
  Diagnostic warning = is_contradiction ? ContradictionOf(facts, conflict, cost, pins)
                                        : EndOf(assignment, conflict, spread.groups[conflict.group], cost, pins);
  const auto input =
      std::find(facts.op(conflict.reader).inputs.begin(), facts.op(conflict.reader).inputs.end(), conflict.value);
  const int slot = static_cast<int>(input - facts.op(conflict.reader).inputs.begin());
  warning.notes.push_back(absl::StrCat(PlaceText(facts, conflict.value), " is made as ",
                                       ir::LayoutText(assignment.seen(conflict.value), assignment.mesh()),
                                       " and read by ", PlaceText(facts, conflict.reader), " as ",
                                       ir::LayoutText(assignment.wanted(conflict.reader, slot), assignment.mesh())));
  return warning;
}

}  // namespace

std::string PlaceText(const GraphFacts& facts, ir::OpId op) {
  const int line = facts.op(op).line;
  return absl::StrCat("`", facts.op(op).name, "`", line > 0 ? absl::StrCat(" (line ", line, ")") : "");
}

void ReportNoPins(const Assignment& assignment, const ir::Pins& pins, Diagnostics& diagnostics) {
  const GraphFacts& facts = assignment.facts();
  Diagnostic error = Error(Code::kE0309, "propagation has no pin to start from");
  std::move(error).At(pins.settings.search_span, "spreads the cuts of pins");
  const std::vector<ir::OpId> products = HeaviestFirst(facts, [](ir::OpId) { return true; });
  if (!products.empty()) {
    error.notes.push_back(absl::StrCat("the heaviest products are ", ProductsText(facts, products)));
    const ir::Strategy strategy =
        WithRestPlaced(ir::Strategy::Replicated(facts.rule(products[0])), facts.rule(products[0]), assignment.mesh(),
                       assignment.mesh().AxisIds());
    error.help.push_back(
        absl::StrCat("pin one of them in `parallel`: ", PinText(assignment, products[0], strategy, pins)));
  }
  error.help.push_back("or let `search = sapp` find the cuts");
  diagnostics.Add(std::move(error));
}

void WarnOfConflicts(const Assignment& assignment, const Spread& spread, const OpDemands& demands, const ir::Pins& pins,
                     Diagnostics& diagnostics) {
  const std::vector<Conflict> conflicts = Conflicts(assignment, spread, demands, pins).Find();
  for (size_t i = 0; i < conflicts.size() && i < kMostConflicts; ++i) {
    Diagnostic warning = WarningOf(assignment, spread, conflicts[i], pins);
    if (i + 1 == kMostConflicts && conflicts.size() > kMostConflicts) {
      warning.notes.push_back(absl::StrCat(
          "and at ", Plural(static_cast<int64_t>(conflicts.size() - kMostConflicts), "more value"), " that cost less"));
    }
    diagnostics.Add(std::move(warning));
  }
}

void WarnOfUnreached(const Assignment& assignment, const Spread& spread, const ir::Pins& pins,
                     Diagnostics& diagnostics) {
  const GraphFacts& facts = assignment.facts();
  for (size_t i = 0; i < spread.groups.size(); ++i) {
    const AxisGroup& group = spread.groups[i];
    const auto divided = [&](ir::OpId op) {
      return WithRestPlaced(assignment.strategy(op), facts.rule(op), assignment.mesh(), group);
    };
    const auto is_cut = [&](const ir::Strategy& strategy) {
      return std::any_of(group.begin(), group.end(), [&](ir::AxisId axis) { return FactorCutBy(strategy, axis) >= 0; });
    };
    const std::vector<ir::OpId> products = HeaviestFirst(facts, [&](ir::OpId op) {
      const bool is_whole = !assignment.fixed(op) && !is_cut(assignment.strategy(op)) && is_cut(divided(op));
      return is_whole && !spread.reaches[i].reaches(op);
    });
    if (products.empty()) continue;
    const std::string names = QuotedAxes(assignment.mesh(), group);
    diagnostics.Add(
        Warning(Code::kW0606, absl::StrCat("no pin's cut by ", names, " reaches ", ProductsText(facts, products)))
            .Note(absl::StrCat("the ranks of ", names, " repeat ", products.size() == 1 ? "its" : "their", " work"))
            .Help(absl::StrCat("pin ", products.size() == 1 ? "it" : "one of them",
                               " in `parallel`: ", PinText(assignment, products[0], divided(products[0]), pins))));
  }
}

}  // namespace cleave::search
