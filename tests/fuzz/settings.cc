// `--set NAME=VALUE`, one a line, for a fixed model that is planned for two ranks.
#include <optional>
#include <string>
#include <utility>

#include "base/check/check.h"
#include "tests/fuzz/input.h"
#include "tools/driver/pipeline.h"
#include "tools/driver/report.h"

namespace {

constexpr char kModel[] =
#include "tests/fuzz/settings.inc"
    ;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  static auto& file = *new tests::fuzz::InputFile;
  file.Write(kModel);
  tools::CompileOptions options;
  options.model = file.path();
  options.devices = 2;
  options.emit = tools::EmitStage::kProgram;
  for (const std::string& line : tests::fuzz::Split(tests::fuzz::Text(data, size), '\n')) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    options.overrides.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  tools::Report report;
  const auto tree = tools::ReadModel(options, report);
  CLEAVE_CHECK(tree.has_value());
  auto model = tools::Understand(options, *tree, report);
  const bool done = model.has_value() && tools::CompileModel(options, *std::move(model), report).has_value();
  CLEAVE_CHECK(report.bug.empty()) << report.bug;
  CLEAVE_CHECK(done != report.diagnostics.has_errors());
  tools::ReportText(report, tools::ErrorFormat::kText);
  tools::ReportText(report, tools::ErrorFormat::kJson);
  return 0;
}
