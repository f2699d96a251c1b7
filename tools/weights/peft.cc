#include "tools/weights/peft.h"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/text/text.h"
#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"

namespace cleave::tools {
namespace {

using runtime::Error;
using runtime::Result;

bool IsNothing(const runtime::Json& value) {
  switch (value.kind) {
    case runtime::Json::Kind::kNull:
      return true;
    case runtime::Json::Kind::kBool:
      return value.text == "false";
    case runtime::Json::Kind::kArray:
      return value.items.empty();
    case runtime::Json::Kind::kObject:
      return value.members.empty();
    case runtime::Json::Kind::kNumber:
    case runtime::Json::Kind::kString:
      return false;
  }
  return false;
}

std::string ShownValue(const runtime::Json& value) {
  switch (value.kind) {
    case runtime::Json::Kind::kArray:
      return "a list";
    case runtime::Json::Kind::kObject:
      return "an object";
    default:
      return InTicks(value.text);
  }
}

}  // namespace

Result<PeftConfig> ReadConfig(const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{1} << 24;
  const Result<std::vector<uint8_t>> bytes = runtime::ReadFile(path, kMostBytes);
  if (!bytes.ok()) return bytes.error();
  const Result<runtime::Json> json = runtime::ParseJson(std::string(bytes.value().begin(), bytes.value().end()));
  if (!json.ok()) return AdapterError(absl::StrCat(InTicks(path), " ", json.error().message));
  static const auto& kChangeNothing = *new std::set<std::string>{
      "alora_invocation_tokens", "auto_mapping",   "base_model_name_or_path", "ensure_weight_tying", "exclude_modules",
      "inference_mode",          "layers_pattern", "layers_to_transform",     "megatron_core",       "peft_version",
      "qalora_group_size",       "revision",       "runtime_config",          "target_modules",      "task_type"};
  static const auto& kOneValue = *new std::map<std::string, std::set<std::string>>{
      {"bias", {"none"}}, {"peft_type", {"LORA"}}, {"init_lora_weights", {"true", "false", "gaussian"}}};
  PeftConfig config;
  bool has_rank = false, has_alpha = false, has_type = false;
  for (const runtime::JsonMember& member : json.value().members) {
    const std::string& name = member.name;
    const runtime::Json& value = member.value;
    const auto refused = [&](const std::string& expected) {
      return AdapterError(absl::StrCat("`", ShownName(name), "` in ", InTicks(path), " is ", ShownValue(value),
                                       "; adapters here have ", expected));
    };
    double number = 0;
    const bool is_number = value.kind == runtime::Json::Kind::kNumber && absl::SimpleAtod(value.text, &number);
    if (name == "r") {
      const std::optional<int64_t> rank = runtime::JsonInteger(value);
      if (!rank.has_value() || *rank < 1) return refused("a rank of at least 1");
      config.form.rank = *rank;
      has_rank = true;
    } else if (name == "lora_alpha") {
      if (!is_number || number <= 0) return refused("an alpha above 0");
      config.form.alpha = number;
      has_alpha = true;
    } else if (name == "lora_dropout") {
      if (!is_number || number < 0 || number >= 1) return refused("a share of at least 0 and less than 1");
      config.form.dropout = number;
    } else if (name == "use_rslora" || name == "use_dora" || name == "fan_in_fan_out") {
      if (value.kind != runtime::Json::Kind::kBool) return refused("`true` or `false`");
      bool& flag = name == "use_rslora" ? config.form.is_rank_stable
                   : name == "use_dora" ? config.form.has_magnitude
                                        : config.is_in_first;
      flag = value.text == "true";
    } else if (const auto known = kOneValue.find(name); known != kOneValue.end()) {
      if (known->second.count(value.text) == 0) {
        return refused(QuotedList(std::vector<std::string>(known->second.begin(), known->second.end()), "or"));
      }
      has_type = has_type || name == "peft_type";
    } else if (kChangeNothing.count(name) == 0 && !IsNothing(value)) {
      return refused("nothing there");
    }
  }
  if (has_rank && has_alpha && has_type) return config;
  return AdapterError(absl::StrCat(InTicks(path), " lacks ",
                                   !has_type   ? "`peft_type`"
                                   : !has_rank ? "`r`"
                                               : "`lora_alpha`"));
}

Result<std::map<std::string, PeftModule>> ReadModules(const WeightSource& source, const ir::AdapterForm& form) {
  std::map<std::string, PeftModule> modules;
  for (const WeightTensor& tensor : source.tensors()) {
    absl::string_view name = tensor.name;
    const bool has_root = absl::ConsumePrefix(&name, kPeftRoot);
    const bool is_a = absl::ConsumeSuffix(&name, kPeftA);
    const bool is_b = !is_a && absl::ConsumeSuffix(&name, kPeftB);
    const bool is_magnitude = !is_a && !is_b && absl::ConsumeSuffix(&name, kPeftMagnitude);
    if (!has_root || !(is_a || is_b || is_magnitude)) {
      return AdapterError(absl::StrCat(InTicks(tensor.name), " in ", InTicks(source.path()), " is no tensor of LoRA"));
    }
    PeftModule& module = modules[std::string(name)];
    if (is_magnitude) {
      Result<std::vector<float>> values = ReadTensor(source, tensor.name);
      if (!values.ok()) return values.error();
      module.magnitude = std::move(values.value());
      continue;
    }
    Result<Matrix> matrix = ReadMatrix(source, tensor.name);
    if (!matrix.ok()) return matrix.error();
    (is_a ? module.a : module.b) = std::move(matrix.value());
  }
  for (const auto& [name, module] : modules) {
    if (module.a.rows != form.rank || module.b.columns != form.rank) {
      return AdapterError(
          absl::StrCat("the adapter of ", InTicks(name), " lacks a matrix or has another rank than ", form.rank));
    }
    const size_t magnitudes = form.has_magnitude ? static_cast<size_t>(module.b.rows) : 0;
    if (module.magnitude.size() == magnitudes) continue;
    return AdapterError(absl::StrCat("the adapter of ", InTicks(name), " has ", module.magnitude.size(),
                                     " magnitudes, not ", magnitudes));
  }
  if (modules.empty()) return AdapterError(absl::StrCat(InTicks(source.path()), " has no tensors"));
  return modules;
}

std::string ConfigText(const PeftConfig& config, const std::vector<std::string>& targets) {
  const ir::AdapterForm& form = config.form;
  const auto word = [](bool value) { return value ? "true" : "false"; };
  // A whole number where it is one, as PEFT writes it.
  const std::string alpha(absl::StripSuffix(FormatDouble(form.alpha), ".0"));
  std::vector<std::string> quoted;
  for (const std::string& target : targets)
    quoted.push_back(absl::StrCat("    \"", runtime::JsonEscaped(target), "\""));
  return absl::StrCat("{\n  \"base_model_name_or_path\": null,\n  \"bias\": \"none\",\n  \"fan_in_fan_out\": ",
                      word(config.is_in_first), ",\n  \"inference_mode\": true,\n  \"init_lora_weights\": true,\n",
                      "  \"lora_alpha\": ", alpha, ",\n  \"lora_dropout\": ", FormatDouble(form.dropout),
                      ",\n  \"modules_to_save\": null,\n  \"peft_type\": \"LORA\",\n", "  \"r\": ", form.rank,
                      ",\n  \"target_modules\": [\n", absl::StrJoin(quoted, ",\n"),
                      "\n  ],\n  \"task_type\": null,\n  \"use_dora\": ", word(form.has_magnitude),
                      ",\n  \"use_rslora\": ", word(form.is_rank_stable), "\n}\n");
}

}  // namespace cleave::tools
