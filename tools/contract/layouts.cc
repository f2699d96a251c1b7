// Reading guide: CheckLayout finds the values that an expectation names, resolves its mesh axes, and compares. A named
// axis stands for its prime parts: `tp` for `tp.0` and `tp.1`.
#include "tools/contract/layouts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/cluster/cluster.h"
#include "tools/contract/causes.h"

namespace cleave::tools {
namespace {

// The mesh axis of this name, or the parts of the named one; none where there is no such axis.
ir::AxisList AxesCalled(const std::string& name, const ir::Mesh& mesh) {
  if (const auto axis = mesh.Find(name)) return {*axis};
  return search::AxesNamed(mesh, name);
}

// "_", "tp", "(dp, tp.0)": as an expectation says it.
std::string DimensionText(const ir::AxisList& axes, const ir::Mesh& mesh) {
  std::vector<std::string> names;
  for (size_t i = 0; i < axes.size();) {
    std::string name = mesh.axis(axes[i]).name;
    size_t count = 1;
    for (std::string& whole : search::AxisNames(mesh)) {
      const ir::AxisList parts = search::AxesNamed(mesh, whole);
      const bool is_whole = i + parts.size() <= axes.size() && std::equal(parts.begin(), parts.end(), axes.begin() + i);
      if (!is_whole) continue;
      name = std::move(whole);
      count = parts.size();
    }
    names.push_back(std::move(name));
    i += count;
  }
  if (names.empty()) return "_";
  return names.size() == 1 ? names.front() : absl::StrCat("(", absl::StrJoin(names, ", "), ")");
}

std::string LayoutWords(const ir::Layout& layout, const ir::Mesh& mesh) {
  std::vector<std::string> dimensions;
  for (const ir::AxisList& axes : layout.dimensions) dimensions.push_back(DimensionText(axes, mesh));
  std::string text = absl::StrCat("(", absl::StrJoin(dimensions, ", "), dimensions.size() == 1 ? ",)" : ")");
  if (layout.is_partial()) {
    absl::StrAppend(&text, ", to be added up over ", DimensionText(layout.PartialAxes(), mesh));
  }
  return text;
}

std::optional<std::vector<ir::AxisList>> Resolve(const frontend::ExpectedLayout& expected, const ir::Mesh& mesh,
                                                 Diagnostics& diagnostics) {
  std::vector<ir::AxisList> dimensions;
  for (const auto& names : expected.dimensions) {
    ir::AxisList& axes = dimensions.emplace_back();
    for (const ir::Placed<std::string>& name : names) {
      const ir::AxisList called = AxesCalled(name.value, mesh);
      axes.insert(axes.end(), called.begin(), called.end());
      if (!called.empty()) continue;
      std::vector<std::string> known;
      for (const std::string& whole : search::AxisNames(mesh)) {
        known.push_back(whole);
        for (const ir::AxisId part : search::AxesNamed(mesh, whole)) {
          if (mesh.axis(part).name != whole) known.push_back(mesh.axis(part).name);
        }
      }
      Diagnostic error = Error(Code::kE0803, absl::StrCat("the plan has no mesh axis `", name.value, "`"))
                             .At(name.span, "not an axis of the plan");
      if (const auto nearest = NearestName(name.value, known)) {
        error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
      } else {
        error.notes.push_back(known.empty() ? "the plan is one for one rank"
                                            : absl::StrCat("its mesh is ", mesh.ToString()));
      }
      diagnostics.Add(std::move(error));
      return std::nullopt;
    }
  }
  return dimensions;
}

std::vector<ir::OpId> Named(const frontend::ExpectedLayout& expected, const ir::Graph& graph,
                            Diagnostics& diagnostics) {
  std::vector<ir::OpId> named;
  std::vector<std::string> names;
  for (const ir::Op& op : graph.ops) {
    names.push_back(op.name);
    if (MatchesPattern(expected.name, op.name)) named.push_back(op.id);
  }
  if (!named.empty()) return named;
  Diagnostic error = Error(Code::kE0803, absl::StrCat("the plan has no tensor `", expected.name, "`"))
                         .At(expected.name_span, "no op, parameter or input has this name");
  if (const auto nearest = NearestName(expected.name, names)) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  } else {
    error.help.push_back("`cleave compile MODEL --emit graph` lists the names");
  }
  diagnostics.Add(std::move(error));
  return {};
}

}  // namespace

void CheckLayout(const frontend::ExpectedLayout& expected, const search::Explained& explained, FileId model,
                 const SourceSet& sources, Diagnostics& diagnostics) {
  const ir::Graph& graph = explained.graph;
  const ir::Plan& plan = explained.plan;
  const std::vector<ir::OpId> named = Named(expected, graph, diagnostics);
  if (named.empty()) return;
  const auto wanted = Resolve(expected, plan.mesh, diagnostics);
  if (!wanted.has_value()) return;
  ir::RuleTable rules;
  std::vector<std::string> others;
  std::optional<Diagnostic> error;
  for (const ir::OpId id : named) {
    const ir::Op& op = graph.op(id);
    const ir::OpPlan& planned = plan.ops[id];
    if (op.type.shape.size() != wanted->size()) {
      diagnostics.Add(Error(Code::kE0803, absl::StrCat("`", op.name, "` has ",
                                                       Plural(static_cast<int64_t>(op.type.shape.size()), "dimension"),
                                                       ", and `", expected.layout, "` is a layout of ", wanted->size()))
                          .At(expected.layout_span, absl::StrCat("`", op.name, "` is ", op.type.ToString())));
      return;
    }
    const ir::Layout layout = planned.output.value_or(ir::OutputLayout(planned.strategy, rules.Of(graph, op)));
    if (layout.dimensions == *wanted && !layout.is_partial()) continue;
    if (error.has_value()) {
      others.push_back(op.name);
      continue;
    }
    const std::string found = LayoutWords(layout, plan.mesh);
    error = Error(Code::kE0802,
                  absl::StrCat("`", op.name, "` lies as ", found, ", and `", expected.layout, "` is expected"));
    if (const auto line = SpanOfModelLine(op.line, model, sources)) {
      error->labels.push_back({*line, absl::StrCat("`", op.name, "` is ", op.type.ToString(), " as ", found)});
    }
    error->labels.push_back({expected.span, "expected here"});
    if (!planned.reason.empty()) error->notes.push_back(absl::StrCat("why: ", planned.reason));
  }
  if (!error.has_value()) return;
  if (!others.empty()) {
    error->notes.push_back(absl::StrCat(Plural(static_cast<int64_t>(others.size()), "other tensor"), " of `",
                                        expected.name, "` ", others.size() == 1 ? "differs" : "differ",
                                        " from it, too: `", others.front(), others.size() > 1 ? "`, …" : "`"));
  }
  diagnostics.Add(*std::move(error));
}

}  // namespace cleave::tools
