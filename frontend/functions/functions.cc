#include "frontend/functions/functions.h"

#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/functions/calls.h"

namespace cleave::frontend {

FunctionTable::FunctionTable(const dsl::syntax::File& user, const dsl::syntax::File& prelude, Reporter& reporter) {
  for (const dsl::syntax::Item& item : prelude.items) {
    if (const auto* function = std::get_if<dsl::syntax::Function>(&item.kind)) {
      prelude_[function->name.text] = Function{.syntax = function, .of_prelude = true};
    }
  }
  std::map<std::string, Span> names;
  for (const dsl::syntax::Item& item : user.items) {
    const auto* op = std::get_if<dsl::syntax::OpDefinition>(&item.kind);
    const auto* function = std::get_if<dsl::syntax::Function>(&item.kind);
    if (op == nullptr && function == nullptr) continue;
    const dsl::syntax::Identifier& name = op != nullptr ? op->name : function->name;
    const auto [first, is_new] = names.try_emplace(name.text, name.span);
    if (!is_new) {
      reporter.Report(
          Error(Code::kE0202, absl::StrCat(op != nullptr ? "op" : "function", " `", name.text, "` is defined twice"))
              .At(name.span, "defined again here")
              .At(first->second, "first defined here"));
      continue;
    }
    if (op != nullptr) {
      user_ops_[name.text] = op;
      continue;
    }
    const auto entry = user_.try_emplace(name.text, Function{.syntax = function, .attributes = &item.attributes}).first;
    user_order_.push_back(&entry->second);
    std::map<std::string, Span> parameters;
    for (const dsl::syntax::Parameter& parameter : function->parameters) {
      const auto [first, is_new] = parameters.try_emplace(parameter.name.text, parameter.name.span);
      if (is_new) continue;
      entry->second.broken = true;
      reporter.Report(Error(Code::kE0202, absl::StrCat("`", parameter.name.text, "` is defined twice"))
                          .At(parameter.name.span, "defined again here")
                          .At(first->second, "first defined here"));
    }
  }
  FindOwners();
  ReportRecursion(reporter);
}

Callee FunctionTable::Find(const std::string& name, const Function* inside) const {
  const ir::OpDefinition* op = ir::FindOp(name);
  if (op != nullptr && !op->callable) op = nullptr;
  if (op != nullptr && inside != nullptr && inside->name() == name) return op;
  if (inside == nullptr || !inside->of_prelude) {
    if (auto found = user_.find(name); found != user_.end()) return &found->second;
    if (auto found = user_ops_.find(name); found != user_ops_.end()) return found->second;
  }
  if (auto found = prelude_.find(name); found != prelude_.end()) return &found->second;
  if (op != nullptr) return op;
  return std::monostate();
}

const Function* FunctionTable::InPrelude(const std::string& name) const {
  const auto found = prelude_.find(name);
  return found == prelude_.end() ? nullptr : &found->second;
}

bool FunctionTable::OwnsParameters(const std::string& name, const Function* inside) const {
  const Callee callee = Find(name, inside);
  const auto* function = std::get_if<const Function*>(&callee);
  return function != nullptr && (*function)->owns_parameters;
}

std::vector<std::string> FunctionTable::Names() const {
  std::set<std::string> names;
  for (const auto& [name, function] : user_) names.insert(name);
  for (const auto& [name, op] : user_ops_) names.insert(name);
  for (const auto& [name, function] : prelude_) names.insert(name);
  for (const ir::OpDefinition* op : ir::AllOps()) {
    if (op->callable && op->op_class != ir::OpClass::kSource) names.insert(op->name());
  }
  return {names.begin(), names.end()};
}

std::vector<Function*> FunctionTable::Callees(const Function& function) {
  std::vector<Function*> callees;
  ForEachCall(function.syntax->body, [&](const std::string& name, Span) {
    const Callee callee = Find(name, &function);
    if (const auto* called = std::get_if<const Function*>(&callee)) {
      auto& table = (*called)->of_prelude ? prelude_ : user_;
      callees.push_back(&table.at(name));
    }
  });
  return callees;
}

void FunctionTable::FindOwners() {
  for (auto* table : {&prelude_, &user_}) {
    for (auto& [name, function] : *table) callees_[&function] = Callees(function);
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto* table : {&prelude_, &user_}) {
      for (auto& [name, function] : *table) {
        if (function.owns_parameters) continue;
        const std::vector<Function*>& callees = callees_.at(&function);
        function.owns_parameters =
            !DeclaredParameters(function.syntax->body).empty() ||
            std::any_of(callees.begin(), callees.end(), [](const Function* callee) { return callee->owns_parameters; });
        changed |= function.owns_parameters;
      }
    }
  }
}

std::set<std::string> FunctionTable::CalledFrom(const dsl::syntax::Model& model,
                                                const std::vector<dsl::syntax::Expression>& settings) const {
  std::set<std::string> names;
  std::vector<const Function*> open;
  const auto reach = [&](const Function* function) {
    if (!function->of_prelude && names.insert(function->name()).second) open.push_back(function);
  };
  const CallVisitor visit = [&](const std::string& name, Span) {
    const Callee callee = Find(name, nullptr);
    if (const auto* function = std::get_if<const Function*>(&callee)) reach(*function);
  };
  ForEachCall(model.body, visit);
  for (const dsl::syntax::Expression& value : settings) ForEachCall(value, visit);
  while (!open.empty()) {
    const Function* function = open.back();
    open.pop_back();
    for (const Function* callee : callees_.at(function)) reach(callee);
  }
  return names;
}

void FunctionTable::ReportRecursion(Reporter& reporter) {
  std::set<const Function*> done;
  std::vector<Function*> path;
  std::function<void(Function*)> visit = [&](Function* function) {
    auto begin = std::find(path.begin(), path.end(), function);
    if (begin != path.end()) {
      std::string cycle;
      for (auto step = begin; step != path.end(); ++step) absl::StrAppend(&cycle, "`", (*step)->name(), "` calls ");
      Diagnostic error = Error(Code::kE0205, absl::StrCat("function `", function->name(), "` calls itself"))
                             .At(function->syntax->name.span, absl::StrCat(cycle, "`", function->name(), "`"))
                             .Note("functions are expanded at their calls, so a function that calls itself never ends")
                             .Help("repeat with a loop: `for i in 0..depth { … }`");
      for (auto step = begin; step != path.end(); ++step) {
        Function* next = step + 1 == path.end() ? function : *(step + 1);
        ForEachCall((*step)->syntax->body, [&](const std::string& name, Span span) {
          if (name == next->name() && error.labels.size() < 8) {
            error.labels.push_back({span, absl::StrCat("`", (*step)->name(), "` calls `", name, "` here")});
          }
        });
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
  for (const Function* function : user_order_) visit(&user_.at(function->name()));
}

}  // namespace cleave::frontend
