#include "tools/driver/options.h"

#include <map>
#include <sstream>

#include "CLI/CLI.hpp"

namespace cleave {
namespace {

EarlyExit ExitOf(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const bool done = app.exit(error, out, err) == 0;
  return {.code = done ? ExitCode::kDone : ExitCode::kUsage, .text = done ? out.str() : err.str()};
}

}  // namespace

std::variant<CompileOptions, EarlyExit> ParseCommandLine(int argc, const char* const* argv) {
  CompileOptions options;
  std::vector<std::string> sets;
  CLI::App app("Compiles a .model file into a program that trains it on any number of ranks under mpirun.", "compile");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  app.add_option("MODEL", options.model, "The model file")->required();
  app.add_option("--devices", options.devices, "Number of ranks (default: the model's, else 1)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_option("--cluster", options.cluster, "Preset of the machines (default: cpu)");
  app.add_option("--search", options.search, "How the plan is found")
      ->check(CLI::IsMember({"sapp", "propagate", "exact", "data_parallel", "replicate", "manual"}));
  app.add_option("--target", options.target, "cpu (default) or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--out", options.out, "Output folder (default: out/<model>)");
  app.add_flag("--run", options.run, "Build the program and start it with mpirun on this machine");
  app.add_option("--steps", options.steps, "Stop training after so many steps")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "Seed of initial values and of the order of samples")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--plan-only", options.plan_only, "Find and prove the plan, print its summary, write nothing");
  app.add_option("--plan", options.plan_file, "Take the plan from a plan.json instead of searching");
  app.add_option("--emit", options.emit, "Print one stage and stop: ast, graph, plan, program or source")
      ->transform(CLI::CheckedTransformer(std::map<std::string, EmitStage>{{"ast", EmitStage::kAst},
                                                                           {"graph", EmitStage::kGraph},
                                                                           {"plan", EmitStage::kPlan},
                                                                           {"program", EmitStage::kProgram},
                                                                           {"source", EmitStage::kSource}}));
  app.add_option("--rank", options.rank, "With --emit program or source: as this rank runs it")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* explain =
      app.add_option("--explain", options.explain, "Print the plan as a table, or every choice of one op")
          ->expected(0, 1);
  app.add_option("--set", sets, "name=value: a model argument, or a setting of the train or parallel block")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--error-format", options.error_format, "text (default) or json, one object a line")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, ErrorFormat>{{"text", ErrorFormat::kText}, {"json", ErrorFormat::kJson}}));
  app.add_flag("--quiet", options.quiet, "Print errors and warnings only");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ExitOf(app, error);
  }
  if (explain->count() > 0 && !options.explain.has_value()) options.explain = "";
  for (const std::string& set : sets) {
    const size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      return EarlyExit{
          .code = ExitCode::kUsage,
          .text = "--set: expected name=value, found '" + set + "'\nRun with --help for more information.\n"};
    }
    options.overrides.emplace_back(set.substr(0, equals), set.substr(equals + 1));
  }
  return options;
}

}  // namespace cleave
