#include "frontend/functions/functions.h"

#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "frontend/functions/calls.h"

namespace cleave::frontend {
namespace {

Span PlaceOf(const std::variant<Function*, const dsl::syntax::OpDefinition*>& definition) {
  return Match(
      definition, [](const Function* function) { return function->syntax->name.span; },
      [](const dsl::syntax::OpDefinition* op) { return op->name.span; });
}

absl::string_view KindOf(const std::variant<Function*, const dsl::syntax::OpDefinition*>& definition) {
  const auto* function = std::get_if<Function*>(&definition);
  return function == nullptr ? "op" : (*function)->record != nullptr ? "record" : "function";
}

// The function that makes a record: it has the fields as parameters.
dsl::syntax::Function HeadOf(const dsl::syntax::Record& record) {
  return {.name = record.name,
          .parameters = record.fields,
          .results = {},
          .body = {},
          .body_begin = record.body_begin,
          .body_end = record.body_begin};
}

Diagnostic DefinedTwice(absl::string_view what, const std::string& name, Span again, Span first) {
  return Error(Code::kE0202, absl::StrCat(what, what.empty() ? "" : " ", "`", name, "` is defined twice"))
      .At(again, "defined again here")
      .At(first, "first defined here");
}

}  // namespace

FunctionTable::FunctionTable(const dsl::syntax::File& model, const Imports& imports, const dsl::syntax::File& prelude,
                             Reporter& reporter)
    : model_(model.file), prelude_(prelude.file) {
  std::map<FileId, Definitions> own;
  own[model_] = Collect(model, reporter);
  for (const dsl::syntax::File& file : imports.files) own[file.file] = Collect(file, reporter);
  for (const auto& [file, definitions] : own) visible_[file] = WithImported(file, own, imports, reporter);
  const size_t user_functions = functions_.size();
  visible_[prelude_] = Collect(prelude, reporter);
  for (auto function = std::next(functions_.begin(), static_cast<int64_t>(user_functions));
       function != functions_.end(); ++function) {
    function->of_prelude = true;
  }
  FindOwners();
  ReportRecursion(reporter);
  CheckRecords(reporter);
}

FunctionTable::Definitions FunctionTable::Collect(const dsl::syntax::File& file, Reporter& reporter) {
  Definitions definitions;
  for (const dsl::syntax::Item& item : file.items) {
    const auto* op = std::get_if<dsl::syntax::OpDefinition>(&item.kind);
    const auto* record = std::get_if<dsl::syntax::Record>(&item.kind);
    const auto* function = std::get_if<dsl::syntax::Function>(&item.kind);
    if (record != nullptr) function = &heads_.emplace_back(HeadOf(*record));
    if (op == nullptr && function == nullptr) continue;
    const dsl::syntax::Identifier& name = op != nullptr ? op->name : function->name;
    if (const auto first = definitions.find(name.text); first != definitions.end()) {
      const absl::string_view kind = op != nullptr ? "op" : record != nullptr ? "record" : "function";
      reporter.Report(DefinedTwice(kind, name.text, name.span, PlaceOf(first->second)));
      continue;
    }
    if (op != nullptr) {
      const auto [first, is_new] = op_places_.try_emplace(name.text, name.span);
      if (!is_new) {
        reporter.Report(DefinedTwice("op", name.text, name.span, first->second)
                            .Note("in C++ the functions of both would have one name"));
      }
      definitions[name.text] = op;
      continue;
    }
    Function& added =
        functions_.emplace_back(Function{.syntax = function, .attributes = &item.attributes, .record = record});
    if (record != nullptr) makers_[record] = &added;
    definitions[name.text] = &added;
    std::map<std::string, Span> parameters;
    for (const dsl::syntax::Parameter& parameter : function->parameters) {
      const auto [first, is_new] = parameters.try_emplace(parameter.name.text, parameter.name.span);
      if (is_new) continue;
      added.broken = true;
      reporter.Report(DefinedTwice("", parameter.name.text, parameter.name.span, first->second));
    }
  }
  return definitions;
}

FunctionTable::Definitions FunctionTable::WithImported(FileId file, const std::map<FileId, Definitions>& own,
                                                       const Imports& imports, Reporter& reporter) const {
  Definitions visible = own.at(file);
  const auto list = imports.of.find(file);
  if (list == imports.of.end()) return visible;
  for (const Import& import : list->second) {
    for (const auto& [name, definition] : own.at(import.file)) {
      const auto [first, is_new] = visible.try_emplace(name, definition);
      // Ops of one name were reported.
      if (is_new || (KindOf(definition) == "op" && KindOf(first->second) == "op")) continue;
      reporter.Report(DefinedTwice(KindOf(definition), name, PlaceOf(definition), PlaceOf(first->second))
                          .At(import.place, "imported here"));
    }
  }
  return visible;
}

FileId FunctionTable::FileOf(const Function* inside) const {
  return inside == nullptr ? model_ : *inside->syntax->name.span.file;
}

const FunctionTable::Definition* FunctionTable::Lookup(const std::string& name, const Function* inside) const {
  for (const FileId file : {FileOf(inside), prelude_}) {
    const Definitions& definitions = visible_.at(file);
    if (const auto found = definitions.find(name); found != definitions.end()) return &found->second;
  }
  return nullptr;
}

Callee FunctionTable::Find(const std::string& name, const Function* inside) const {
  const ir::OpDefinition* op = ir::FindOp(name);
  if (op != nullptr && !op->callable) op = nullptr;
  if (op != nullptr && inside != nullptr && inside->name() == name) return op;
  if (const Definition* definition = Lookup(name, inside)) {
    return Match(
        *definition, [](const Function* function) { return Callee(function); },
        [](const dsl::syntax::OpDefinition* own) { return Callee(own); });
  }
  if (op != nullptr) return op;
  // What a function of the prelude hides.
  constexpr absl::string_view kOp = "_op";
  if (absl::EndsWith(name, kOp)) {
    const std::string hidden = name.substr(0, name.size() - kOp.size());
    op = ir::FindOp(hidden);
    if (op != nullptr && op->callable && InPrelude(hidden) != nullptr) return op;
  }
  return std::monostate();
}

const Function* FunctionTable::InPrelude(const std::string& name) const {
  const Definitions& prelude = visible_.at(prelude_);
  const auto found = prelude.find(name);
  return found == prelude.end() ? nullptr : std::get<Function*>(found->second);
}

bool FunctionTable::OwnsParameters(const std::string& name, const Function* inside) const {
  const Callee callee = Find(name, inside);
  const auto* function = std::get_if<const Function*>(&callee);
  return function != nullptr && (*function)->owns_parameters;
}

std::vector<std::string> FunctionTable::Names(const Function* inside) const {
  std::set<std::string> names;
  for (const FileId file : {FileOf(inside), prelude_}) {
    for (const auto& [name, definition] : visible_.at(file)) names.insert(name);
  }
  for (const ir::OpDefinition* op : ir::AllOps()) {
    if (op->callable && op->op_class != ir::OpClass::kSource) names.insert(op->name());
  }
  return {names.begin(), names.end()};
}

std::vector<const Function*> FunctionTable::model_functions() const {
  std::vector<const Function*> functions;
  for (const Function& function : functions_) {
    if (FileOf(&function) == model_ && function.record == nullptr) functions.push_back(&function);
  }
  return functions;
}

std::vector<Function*> FunctionTable::Callees(const Function& function) {
  std::vector<Function*> callees;
  std::set<std::string> given;  // Functions that are arguments.
  for (const dsl::syntax::Parameter& parameter : function.syntax->parameters) {
    if (parameter.type.element.text == "layer") given.insert(parameter.name.text);
  }
  const auto add = [&](const std::string& name) {
    // The op of its own name is what a function wraps.
    if (given.count(name) > 0 || std::holds_alternative<const ir::OpDefinition*>(Find(name, &function))) return;
    const Definition* definition = Lookup(name, &function);
    if (definition == nullptr) return;
    Function* const* callee = std::get_if<Function*>(definition);
    if (callee != nullptr && std::find(callees.begin(), callees.end(), *callee) == callees.end())
      callees.push_back(*callee);
  };
  ForEachCall(function.syntax->body, [&](const std::string& name, Span) { add(name); });
  // Its own name may be a word, such as `sum` of a collective.
  for (const std::string& name : FreeNames(*function.syntax)) {
    if (name != function.name()) add(name);
  }
  return callees;
}

void FunctionTable::FindOwners() {
  for (const Function& function : functions_) callees_[&function] = Callees(function);
  bool changed = true;
  while (changed) {
    changed = false;
    for (Function& function : functions_) {
      if (function.owns_parameters) continue;
      const std::vector<Function*>& callees = callees_.at(&function);
      function.owns_parameters =
          !DeclaredParameters(function.syntax->body).empty() ||
          std::any_of(callees.begin(), callees.end(), [](const Function* callee) { return callee->owns_parameters; });
      changed |= function.owns_parameters;
    }
  }
}

std::set<const Function*> FunctionTable::CalledFrom(const dsl::syntax::Model& model,
                                                    const std::vector<dsl::syntax::Expression>& settings) const {
  std::set<const Function*> called;
  std::vector<const Function*> open;
  const auto reach = [&](const Function* function) {
    if (!function->of_prelude && called.insert(function).second) open.push_back(function);
  };
  const CallVisitor visit = [&](const std::string& name, Span) {
    const Callee callee = Find(name, nullptr);
    if (const auto* function = std::get_if<const Function*>(&callee)) reach(*function);
  };
  ForEachCall(model.body, visit);
  ForEachName(model.body, [&](const std::string& name) { visit(name, Span()); });
  for (const dsl::syntax::Expression& value : settings) ForEachCall(value, visit);
  while (!open.empty()) {
    const Function* function = open.back();
    open.pop_back();
    for (const Function* callee : callees_.at(function)) reach(callee);
  }
  return called;
}

void FunctionTable::ReportRecursion(Reporter& reporter) {
  std::set<const Function*> done;
  std::vector<Function*> path;
  std::function<void(Function*)> visit = [&](Function* function) {
    auto begin = std::find(path.begin(), path.end(), function);
    if (begin != path.end()) {
      std::string cycle;
      for (auto step = begin; step != path.end(); ++step) absl::StrAppend(&cycle, "`", (*step)->name(), "` calls ");
      Diagnostic error = Error(Code::kE0205, absl::StrCat(KindOf(function), " `", function->name(), "` calls itself"))
                             .At(function->syntax->name.span, absl::StrCat(cycle, "`", function->name(), "`"))
                             .Note("functions are expanded at their calls, so a function that calls itself never ends")
                             .Help("repeat with a loop: `for i in 0..depth { … }`");
      for (auto step = begin; step != path.end(); ++step) {
        Function* next = step + 1 == path.end() ? function : *(step + 1);
        const CallVisitor label = [&](const std::string& name, Span span) {
          if (name == next->name() && error.labels.size() < 8) {
            error.labels.push_back({span, absl::StrCat("`", (*step)->name(), "` calls `", name, "` here")});
          }
        };
        for (const dsl::syntax::Parameter& parameter : (*step)->syntax->parameters) {
          if (parameter.default_value) ForEachCall(*parameter.default_value, label);
        }
        ForEachCall((*step)->syntax->body, label);
        (*step)->broken = true;
      }
      reporter.Report(std::move(error));
      return;
    }
    if (!done.insert(function).second) return;
    if (path.size() >= kMaxCallDepth) {
      function->broken = true;
      reporter.Report(Error(Code::kE0213, absl::StrCat("functions call each other more than ", kMaxCallDepth, " deep"))
                          .At(function->syntax->name.span, absl::StrCat("reached `", function->name(), "` here")));
      return;
    }
    path.push_back(function);
    for (Function* callee : callees_.at(function)) visit(callee);
    path.pop_back();
  };
  for (Function& function : functions_) {
    if (!function.of_prelude) visit(&function);
  }
}

}  // namespace cleave::frontend
