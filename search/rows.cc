#include "search/rows.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/row_updates/row_updates.h"
#include "search/comparison.h"

namespace cleave::search {
namespace {

MeasuredPlan MeasureOnOneDevice(const ir::Graph& graph, const Cluster& cluster, const SearchOptions& options) {
  ir::Plan plan{.mesh = ir::Mesh::OfDevices(1), .ops = {}, .search = {}};
  for (const ir::Op& op : graph.ops) {
    plan.ops.push_back({.strategy = ir::Strategy::Replicated(ir::RuleOf(graph, op)),
                        .output = std::nullopt,
                        .reason = "",
                        .choices = {}});
  }
  return *Measure(graph, Found{.plan = std::move(plan), .program = std::nullopt}, cluster, options);
}

// The gradients in `possible` that make a step on one device faster by rows.
std::vector<ir::OpId> Candidates(const ir::Graph& graph, const std::vector<ir::RowUpdate>& possible,
                                 const Cluster& cluster, const ir::ParallelSettings& settings,
                                 const SearchOptions& options) {
  std::vector<ir::OpId> gradients;
  std::optional<MeasuredPlan> whole;
  for (const ir::RowUpdate& update : possible) {
    if (settings.row_updates == ir::TableRows::kAll) {
      gradients.push_back(update.gradient);
      continue;
    }
    // A row that is looked up is read and written several times where the update of a whole table is one pass.
    if (update.places >= graph.op(update.table).type.shape[0]) continue;
    if (!whole.has_value()) whole = MeasureOnOneDevice(graph, cluster, options);
    const ir::Graph by_rows = ir::WithRowUpdates(graph, {update.gradient});
    if (IsBetter(MeasureOnOneDevice(by_rows, cluster, options), whole, options)) gradients.push_back(update.gradient);
  }
  return gradients;
}

// Adds to the reason of a table's gradient why it is applied by rows, or not.
void Explain(const ir::Graph& graph, ir::OpId gradient, const std::string& why, ir::Plan& plan) {
  const ir::Op& op = graph.op(gradient);
  absl::StrAppend(&plan.ops[gradient].reason, "; ", plan.ops[gradient].by_rows ? "applied by rows" : "of all rows",
                  ": a step looks up ", FormatCount(graph.op(op.inputs[1]).type.elements()), " of ",
                  FormatCount(op.type.shape[0]), ", and ", why);
}

// The same for gradients that need all rows although a step looks up few.
void ExplainWhole(const ir::Graph& graph, const ir::RowUpdates& updates, ir::Plan& plan) {
  for (const ir::WholeGradient& whole : updates.impossible) {
    const ir::Op& op = graph.op(whole.gradient);
    if (graph.op(op.inputs[1]).type.elements() < op.type.shape[0]) Explain(graph, whole.gradient, whole.why, plan);
  }
}

void WarnOfWhole(const ir::Graph& graph, const std::vector<ir::RowUpdate>& possible,
                 const ir::ParallelSettings& settings, Diagnostics& diagnostics) {
  std::vector<std::string> tables;
  for (const ir::RowUpdate& update : possible) tables.push_back(graph.op(update.table).name);
  if (tables.empty() || settings.row_updates != ir::TableRows::kAll) return;
  diagnostics.Add(Warning(Code::kW0619, absl::StrCat("`row_updates = all`, and the gradients of ",
                                                     QuotedList(tables, "and"), " are whole"))
                      .At(settings.row_updates_span, "has no effect on these")
                      .Note("the gradients of the micro-batches of a step, and of a pipeline, add up as a whole")
                      .Help("`micro_batches = 1` without `stages`, or `row_updates = auto`"));
}

// The gradients that may be applied by rows in this search: none with micro-batches or stages, where the sum of
// gradients over micro-batches is kept as a whole.
ir::RowUpdates UpdatesFor(const ir::Graph& graph, const ir::ParallelSettings& settings, const SearchOptions& options,
                          Diagnostics& diagnostics) {
  if (settings.row_updates == ir::TableRows::kNone) return {};
  ir::RowUpdates updates = ir::FindRowUpdates(graph);
  if (settings.stages == 1 && options.micro_batches == 1) return updates;
  WarnOfWhole(graph, updates.possible, settings, diagnostics);
  for (const ir::RowUpdate& update : updates.possible) {
    updates.impossible.push_back(
        {.table = update.table, .gradient = update.gradient, .why = "gradients of micro-batches add up as a whole"});
  }
  updates.possible.clear();
  return updates;
}

}  // namespace

std::optional<Found> SearchWithRows(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                    const SearchOptions& options, Diagnostics& diagnostics) {
  const ir::RowUpdates updates = UpdatesFor(graph, pins.settings, options, diagnostics);
  const std::vector<ir::OpId> gradients = Candidates(graph, updates.possible, cluster, pins.settings, options);
  std::optional<MeasuredPlan> rows, whole;
  Diagnostics of_rows, of_whole;
  const auto search = [&](const ir::Graph& of, const std::optional<MeasuredPlan>& known, Diagnostics& own) {
    return Measure(of, SearchForProgram(of, cluster, pins, ToBeat(known, options), own), cluster, options);
  };
  if (!gradients.empty()) {
    const ir::Graph by_rows = ir::WithRowUpdates(graph, gradients);
    rows = search(by_rows, std::nullopt, of_rows);
    if (rows.has_value() && pins.settings.row_updates != ir::TableRows::kAll) whole = search(graph, rows, of_whole);
  }
  const bool takes_rows = IsBetter(rows, whole, options);
  if (!takes_rows && !whole.has_value()) {
    std::optional<Found> found = SearchForProgram(graph, cluster, pins, options, diagnostics);
    if (found.has_value()) ExplainWhole(graph, updates, found->plan);
    return found;
  }
  diagnostics.AddAll(takes_rows ? of_rows : of_whole);
  ir::Plan& plan = takes_rows ? rows->found.plan : whole->found.plan;
  const std::string why = takes_rows ? WhyTaken(*rows, whole) : WhyTaken(*whole, rows);
  for (const ir::OpId gradient : gradients) {
    plan.ops[gradient].by_rows = takes_rows;
    Explain(graph, gradient, why, plan);
  }
  ExplainWhole(graph, updates, plan);
  return std::move(takes_rows ? rows : whole)->found;
}

}  // namespace cleave::search
