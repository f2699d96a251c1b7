#include "search/rows.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/row_updates/row_updates.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"

namespace cleave::search {
namespace {

// By what two plans are compared: the predicted step, or the peak of a rank.
double MeasureOf(const ir::LoweredProgram& made, const Cluster& cluster, const SearchOptions& options) {
  if (options.objective == ir::Objective::kMemory) return static_cast<double>(PeakOf(made).value());
  return StepOf(made, cluster, options.execution).value();
}

double MeasureOnOneDevice(const ir::Graph& graph, const Cluster& cluster, const SearchOptions& options) {
  ir::Plan plan{.mesh = ir::Mesh::OfDevices(1), .ops = {}, .search = {}};
  for (const ir::Op& op : graph.ops) {
    plan.ops.push_back({.strategy = ir::Strategy::Replicated(ir::RuleOf(graph, op)),
                        .output = std::nullopt,
                        .reason = "",
                        .choices = {}});
  }
  return MeasureOf(MustMake(graph, plan, cluster, options.execution), cluster, options);
}

// The gradients in `possible` that make a step on one device faster by rows.
std::vector<ir::OpId> Candidates(const ir::Graph& graph, const std::vector<ir::RowUpdate>& possible,
                                 const Cluster& cluster, const ir::ParallelSettings& settings,
                                 const SearchOptions& options) {
  std::vector<ir::OpId> gradients;
  std::optional<double> whole;
  for (const ir::RowUpdate& update : possible) {
    if (settings.row_updates == ir::TableRows::kAll) {
      gradients.push_back(update.gradient);
      continue;
    }
    // A row that is looked up is read and written several times where the update of a whole table is one pass.
    if (update.places >= graph.op(update.table).type.shape[0]) continue;
    if (!whole.has_value()) whole = MeasureOnOneDevice(graph, cluster, options);
    const ir::Graph by_rows = ir::WithRowUpdates(graph, {update.gradient});
    if (MeasureOnOneDevice(by_rows, cluster, options) < *whole) gradients.push_back(update.gradient);
  }
  return gradients;
}

struct Weighed {
  Found found;
  double measure = 0;
};

std::optional<Weighed> SearchOf(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                const SearchOptions& options, Diagnostics& diagnostics) {
  std::optional<Found> found = SearchForProgram(graph, cluster, pins, options, diagnostics);
  if (!found.has_value()) return std::nullopt;
  if (!found->program.has_value()) found->program = MustMake(graph, found->plan, cluster, options.execution);
  const double measure = MeasureOf(*found->program, cluster, options);
  return Weighed{.found = *std::move(found), .measure = measure};
}

std::string MeasureText(double measure, const SearchOptions& options) {
  if (options.objective == ir::Objective::kMemory) {
    return absl::StrCat(FormatCount(static_cast<int64_t>(measure)), " bytes");
  }
  return FormatSeconds(Seconds(measure));
}

// "a step takes 1.2 ms in place of 3.4 ms"
std::string Comparison(const Weighed& taken, const std::optional<Weighed>& other, const SearchOptions& options) {
  if (!other.has_value()) return "as asked, or because nothing else fits";
  const bool is_memory = options.objective == ir::Objective::kMemory;
  return absl::StrCat(is_memory ? "a rank needs " : "a step takes ", MeasureText(taken.measure, options),
                      " in place of ", MeasureText(other->measure, options));
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
  std::optional<Weighed> rows, whole;
  Diagnostics of_rows, of_whole;
  if (!gradients.empty()) {
    const ir::Graph by_rows = ir::WithRowUpdates(graph, gradients);
    rows = SearchOf(by_rows, cluster, pins, options, of_rows);
    if (rows.has_value() && pins.settings.row_updates != ir::TableRows::kAll) {
      whole = SearchOf(graph, cluster, pins, options, of_whole);
    }
  }
  const bool takes_rows = rows.has_value() && (!whole.has_value() || rows->measure < whole->measure);
  if (!takes_rows && !whole.has_value()) {
    std::optional<Found> found = SearchForProgram(graph, cluster, pins, options, diagnostics);
    if (found.has_value()) ExplainWhole(graph, updates, found->plan);
    return found;
  }
  diagnostics.AddAll(takes_rows ? of_rows : of_whole);
  ir::Plan& plan = takes_rows ? rows->found.plan : whole->found.plan;
  for (const ir::OpId gradient : gradients) {
    plan.ops[gradient].by_rows = takes_rows;
    Explain(graph, gradient, takes_rows ? Comparison(*rows, whole, options) : Comparison(*whole, rows, options), plan);
  }
  ExplainWhole(graph, updates, plan);
  return std::move(takes_rows ? rows : whole)->found;
}

}  // namespace cleave::search
