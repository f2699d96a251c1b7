// config.json of a folder of Hugging Face: it is refused, or a model is made of it, whose mapping names its parameters.
// A field that is written into it is found there. The same text is read as generation_config.json.
#include "tools/import/config.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check/check.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "ir/graph/graph.h"
#include "runtime/json/json.h"
#include "tests/fuzz/input.h"
#include "tools/export/config_text.h"
#include "tools/import/family.h"
#include "tools/import/generation.h"
#include "tools/import/model.h"
#include "tools/weights/mapping.h"

namespace {

using namespace cleave;

constexpr int64_t kMostLayers = 3;  // Of a part of a model; more make only larger graphs.

// Whether no part has more. ResNet has a number of layers for each stage, as "(3, 4, )".
bool HasFewLayers(const tools::TemplateValues& values) {
  for (const char* const name : {"depth", "text_depth", "target_depth", "depths"}) {
    const auto value = values.find(name);
    if (value == values.end()) continue;
    for (const absl::string_view number : absl::StrSplit(value->second, absl::ByAnyChar("(, )"), absl::SkipEmpty())) {
      int64_t layers = 0;
      CLEAVE_CHECK(absl::SimpleAtoi(number, &layers)) << name << " is " << value->second;
      if (layers > kMostLayers) return false;
    }
  }
  return true;
}

void CheckModel(const tools::Family& family, const tools::TemplateValues& given) {
  const tools::TemplateValues values = tools::WithWhatFollows(family, given);
  const auto mapping = tools::ParseMapping("its mapping", tools::MapText(family, values));
  CLEAVE_CHECK(mapping.ok()) << mapping.error().message;
  if (!HasFewLayers(values)) return;
  SourceSet sources;
  Diagnostics diagnostics;
  const std::optional<std::string> model = tools::LaidOutModel(family, values, sources, diagnostics);
  CLEAVE_CHECK(model.has_value()) << RenderText(diagnostics, sources);
  const std::optional<ir::Graph> graph = tools::GraphOf(*model, diagnostics);
  CLEAVE_CHECK(graph.has_value() != diagnostics.has_errors());
  if (!graph.has_value()) return;
  for (const ir::Op& op : graph->ops) {
    if (op.kind != ir::OpKind::kParameter) continue;
    int lines = 0;
    for (const tools::MappingLine& line : mapping.value().lines) {
      if (line.ours.has_value() && line.ours->Match(op.name).has_value()) ++lines;
    }
    CLEAVE_CHECK(lines == 1) << op.name;
  }
}

void CheckField(const std::string& text, const std::string& field) {
  const std::optional<std::string> changed = tools::WithField(text, field, "[27]");
  if (!changed.has_value()) return;
  const auto json = runtime::ParseJson(*changed);
  CLEAVE_CHECK(json.ok()) << json.error().message << *changed;
  const runtime::Json* const found = tools::FieldAt(json.value(), field);
  CLEAVE_CHECK(found != nullptr && found->items.size() == 1 && found->items[0].text == "27") << *changed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = tests::fuzz::Text(data, size);
  {
    Diagnostics diagnostics;
    const auto generation =
        tools::ReadGeneration({{"generation_config.json", text}, {"tokenizer.json", text}}, diagnostics);
    CLEAVE_CHECK(generation.has_value() != diagnostics.has_errors());
  }
  SourceSet sources;
  Diagnostics diagnostics;
  const std::optional<tools::Config> config = tools::ParseConfig("config.json", text, sources, diagnostics);
  CLEAVE_CHECK(config.has_value() != diagnostics.has_errors());
  if (!config.has_value()) return 0;
  for (const char* const field : {"vocab_size", "rope_scaling.factor", "none"}) CheckField(text, field);
  const tools::Family* const family = tools::FamilyOf(*config, sources, diagnostics);
  if (family != nullptr) {
    const auto values = tools::ReadConfig(*family, *config, {}, sources, diagnostics);
    CLEAVE_CHECK(values.has_value() != diagnostics.has_errors());
    if (values.has_value()) CheckModel(*family, *values);
  }
  RenderText(diagnostics, sources);
  return 0;
}
