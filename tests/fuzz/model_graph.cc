// Text of a model: it gets errors, or it has a graph of one device and a training graph, both valid.
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/check/check.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/parse/parse.h"
#include "frontend/frontend.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/text.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/precision/precision.h"
#include "tests/fuzz/input.h"

namespace {

void CheckGraph(const cleave::ir::Graph& graph) {
  for (const std::string& error : cleave::ir::VerifyGraph(graph)) {
    CLEAVE_CHECK(false) << error << "\n" << cleave::ir::GraphText(graph);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  SourceSet sources;
  Diagnostics diagnostics;
  const auto tree = dsl::Parse(sources.Add("input.model", tests::fuzz::Text(data, size)), sources, diagnostics);
  if (!tree.has_value()) return 0;
  const auto module = frontend::Analyze(*tree, sources, {.default_devices = 2}, diagnostics);
  CLEAVE_CHECK(module.has_value() != diagnostics.has_errors());
  RenderText(diagnostics, sources);
  for (const Diagnostic& diagnostic : diagnostics.items()) RenderJson(diagnostic, sources);
  if (!module.has_value()) return 0;

  CheckGraph(module->graph);
  const auto training = ir::Differentiate(module->graph, module->updates);
  const absl::Status& status = training.status();
  CLEAVE_CHECK(status.ok() || absl::IsInvalidArgument(status) || absl::IsNotFound(status)) << status.message();
  if (training.ok())
    CheckGraph(ir::ApplyPrecision(*training, module->training.precision, module->training.kept_weights).graph);
  return 0;
}
