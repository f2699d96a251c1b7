// The words of a command line, one a line: they are options, or a text says what is wrong.
#include <string>
#include <variant>
#include <vector>

#include "base/check/check.h"
#include "base/diagnostic/diagnostic.h"
#include "tests/fuzz/input.h"
#include "tools/driver/choose_cluster.h"
#include "tools/driver/options.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const std::vector<std::string> words = tests::fuzz::Split(tests::fuzz::Text(data, size), '\n');
  const auto parsed = tools::ParseCommandLine(tools::Command::kCompile, "compile", "Compiles a model.", words);
  if (const auto* exit = std::get_if<tools::EarlyExit>(&parsed)) {
    CLEAVE_CHECK(!exit->text.empty() && exit->code != tools::ExitCode::kInternal);
    return 0;
  }
  const auto& options = std::get<tools::CompileOptions>(parsed);
  CLEAVE_CHECK(!options.model.empty());
  if (options.cluster.find_first_of("/.") != std::string::npos) return 0;  // Whatever file it names would be read.
  Diagnostics diagnostics;
  const auto machines = tools::MachinesAskedFor(options, diagnostics);
  CLEAVE_CHECK(machines.has_value() != diagnostics.has_errors());
  if (machines.has_value()) tools::DevicesAskedFor(options, *machines);
  RenderText(diagnostics, {});
  return 0;
}
