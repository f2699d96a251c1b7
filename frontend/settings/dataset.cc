// `dataset = { "image": layout("dp", _, _, _), "label": shard((4)) }`: pins on inputs.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/settings/settings.h"

namespace cleave::frontend {
namespace {

// `layout("dp", _)` and `replicate` as attributes, as in a pin; nullopt for anything else.
std::optional<dsl::syntax::Attribute> AttributeOf(const dsl::syntax::Expression& value) {
  const auto* call = std::get_if<dsl::syntax::Call>(&value.kind);
  const auto* name = std::get_if<dsl::syntax::Name>(call == nullptr ? &value.kind : &call->callee->kind);
  if (name == nullptr || (name->text != "layout" && name->text != "shard" && name->text != "replicate")) {
    return std::nullopt;
  }
  const Span place = call == nullptr ? value.span : call->callee->span;
  dsl::syntax::Attribute attribute{.span = value.span, .name = {.span = place, .text = name->text}, .arguments = {}};
  if (call != nullptr) {
    attribute.arguments = call->arguments;
    attribute.has_parentheses = true;
  }
  return attribute;
}

std::vector<std::string> InputNames(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kInput && op.name != "sample_mask") names.push_back(op.name);
  }
  return names;
}

void ReportUnknown(const dsl::syntax::MapEntry& entry, const std::vector<std::string>& inputs, Reporter& reporter) {
  Diagnostic error = Error(Code::kE0301, absl::StrCat("the model has no input `", entry.key.value, "`"))
                         .At(entry.key_span, "not an input");
  if (auto nearest = NearestName(entry.key.value, inputs)) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  } else if (!inputs.empty()) {
    error.notes.push_back(absl::StrCat("there is ", QuotedList(inputs, "and")));
  }
  reporter.Report(std::move(error));
}

void AddPins(const dsl::syntax::Map& map, Evaluator& evaluator, Reporter& reporter) {
  const std::vector<std::string> inputs = InputNames(evaluator.graph());
  std::map<std::string, Span> seen;
  for (const dsl::syntax::MapEntry& entry : map.entries) {
    const auto [first, is_new] = seen.emplace(entry.key.value, entry.key_span);
    if (!is_new) {
      reporter.Report(Error(Code::kE0202, absl::StrCat("input `", entry.key.value, "` is named twice"))
                          .At(entry.key_span, "named again here")
                          .At(first->second, "first named here"));
      continue;
    }
    const std::optional<dsl::syntax::Attribute> attribute = AttributeOf(*entry.value);
    if (!attribute) {
      reporter.Report(Error(Code::kE0508, "the layout of an input is `layout(…)`, `shard(…)` or `replicate`")
                          .At(entry.value->span, "expected one of these")
                          .Help(absl::StrCat("such as `\"", entry.key.value, "\": layout(\"dp\", _)`")));
    } else if (std::find(inputs.begin(), inputs.end(), entry.key.value) == inputs.end()) {
      ReportUnknown(entry, inputs, reporter);
    } else {
      const ir::OpId input = *evaluator.graph().Find(entry.key.value);
      evaluator.AddPin(*attribute, input);
    }
  }
}

}  // namespace

void AddDatasetPins(const SettingTexts& settings, Evaluator& evaluator, Reporter& reporter) {
  for (const SettingText& text : settings) {
    const auto* map = std::get_if<dsl::syntax::Map>(&text.setting.value.kind);
    if (text.setting.name.text != "dataset" || map == nullptr) continue;
    reporter.SetContext(text.context);
    AddPins(*map, evaluator, reporter);
    reporter.SetContext("");
  }
}

}  // namespace cleave::frontend
