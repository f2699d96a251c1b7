#include "tools/lsp/lsp.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "search/model/cluster/presets.h"
#include "tools/driver/options.h"
#include "tools/lsp/loop.h"

namespace cleave::tools {
namespace {

constexpr int64_t kMostDevices = int64_t{1} << 20;

struct LspOptions {
  ServerOptions server;
  bool stdio = false;
  std::vector<std::string> sets;
};

void AddLspOptions(CLI::App& app, LspOptions& options) {
  CompileOptions& compile = options.server.compile;
  app.add_flag("--stdio", options.stdio, "Talk through standard input and output, as without it; some editors add it");
  SetValue(app.add_option("--target", compile.target, "For which machines plans are made"), "cpu|cuda");
  SetValue(app.add_option("--cluster", compile.cluster, "The machines (default: as for `cleave plan`)"),
           absl::StrCat(absl::StrJoin(search::PresetNames(), "|"), "|FILE.json"));
  SetValue(app.add_option("--devices", compile.devices, "How many of them (default: as the model says)"), "N")
      ->check(WholeNumber(1, kMostDevices));
  SetValue(app.add_option("--set", options.sets, "Another value for an argument or a setting of all models"),
           "NAME=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

}  // namespace

void DescribeLsp(CLI::App& app) { AddLspOptions(app, *new LspOptions); }

ExitCode RunLsp(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  LspOptions options;
  CLI::App app(summary, name);
  AddLspOptions(app, options);
  if (const auto exit = Parse(app, words)) return Print(*exit);
  for (const std::string& set : options.sets) {
    const size_t assign = set.find('=');
    if (assign == 0 || assign == std::string::npos) {
      return Print(UsageError(ErrorFormat::kText, "`--set` takes NAME=VALUE"));
    }
    options.server.compile.overrides.emplace_back(set.substr(0, assign), set.substr(assign + 1));
  }
  const bool is_clean = ServeUntilExit(STDIN_FILENO, STDOUT_FILENO, options.server);
  return is_clean ? ExitCode::kDone : ExitCode::kProgramFailed;
}

}  // namespace cleave::tools
