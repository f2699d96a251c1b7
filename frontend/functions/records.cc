// What the declarations of records must be: fields of known types, and none that contains the record itself.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/functions/functions.h"
#include "frontend/value/value.h"

namespace cleave::frontend {
namespace {

constexpr char kFieldTypes[] =
    "a field is `int`, `float`, `bool`, `string`, `tuple`, `initializer`, `layer` or another record";

}  // namespace

const Function* FunctionTable::FindRecord(const std::string& name, const Function* inside) const {
  const Definition* const definition = Lookup(name, inside);
  const auto* const function = definition == nullptr ? nullptr : std::get_if<Function*>(definition);
  return function != nullptr && (*function)->record != nullptr ? *function : nullptr;
}

std::vector<std::string> FunctionTable::RecordNames(const Function* inside) const {
  std::vector<std::string> names;
  for (const std::string& name : Names(inside)) {
    if (FindRecord(name, inside) != nullptr) names.push_back(name);
  }
  return names;
}

void FunctionTable::CheckFields(Function& maker, Reporter& reporter) const {
  const dsl::syntax::Identifier& name = maker.syntax->name;
  if (IsScalarName(name.text) || ElementTypeNamed(name.text)) {
    maker.broken = true;
    reporter.Report(Error(Code::kE0202, absl::StrCat("record `", name.text, "` has the name of another type"))
                        .At(name.span, "a type of the language"));
  }
  for (const dsl::syntax::Parameter& field : maker.syntax->parameters) {
    const std::string& type = field.type.element.text;
    if (!field.type.dimensions && (IsScalarName(type) || FindRecord(type, &maker) != nullptr)) continue;
    maker.broken = true;
    if (field.type.dimensions || ElementTypeNamed(type)) {
      reporter.Report(
          Error(Code::kE0204, absl::StrCat("field `", field.name.text, "` of `", name.text, "` is a tensor"))
              .At(field.type.span, kFieldTypes)
              .Note("a record is known when the model is compiled"));
      continue;
    }
    Diagnostic error =
        Error(Code::kE0201, absl::StrCat("unknown type `", type, "`")).At(field.type.element.span, kFieldTypes);
    std::vector<std::string> known = RecordNames(&maker);
    known.insert(known.end(), {"int", "float", "bool", "string", kTupleType, kInitializerType, kLayerType});
    if (const auto nearest = NearestName(type, known))
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    reporter.Report(std::move(error));
  }
}

void FunctionTable::CheckRecords(Reporter& reporter) {
  for (Function& function : functions_) {
    if (function.record != nullptr) CheckFields(function, reporter);
  }
  // Depth first along the fields that are records; what is on the way is in `path`.
  std::set<const Function*> done;
  std::vector<std::pair<Function*, const dsl::syntax::Parameter*>> path;
  std::function<void(Function*)> visit = [&](Function* maker) {
    const auto begin = std::find_if(path.begin(), path.end(), [&](const auto& step) { return step.first == maker; });
    if (begin != path.end()) {
      Diagnostic error = Error(Code::kE0219, absl::StrCat("record `", maker->name(), "` contains itself"));
      for (auto step = begin; step != path.end(); ++step) {
        step->first->broken = true;
        error.labels.push_back({step->second->type.span, absl::StrCat("`", step->first->name(), "` has a `",
                                                                      step->second->type.element.text, "`")});
      }
      reporter.Report(std::move(error).Note("to make one, another one would have to be there"));
      return;
    }
    if (!done.insert(maker).second) return;
    for (const dsl::syntax::Parameter& field : maker->syntax->parameters) {
      const Definition* const type = field.type.dimensions ? nullptr : Lookup(field.type.element.text, maker);
      const auto* const inner = type == nullptr ? nullptr : std::get_if<Function*>(type);
      if (inner == nullptr || (*inner)->record == nullptr || IsScalarName(field.type.element.text)) continue;
      path.emplace_back(maker, &field);
      visit(*inner);
      path.pop_back();
    }
  };
  for (Function& function : functions_) {
    if (function.record != nullptr) visit(&function);
  }
}

}  // namespace cleave::frontend
