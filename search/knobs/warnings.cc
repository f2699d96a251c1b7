#include "search/knobs/warnings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/model/facts/cuts.h"

namespace cleave::search {
namespace {

// "`h1` (line 7) and 3 more ops"
std::string OpsText(const GraphFacts& facts, const std::vector<ir::OpId>& ops) {
  const ir::Op& first = facts.op(ops[0]);
  std::string text = absl::StrCat("`", first.name, "`");
  if (first.line > 0) absl::StrAppend(&text, " (line ", first.line, ")");
  const int64_t count = facts.TimesOf(ops);
  if (count > 1) absl::StrAppend(&text, " and ", Plural(count - 1, "more op"));
  return text;
}

bool IsModelOp(const GraphFacts& facts, ir::OpId op) {
  return facts.op(op).phase == ir::Phase::kForward && facts.is_set(op);
}

bool HasOnlyWholeFactors(const ir::Rule& rule) {
  return !rule.factors.empty() && std::all_of(rule.factors.begin(), rule.factors.end(), [](const ir::Factor& factor) {
    return factor.kind == ir::FactorKind::kWhole;
  });
}

// Whether every op of the model works on whole tensors, so that no plan divides it.
bool NothingCanBeCut(const GraphFacts& facts) {
  return std::none_of(facts.graph->ops.begin(), facts.graph->ops.end(), [&](const ir::Op& op) {
    if (!IsModelOp(facts, op.id) || op.inputs.empty()) return false;
    const std::vector<ir::Factor>& factors = facts.rule(op.id).factors;
    return std::any_of(factors.begin(), factors.end(),
                       [](const ir::Factor& factor) { return factor.kind != ir::FactorKind::kWhole; });
  });
}

// The bytes that a rank sends to make a value of `layout` whole: its share of an all-gather, or of an all-reduce.
Bytes GatheredBytes(const ir::TensorType& type, const ir::Layout& layout, const ir::Mesh& mesh) {
  ir::AxisList cutting;
  for (const ir::AxisList& axes : layout.dimensions) cutting.insert(cutting.end(), axes.begin(), axes.end());
  const int64_t pieces = mesh.Size(cutting);
  const int64_t parts = mesh.Size(layout.PartialAxes());
  const int64_t bytes = type.bytes().value();
  // Divided first, because the bytes of a large tensor times a number of devices may pass 64 bits.
  const int64_t others = bytes / pieces * (pieces - 1) + bytes % pieces * (pieces - 1) / pieces;
  const int64_t piece = 2 * bytes / pieces;
  return Bytes(others + piece / parts * (parts - 1) + piece % parts * (parts - 1) / parts);
}

// The bytes gathered in a step for an op that every rank runs whole, and for its gradients.
Bytes GatheredFor(const GraphFacts& facts, const ir::Plan& plan, ir::OpId op) {
  std::vector<ir::OpId> readers = facts.inheritors[op];
  readers.push_back(op);
  Bytes gathered(0);
  for (const ir::OpId reader : readers) {
    for (const ir::OpId input : facts.op(reader).inputs) {
      const ir::OpPlan& made = plan.ops[input];
      const ir::Layout layout = made.output.value_or(ir::OutputLayout(made.strategy, facts.rule(input)));
      gathered += GatheredBytes(facts.op(input).type, layout, plan.mesh);
    }
  }
  return gathered;
}

// Whether the op is one that no cut of the batch, or of another dimension, gets through, and runs whole on every rank
// because of that: the plan cuts none of its dimensions, and has its input gathered.
bool IsGatheredToRunWhole(const GraphFacts& facts, const ir::Plan& plan, ir::OpId op) {
  const std::vector<ir::Factor>& factors = facts.rule(op).factors;
  const bool has_whole = std::any_of(factors.begin(), factors.end(), [](const ir::Factor& factor) {
    return factor.kind == ir::FactorKind::kWhole && factor.size > 1;
  });
  const std::vector<ir::AxisList>& cuts = plan.ops[op].strategy.cuts;
  const bool is_cut = std::any_of(cuts.begin(), cuts.end(), [](const ir::AxisList& axes) { return !axes.empty(); });
  return has_whole && !is_cut && facts.op(op).type.elements() > 1 && GatheredFor(facts, plan, op) > Bytes(0);
}

// `ops`: all that `op defined` makes.
void WarnOfNoRule(const GraphFacts& facts, const ir::Plan& plan, const std::string& defined,
                  const std::vector<ir::OpId>& ops, Diagnostics& diagnostics) {
  Bytes gathered(0);
  for (const ir::OpId op : ops) gathered += GatheredFor(facts, plan, op) * facts.times[op];
  std::string cost = "every rank repeats the work; each already has all that it reads";
  if (gathered > Bytes(0)) {
    cost = absl::StrCat("every rank repeats the work, and sends ", FormatBytes(gathered),
                        " in each step to gather what it reads");
  }
  diagnostics.Add(
      Warning(Code::kW0604,
              absl::StrCat(OpsText(facts, ops), facts.TimesOf(ops) == 1 ? " runs" : " run", " whole on each of ",
                           Plural(plan.mesh.rank_count(), "rank"), ": `op ", defined, "` has no rule"))
          .Note(std::move(cost))
          .Help(absl::StrCat("say in `op ", defined, "` which dimensions can be cut: `rule = \"n k -> n k\";`")));
}

// Whether the smallest share of the op's work is less than half of the largest.
bool IsLopsided(const ir::Rule& rule, const ir::Strategy& strategy, const ir::Mesh& mesh) {
  double least = 1, most = 1;
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    const int64_t pieces = mesh.Size(strategy.cuts[factor]);
    const int64_t elements = rule.factors[factor].size;
    // A short slice that lies where its elements are is no work that others could share.
    if (pieces > elements && pieces <= MostPieces(rule, static_cast<int>(factor))) continue;
    least *= static_cast<double>(elements / pieces);
    most *= static_cast<double>(ir::LargestPiece(elements, pieces));
  }
  return 2 * least < most;
}

}  // namespace

void WarnOfIdleRanks(const GraphFacts& facts, const ir::Plan& plan, const OpDemands& demands, const ir::Pins& pins,
                     bool leave_idle, Diagnostics& diagnostics) {
  const int ranks = plan.mesh.rank_count();
  if (ranks == 1) return;
  std::vector<ir::OpId> whole, gathered, lopsided;
  std::map<std::string, std::vector<ir::OpId>> without_rule;  // By the op that defines them.
  std::set<ir::AxisId> used;
  for (const ir::Op& op : facts.graph->ops) {
    if (!IsModelOp(facts, op.id)) continue;
    const ir::Strategy& strategy = plan.ops[op.id].strategy;
    if (op.kind == ir::OpKind::kCustom && op.attributes.Get(ir::attribute::kRule).empty()) {
      without_rule[op.attributes.Get(ir::attribute::kOp)].push_back(op.id);
    } else if (HasOnlyWholeFactors(facts.rule(op.id)) && op.type.elements() > 1) {
      whole.push_back(op.id);
    } else if (plan.search.algorithm != "replicate" && plan.search.algorithm != "propagate" &&  // It says W0607.
               demands.count(op.id) == 0 && IsGatheredToRunWhole(facts, plan, op.id)) {
      gathered.push_back(op.id);
    }
    if (IsLopsided(facts.rule(op.id), strategy, plan.mesh)) lopsided.push_back(op.id);
    for (const ir::AxisList& axes : strategy.cuts) used.insert(axes.begin(), axes.end());
  }
  for (const auto& [defined, ops] : without_rule) WarnOfNoRule(facts, plan, defined, ops, diagnostics);
  if (!whole.empty()) {
    diagnostics.Add(
        Warning(Code::kW0601, absl::StrCat(OpsText(facts, whole), facts.TimesOf(whole) == 1 ? " runs" : " run",
                                           " whole on each of ", Plural(ranks, "rank")))
            .Note("no dimension of it can be cut: every rank repeats the work"));
  }
  if (!gathered.empty()) {
    Bytes bytes(0);
    for (const ir::OpId op : gathered) bytes += GatheredFor(facts, plan, op) * facts.times[op];
    diagnostics.Add(
        Warning(Code::kW0601, absl::StrCat(OpsText(facts, gathered), facts.TimesOf(gathered) == 1 ? " runs" : " run",
                                           " whole on each of ", Plural(ranks, "rank")))
            .Note(absl::StrCat("the dimension that the plan cuts before it must be whole here: every rank "
                               "repeats the work, and sends ",
                               FormatBytes(bytes), " in each step to gather what it reads")));
  }
  if (!lopsided.empty()) {
    Diagnostic warning = Warning(
        Code::kW0602, absl::StrCat("some ranks do less than half of another's work in ", OpsText(facts, lopsided)));
    const auto pin = std::find_if(pins.pins.begin(), pins.pins.end(),
                                  [&](const ir::Pin& candidate) { return candidate.op == lopsided[0]; });
    if (pin != pins.pins.end()) warning.labels.push_back({pin->span, "because of this pin"});
    warning.notes.push_back("a dimension is cut into more pieces than it has elements, so some are empty");
    diagnostics.Add(std::move(warning));
  }
  const int64_t working = plan.mesh.Size(ir::AxisList(used.begin(), used.end()));
  if (working < ranks && plan.search.algorithm != "replicate") {
    const bool pinned = !demands.empty();
    std::vector<std::string> idle;
    for (ir::AxisId axis : plan.mesh.AxisIds()) {
      if (used.count(axis) == 0) idle.push_back(plan.mesh.axis(axis).name);
    }
    const std::string unused =
        absl::StrCat(QuotedList(idle, "and"), idle.size() == 1 ? " is" : " are",
                     " used by no pin: ", idle.size() == 1 ? "its" : "their", " ranks repeat the work");
    diagnostics.Add(Warning(Code::kW0603,
                            absl::StrCat("only ", working, " of ", Plural(ranks, "device"), " have work of their own"))
                        .Note(NothingCanBeCut(facts) ? "no op of the model has a dimension that can be cut: every rank "
                                                       "runs all of it"
                              : plan.search.algorithm == "propagate" ? unused
                              : leave_idle ? "a step would take longer, or no op has elements for the other mesh axes: "
                                             "ranks repeat each other's work"
                              : pinned ? "no op has elements for the other mesh axes, or pins leave them out: ranks "
                                         "repeat each other's work"
                                       : "no op has elements for the other mesh axes: ranks repeat each other's work")
                        .Help(absl::StrCat("set `devices = ", working, "`")));
  }
}

}  // namespace cleave::search
