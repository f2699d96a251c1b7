#include "tools/driver/program_flags.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "codegen/codegen.h"
#include "frontend/settings/settings.h"
#include "tools/driver/pipeline.h"

namespace cleave::tools {
namespace {

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether the compiler knows a setting of this name, other than by an argument of the model.
bool IsSetting(const std::string& name) {
  return Has(frontend::TrainSettingNames(), name) || Has(frontend::ParallelSettingNames(), name);
}

// Settings that the programs of all models have as flags of the same name.
bool IsFlagOfAll(const std::string& name) { return name == "steps" || name == "epochs" || name == "seed"; }

bool IsReal(const std::string& value, double* number) {
  return absl::SimpleAtod(value, number) && std::isfinite(*number);
}

// Whether a setting is one of the compiler, and a flag of programs where their models give it as a number.
bool IsBoth(const std::string& name) {
  return name == "clip" || name == "loss_scale" || absl::StartsWith(name, "optimizer.");
}

bool MayBeNumber(const std::string& name, const std::string& value, const std::set<std::string>& arguments) {
  double number = 0;
  const std::string head = name.substr(0, name.find('.'));
  return IsReal(value, &number) && arguments.count(head) == 0 && (IsBoth(name) || !IsSetting(head));
}

}  // namespace

std::optional<ProgramFlags> FlagsOfProgram(const CompileOptions& options, MaybeNumbers numbers, Report& report) {
  const std::optional<dsl::syntax::File> file = ReadModel(options, report);
  if (!file.has_value()) return std::nullopt;
  ProgramFlags flags;
  for (const dsl::syntax::Item& item : file->items) {
    const auto* const model = std::get_if<dsl::syntax::Model>(&item.kind);
    if (model == nullptr) continue;
    for (const dsl::syntax::Parameter& parameter : model->parameters) flags.arguments.insert(parameter.name.text);
  }
  CompileOptions without = options;
  without.overrides.clear();
  for (const auto& [name, value] : options.overrides) {
    const bool is_left_out = numbers == MaybeNumbers::kLeftOut && MayBeNumber(name, value, flags.arguments);
    if (!is_left_out) without.overrides.emplace_back(name, value);
  }
  const std::optional<UnderstoodModel> model = Understand(without, *file, report);
  if (!model.has_value()) return std::nullopt;
  flags.numbers = codegen::NumbersOfFlags(model->module.training, model->training_graph);
  if (const auto& devices = model->module.pins.settings.devices; devices.has_value()) flags.devices = devices->value;
  return flags;
}

std::vector<std::string> FlagOf(const std::string& name, const std::string& value, const ProgramFlags& flags) {
  if (flags.arguments.count(name) > 0) return {};
  int64_t whole = 0;
  if (IsFlagOfAll(name) && absl::SimpleAtoi(value, &whole)) return {absl::StrCat("--", name), value};
  double number = 0;
  if (flags.numbers.count(name) == 0 || !IsReal(value, &number) || (number == 0 && IsBoth(name))) return {};
  return {"--set", absl::StrCat(name, "=", value)};
}

}  // namespace cleave::tools
