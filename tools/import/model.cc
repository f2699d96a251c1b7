#include "tools/import/model.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "dsl/format/format.h"
#include "dsl/parse/parse.h"
#include "frontend/frontend.h"
#include "tools/weights/mapping.h"

namespace cleave::tools {
namespace {

constexpr char kShownModel[] = "the model of config.json";
constexpr int64_t kMostSymbolsOf16Bits = 65536;

std::string Filled(absl::string_view text, const TemplateValues& values) {
  const absl::StatusOr<std::string> filled = FillTemplate(text, values);
  CLEAVE_CHECK(filled.ok()) << filled.status().message();
  return *filled;
}

}  // namespace

TemplateValues WithWhatFollows(const Family& family, TemplateValues values) {
  int64_t vocabulary = 0;
  const bool is_small = absl::SimpleAtoi(values["vocab"], &vocabulary) && vocabulary <= kMostSymbolsOf16Bits;
  const std::string bits = is_small ? "16" : "32";
  values["token_bits"] = bits;
  values["token_type"] = absl::StrCat("u", bits);
  // RoBERTa's first token stands behind the place that has the number of what pads.
  int64_t pad = 0, places = 0, seq = 0;
  if (values.count("pad") > 0 && absl::SimpleAtoi(values["pad"], &pad) && absl::SimpleAtoi(values["places"], &places) &&
      absl::SimpleAtoi(values["seq"], &seq)) {
    values["first_place"] = absl::StrCat(pad + 1);
    values["seq"] = absl::StrCat(std::min(seq, places - pad - 1));
  }
  const bool is_scaled = Holds(values, "scaled");
  values["rotation"] = is_scaled ? "rotate" : "rope";
  values["frequencies"] = is_scaled ? "frequency" : "theta";
  const bool is_packed = Holds(values, "packed");
  values["attend"] = is_packed ? "attend_within" : "attend";
  values["ranges"] = is_packed ? "first, end," : "";
  values["generates"] = Holds(values, "data") || Holds(values, "pairs") ? "" : "true";
  values["rate"] = Holds(values, "pairs") ? "1e-6" : "2e-5";
  values["family"] = family.name;
  values["title"] = family.title;
  values["paper"] = family.paper;
  std::string name = family.name;
  name[0] = absl::ascii_toupper(name[0]);
  values["Name"] = name;
  return values;
}

int64_t HeadsOf(const TemplateValues& values) {
  const auto found = values.find("heads");
  int64_t heads = 0;
  return found != values.end() && absl::SimpleAtoi(found->second, &heads) ? heads : 0;
}

std::string ModelText(const Family& family, TemplateValues values) {
  // What models that go on with a text have in common.
  for (const char* const part : {"inputs", "loss"}) {
    values[part] = std::string(absl::StripSuffix(Filled(FamilyText(absl::StrCat(part, ".model")), values), "\n"));
  }
  return absl::StrCat(Filled(FamilyText(absl::StrCat(family.model, ".model")), values),
                      Filled(FamilyText("train.model"), values));
}

std::optional<std::string> LaidOutModel(const Family& family, const TemplateValues& values, SourceSet& sources,
                                        Diagnostics& diagnostics) {
  const std::optional<FileId> file = dsl::AddSource(kShownModel, ModelText(family, values), sources, diagnostics);
  const auto tree = file.has_value() ? dsl::Parse(*file, sources, diagnostics) : std::nullopt;
  if (!tree.has_value()) return std::nullopt;
  return dsl::Format(*tree);
}

std::optional<ir::Graph> GraphOf(const std::string& model, Diagnostics& diagnostics) {
  SourceSet sources;
  Diagnostics found;
  const std::optional<FileId> file = dsl::AddSource(kShownModel, model, sources, found);
  const auto tree = file.has_value() ? dsl::Parse(*file, sources, found) : std::nullopt;
  std::optional<frontend::Module> module =
      tree.has_value() ? frontend::Analyze(*tree, sources, {}, found) : std::nullopt;
  if (module.has_value()) return std::move(module->graph);
  Diagnostic error = Error(Code::kE0616, "the sizes that config.json gives contradict each other, or are too large");
  for (const Diagnostic& each : found.items()) {
    if (each.severity == Severity::kError) error.notes.push_back(each.message);
  }
  diagnostics.Add(std::move(error));
  return std::nullopt;
}

std::string MapText(const Family& family, const TemplateValues& values) {
  return Filled(MappingText(family.mapping), values);
}

std::string ReadmeText(const TemplateValues& values) { return Filled(FamilyText("README.template"), values); }

}  // namespace cleave::tools
