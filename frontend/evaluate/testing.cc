#include "frontend/evaluate/testing.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/parse/parse.h"
#include "frontend/custom_ops/custom_ops.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/functions/functions.h"
#include "frontend/imports/imports.h"
#include "frontend/report/report.h"

namespace cleave::frontend {

std::string Expanded::Text() const {
  if (!messages.empty()) return messages;
  std::vector<std::string> lines;
  for (const ir::Op& op : expansion.graph.ops) {
    if (op.name == "x" || op.name == "scalar") continue;
    std::vector<std::string> inputs;
    for (const ir::OpId input : op.inputs) inputs.push_back(expansion.graph.op(input).name);
    lines.push_back(absl::StrCat(op.name, "(", absl::StrJoin(inputs, ", "), "): ", op.type.ToString()));
  }
  for (const ir::Look& look : expansion.graph.looks) {
    lines.push_back(absl::StrCat(ir::LookKindName(look.kind), " ", expansion.graph.op(look.value).name));
  }
  return absl::StrJoin(lines, "\n");
}

Expanded ExpandBody(const std::string& body, const std::string& rest) {
  const std::string loss = absl::StrContains(body, "loss ") ? "" : " loss scalar;";
  const std::string text = absl::StrCat(
      "model M() { input x: f32[8, 6]; input scalar: f32[]; let _x = x; let _s = scalar; ", body, loss, " }\n", rest);
  SourceSet sources;
  Diagnostics diagnostics;
  const std::optional<dsl::syntax::File> file = dsl::Parse(sources.Add("test.model", text), sources, diagnostics);
  CLEAVE_CHECK(file.has_value()) << RenderText(diagnostics, sources);
  Reporter reporter(sources, diagnostics);
  const dsl::syntax::File prelude{.file = sources.Add("prelude.model", ""), .items = {}};
  const FunctionTable functions(*file, Imports(), prelude, reporter);
  const CustomOps custom_ops(*file, Imports(), sources, "cpu", reporter);
  Evaluator evaluator(functions, custom_ops, reporter);
  const auto& model = std::get<dsl::syntax::Model>(file->items[0].kind);
  evaluator.SetModel(model, std::nullopt);
  evaluator.RunModel(model);
  reporter.Flush();
  Expanded result{.expansion = std::move(evaluator).Finish(), .messages = ""};
  result.messages = absl::StrJoin(diagnostics.items(), "\n", [](std::string* out, const Diagnostic& diagnostic) {
    absl::StrAppend(out, CodeName(diagnostic.code), ": ", diagnostic.message);
  });
  return result;
}

}  // namespace cleave::frontend
