// plan.json for a fixed model: it is refused, or a program can be made of it and proven.
#include <optional>
#include <utility>

#include "base/check/check.h"
#include "tests/fuzz/input.h"
#include "tools/driver/pipeline.h"
#include "tools/driver/report.h"

namespace {

using namespace cleave;

constexpr char kModel[] =
#include "tests/fuzz/plan_file.inc"
    ;

tools::UnderstoodModel Model() {
  tests::fuzz::InputFile file;
  file.Write(kModel);
  tools::CompileOptions options;
  options.model = file.path();
  tools::Report report;
  const auto tree = tools::ReadModel(options, report);
  CLEAVE_CHECK(tree.has_value());
  auto model = tools::Understand(options, *tree, report);
  CLEAVE_CHECK(model.has_value()) << tools::ReportText(report, tools::ErrorFormat::kText);
  return *std::move(model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto& model = *new tools::UnderstoodModel(Model());
  static auto& file = *new tests::fuzz::InputFile;
  file.Write(data, size);
  tools::CompileOptions options;
  options.plan_file = file.path();
  options.emit = tools::EmitStage::kProgram;
  tools::Report report;
  report.sources.Add("plan_file.model", kModel);
  const auto compiled = tools::CompileModel(options, model, report);
  CLEAVE_CHECK(report.bug.empty()) << report.bug;
  CLEAVE_CHECK(compiled.has_value() != report.diagnostics.has_errors());
  tools::ReportText(report, tools::ErrorFormat::kText);
  tools::ReportText(report, tools::ErrorFormat::kJson);
  return 0;
}
