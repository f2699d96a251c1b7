// Reading guide: Walk visits items in order and keeps a stack of blocks, each with the definitions of its names. Define
// adds one to the innermost block, and Use looks a name up from there outwards, then among functions. Items of a file
// are defined before any body is walked, because they may stand in any order.
#include "frontend/names/names.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/match/match.h"
#include "frontend/arguments/arguments.h"

namespace cleave::frontend {
namespace {

using dsl::syntax::Argument;
using dsl::syntax::Expression;
using dsl::syntax::Identifier;
using dsl::syntax::Parameter;
using dsl::syntax::Statement;

std::string HeadText(absl::string_view word, const std::string& name, const std::vector<Parameter>& parameters) {
  std::string text = absl::StrCat(word, " ", name, "(");
  for (const Parameter& parameter : parameters) {
    absl::StrAppend(&text, &parameter == &parameters.front() ? "" : ", ", FormalOf(parameter).text);
  }
  return absl::StrCat(text, ")");
}

class Walk {
 public:
  Walk(const dsl::syntax::File& file, absl::string_view text, const FunctionTable& functions)
      : file_(file), text_(text), functions_(functions) {}

  TextNames Names() && {
    const Span all{.file = file_.file, .begin = 0, .end = static_cast<int32_t>(text_.size())};
    Open(all);
    for (const dsl::syntax::Item& item : file_.items) DefineItem(item, all);
    for (const dsl::syntax::Item& item : file_.items) VisitItem(item);
    return std::move(names_);
  }

 private:
  struct Block {
    Span span;
    std::map<std::string, size_t> names;  // The last definition of each.
  };

  void Open(Span span) { blocks_.push_back({.span = span, .names = {}}); }
  void Close() { blocks_.pop_back(); }

  void Define(const Identifier& name, NameKind kind, std::string detail) {
    if (name.text == "_") return;
    blocks_.back().names[name.text] = names_.definitions.size();
    DefineHidden(name, kind, blocks_.back().span, std::move(detail));
  }

  // One that names find in another way than by blocks.
  void DefineHidden(const Identifier& name, NameKind kind, Span visible, std::string detail) {
    places_.emplace(std::pair(name.span.begin, name.span.end), names_.definitions.size());
    names_.definitions.push_back({.name = name, .kind = kind, .visible = visible, .detail = std::move(detail)});
  }

  // The definition whose name stands there.
  std::optional<size_t> At(Span span) const {
    if (span.file != std::optional(file_.file)) return std::nullopt;
    const auto found = places_.find({span.begin, span.end});
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<size_t> Local(const std::string& name) const {
    // The outermost block has the items, which are looked up among functions.
    for (size_t i = blocks_.size(); i-- > 1;) {
      const auto found = blocks_[i].names.find(name);
      if (found != blocks_[i].names.end()) return found->second;
    }
    return std::nullopt;
  }

  bool UseLocal(const std::string& name, Span span) {
    const std::optional<size_t> local = Local(name);
    if (local.has_value()) names_.uses.push_back({.span = span, .text = name, .definition = local});
    return local.has_value();
  }

  bool UseFunction(const std::string& name, Span span) {
    Callee callee = functions_.Find(name, inside_);
    const std::optional<Span> place = PlaceOf(callee);
    if (callee.index() == 0) return false;
    const std::optional<size_t> own = place.has_value() ? At(*place) : std::nullopt;
    names_.uses.push_back({.span = span,
                           .text = name,
                           .definition = own,
                           .callee = callee,
                           .elsewhere = own.has_value() ? std::nullopt : place});
    return true;
  }

  static std::optional<Span> PlaceOf(const Callee& callee) {
    if (const auto* function = std::get_if<const Function*>(&callee)) return (*function)->syntax->name.span;
    if (const auto* op = std::get_if<const dsl::syntax::OpDefinition*>(&callee)) return (*op)->name.span;
    return std::nullopt;
  }

  void Use(const std::string& name, Span span) {
    if (!UseLocal(name, span)) UseFunction(name, span);
  }

  // The name of an argument in a call, or of a parameter in an attribute.
  void UseArgumentName(const Identifier& name, const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
      if (parameter.name.text != name.text) continue;
      const std::optional<size_t> own = At(parameter.name.span);
      names_.uses.push_back({.span = name.span,
                             .text = name.text,
                             .definition = own,
                             .elsewhere = own.has_value() ? std::nullopt : std::optional(parameter.name.span),
                             .is_argument_name = true});
      return;
    }
  }

  void DefineItem(const dsl::syntax::Item& item, Span all) {
    Match(
        item.kind, [](const dsl::syntax::Import&) {},
        [&](const dsl::syntax::Record& record) {
          Define(record.name, NameKind::kRecord, absl::StrCat("record ", record.name.text));
          for (const Parameter& field : record.fields) {
            DefineHidden(field.name, NameKind::kField, all, FormalOf(field).text);
          }
        },
        [&](const dsl::syntax::Model& model) {
          Define(model.name, NameKind::kModel, HeadText("model", model.name.text, model.parameters));
          model_ = &model;
          for (const Parameter& parameter : model.parameters) {
            DefineHidden(parameter.name, NameKind::kArgument, all, FormalOf(parameter).text);
          }
        },
        [&](const dsl::syntax::Function& function) {
          Define(function.name, NameKind::kFunction, absl::StrCat("fn ", SignatureOf(function).ToString()));
          for (const Parameter& parameter : function.parameters) {
            DefineHidden(parameter.name, NameKind::kArgument, item.span, FormalOf(parameter).text);
          }
        },
        [&](const dsl::syntax::OpDefinition& op) {
          const std::string result = op.result ? absl::StrCat(" -> ", TypeText(*op.result)) : "";
          Define(op.name, NameKind::kOp, absl::StrCat(HeadText("op", op.name.text, op.parameters), result));
          for (const Parameter& parameter : op.parameters) {
            DefineHidden(parameter.name, NameKind::kArgument, item.span, FormalOf(parameter).text);
          }
        },
        [](const dsl::syntax::Train&) {}, [](const dsl::syntax::Parallel&) {}, [](const dsl::syntax::Expect&) {});
  }

  // Brings names into the block that DefineItem has defined.
  void BringIn(const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
      const std::optional<size_t> own = At(parameter.name.span);
      if (own.has_value()) blocks_.back().names[parameter.name.text] = *own;
    }
  }

  void VisitItem(const dsl::syntax::Item& item) {
    Match(
        item.kind, [](const dsl::syntax::Import&) {},
        [&](const dsl::syntax::Record& record) {
          inside_ = FunctionOf(record.name.text);
          OpenWith(item.span, record.fields);
          Close();
        },
        [&](const dsl::syntax::Model& model) {
          inside_ = nullptr;
          OpenWith(item.span, model.parameters);
          VisitBlock(model.body, Cover(model.body_begin, model.body_end));
          Close();
        },
        [&](const dsl::syntax::Function& function) {
          inside_ = FunctionOf(function.name.text);
          OpenWith(item.span, function.parameters);
          for (const dsl::syntax::Attribute& attribute : item.attributes) VisitAttribute(attribute, &function);
          for (const dsl::syntax::Type& type : function.results) VisitType(type, /*defines=*/true);
          VisitBlock(function.body, Cover(function.body_begin, function.body_end));
          Close();
        },
        [&](const dsl::syntax::OpDefinition& op) {
          inside_ = nullptr;
          OpenWith(item.span, op.parameters);
          if (op.result) VisitType(*op.result, /*defines=*/false);
          for (const dsl::syntax::Setting& setting : op.settings) {
            if (setting.name.text == "linear") Visit(setting.value);  // The others name indexes of the rule.
          }
          Close();
        },
        [&](const dsl::syntax::Train& train) {
          const auto model = blocks_.front().names.find(train.model.text);
          if (model != blocks_.front().names.end()) {
            names_.uses.push_back({.span = train.model.span, .text = train.model.text, .definition = model->second});
          }
          VisitSettings(train.settings, item.span);
        },
        [&](const dsl::syntax::Parallel& parallel) {
          VisitSettings(parallel.settings, item.span);
          Open(item.span);
          if (model_ != nullptr) BringIn(model_->parameters);
          for (const dsl::syntax::Pin& pin : parallel.pins) VisitAttribute(pin.attribute, nullptr);
          Close();
        },
        [](const dsl::syntax::Expect&) {});  // Its names are those of a plan.
    inside_ = nullptr;
  }

  // Of the file's own function or record; null where another one of the name came first.
  const Function* FunctionOf(const std::string& name) const {
    const Callee callee = functions_.Find(name, nullptr);
    const auto* function = std::get_if<const Function*>(&callee);
    return function == nullptr ? nullptr : *function;
  }

  // The block of an item, in which its parameters are known.
  void OpenWith(Span span, const std::vector<Parameter>& parameters) {
    Open(span);
    BringIn(parameters);
    VisitSignature(parameters);
  }

  void VisitSettings(const std::vector<dsl::syntax::Setting>& settings, Span span) {
    inside_ = nullptr;
    Open(span);
    if (model_ != nullptr) BringIn(model_->parameters);
    for (const dsl::syntax::Setting& setting : settings) Visit(setting.value);
    Close();
  }

  // Symbols get their values from tensors after numbers have theirs, so a parameter hides a symbol of its name.
  void VisitSignature(const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
      VisitType(parameter.type, /*defines=*/true);
      if (parameter.default_value) Visit(*parameter.default_value);
    }
  }

  void VisitType(const dsl::syntax::Type& type, bool defines) {
    if (!type.dimensions) {
      UseFunction(type.element.text, type.element.span);  // A record.
      return;
    }
    for (const dsl::syntax::Dimension& dimension : *type.dimensions) {
      if (const auto* rest = std::get_if<Identifier>(&dimension.kind)) {
        // A list of dimensions has names of its own.
        const Identifier list{.span = rest->span, .text = absl::StrCat("..", rest->text)};
        if (!UseLocal(list.text, rest->span) && defines) {
          blocks_.back().names[list.text] = names_.definitions.size();
          DefineHidden(*rest, NameKind::kSymbol, blocks_.back().span, list.text);
        } else if (!names_.uses.empty() && names_.uses.back().span == rest->span) {
          names_.uses.back().text = rest->text;
        }
        continue;
      }
      const auto& size = std::get<Expression>(dimension.kind);
      const auto* symbol = std::get_if<dsl::syntax::Name>(&size.kind);
      if (symbol != nullptr && defines && !Local(symbol->text).has_value()) {
        Define({.span = size.span, .text = symbol->text}, NameKind::kSymbol, absl::StrCat(symbol->text, ": int"));
      } else {
        Visit(size);
      }
    }
  }

  void VisitBlock(const std::vector<Statement>& body, Span span) {
    Open(span);
    for (const Statement& statement : body) VisitStatement(statement);
    Close();
  }

  void VisitStatement(const Statement& statement) {
    for (const dsl::syntax::Attribute& attribute : statement.attributes) VisitAttribute(attribute, nullptr);
    Match(
        statement.kind,
        [&](const dsl::syntax::Input& input) {
          VisitType(input.type, /*defines=*/false);
          if (input.file) Visit(*input.file);
          Define(input.name, NameKind::kInput, absl::StrCat("input ", input.name.text, ": ", TypeText(input.type)));
        },
        [&](const dsl::syntax::Param& param) {
          VisitType(param.type, /*defines=*/false);
          Visit(param.initializer);
          Define(param.name, param.is_state ? NameKind::kState : NameKind::kParameter,
                 absl::StrCat(param.is_state ? "state " : "param ", param.name.text, ": ", TypeText(param.type)));
        },
        [&](const dsl::syntax::Let& let) {
          if (let.type) VisitType(*let.type, /*defines=*/false);
          Visit(let.value);
          const bool is_function = IsFunction(let.value);
          for (const Identifier& name : let.names) {
            if (is_function) layers_.insert(names_.definitions.size());
            Define(name, NameKind::kLet,
                   absl::StrCat(let.is_mutable ? "let mut " : "let ", name.text,
                                let.type ? absl::StrCat(": ", TypeText(*let.type)) : ""));
          }
        },
        [&](const dsl::syntax::Assign& assign) {
          Visit(assign.value);
          for (const Identifier& name : assign.names) UseLocal(name.text, name.span);
        },
        [&](const dsl::syntax::Update& update) {
          Visit(update.value);
          UseLocal(update.name.text, update.name.span);
        },
        [&](const dsl::syntax::For& loop) {
          Visit(loop.begin);
          if (loop.end) Visit(*loop.end);
          Open({.file = file_.file, .begin = loop.body_begin.begin, .end = statement.span.end});
          Define(loop.variable, NameKind::kLoopVariable, absl::StrCat("for ", loop.variable.text));
          for (const Statement& inner : loop.body) VisitStatement(inner);
          Close();
        },
        [&](const dsl::syntax::If& choice) {
          for (const dsl::syntax::Branch& branch : choice.branches) {
            if (branch.condition) Visit(*branch.condition);
            VisitBlock(branch.body, Cover(branch.body_begin, branch.body_end));
          }
        },
        [&](const auto& with_value) { Visit(with_value.value); });
  }

  // `function`: whose parameters and `param`s the names of arguments are; null where they are words.
  void VisitAttribute(const dsl::syntax::Attribute& attribute, const dsl::syntax::Function* function) {
    for (const Argument& argument : attribute.arguments) {
      if (argument.name && function != nullptr) UseArgumentName(*argument.name, function->parameters);
      Visit(*argument.value);
    }
  }

  void VisitArguments(absl::Span<const Argument> arguments) {
    for (const Argument& argument : arguments) Visit(*argument.value);
  }

  void VisitCall(const dsl::syntax::Call& call) {
    const auto* name = std::get_if<dsl::syntax::Name>(&call.callee->kind);
    if (name == nullptr) {
      Visit(*call.callee);
      VisitArguments(call.arguments);
      return;
    }
    const Callee callee = functions_.Find(name->text, inside_);
    const std::optional<size_t> local = Local(name->text);
    // Of a local name only a value that is a function hides a function: an argument that is a layer, say.
    const bool is_layer = local.has_value() && IsLayer(*local);
    if (local.has_value() && (is_layer || callee.index() == 0)) {
      UseLocal(name->text, call.callee->span);
    } else {
      UseFunction(name->text, call.callee->span);
      for (const Argument& argument : call.arguments) {
        if (argument.name) UseNameOf(callee, *argument.name, call);
      }
    }
    VisitArguments(call.arguments);
    if (name->text == "assert" && callee.index() == 0) {
      for (const Argument& argument : call.arguments) VisitMessage(*argument.value);
    }
  }

  // Whether the value can be called: a layer, or a function by its name.
  bool IsFunction(const Expression& value) const {
    if (std::holds_alternative<dsl::syntax::Layer>(value.kind)) return true;
    const auto* name = std::get_if<dsl::syntax::Name>(&value.kind);
    if (name == nullptr) return false;
    const std::optional<size_t> local = Local(name->text);
    return local.has_value() ? IsLayer(*local) : functions_.Find(name->text, inside_).index() != 0;
  }

  bool IsLayer(size_t local) const {
    const std::string& detail = names_.definitions[local].detail;
    return layers_.count(local) > 0 || detail.find(": layer") != std::string::npos;
  }

  void UseNameOf(const Callee& callee, const Identifier& name, const dsl::syntax::Call& call) {
    if (const auto* function = std::get_if<const Function*>(&callee)) {
      UseArgumentName(name, (*function)->syntax->parameters);
    } else if (const auto* own = std::get_if<const dsl::syntax::OpDefinition*>(&callee)) {
      UseArgumentName(name, (*own)->parameters);
    } else if (const auto* op = std::get_if<const ir::OpDefinition*>(&callee)) {
      const Function* form = functions_.FormOf(**op, call);
      if (form != nullptr) UseArgumentName(name, form->syntax->parameters);
    }
  }

  // `{name}` in the message of an assertion.
  void VisitMessage(const Expression& message) {
    if (!std::holds_alternative<dsl::syntax::StringLiteral>(message.kind)) return;
    const auto end = static_cast<size_t>(message.span.end);
    for (size_t at = static_cast<size_t>(message.span.begin); at < end; ++at) {
      if (text_[at] != '{') continue;
      const size_t close = text_.find('}', at);
      if (close == absl::string_view::npos || close >= end) return;
      const Span span{.file = file_.file, .begin = static_cast<int32_t>(at + 1), .end = static_cast<int32_t>(close)};
      UseLocal(std::string(text_.substr(at + 1, close - at - 1)), span);
    }
  }

  void Visit(const Expression& expression) {
    Match(
        expression.kind, [&](const dsl::syntax::Name& name) { Use(name.text, expression.span); },
        [&](const dsl::syntax::Negate& negate) { Visit(*negate.operand); },
        [&](const dsl::syntax::Not& negation) { Visit(*negation.operand); },
        [&](const dsl::syntax::Binary& binary) {
          Visit(*binary.left);
          Visit(*binary.right);
        },
        [&](const dsl::syntax::Call& call) { VisitCall(call); },
        [&](const dsl::syntax::Layer& layer) { Visit(*layer.call); },
        [&](const dsl::syntax::Index& index) {
          Visit(*index.base);
          for (const dsl::syntax::Subscript& subscript : index.subscripts) {
            for (const auto* part : {&subscript.begin, &subscript.end, &subscript.step}) {
              if (part->has_value()) Visit(***part);
            }
          }
        },
        [&](const dsl::syntax::Tuple& tuple) { VisitArguments(tuple.elements); },
        [&](const dsl::syntax::Field& field) {
          Visit(*field.base);
          names_.fields.push_back({field.name});
        },
        [&](const dsl::syntax::With& with) {
          Visit(*with.base);
          for (const Argument& field : with.fields) {
            if (field.name) names_.fields.push_back({*field.name});
          }
          VisitArguments(with.fields);
        },
        [&](const dsl::syntax::Map& map) {
          for (const dsl::syntax::MapEntry& entry : map.entries) Visit(*entry.value);
        },
        [&](const dsl::syntax::Attributed& attributed) {
          for (const dsl::syntax::Attribute& attribute : attributed.attributes) VisitAttribute(attribute, nullptr);
          Visit(*attributed.operand);
        },
        [](const auto&) {});  // Literals.
  }

  const dsl::syntax::File& file_;
  const absl::string_view text_;
  const FunctionTable& functions_;
  const Function* inside_ = nullptr;
  const dsl::syntax::Model* model_ = nullptr;
  TextNames names_;
  std::vector<Block> blocks_;
  std::set<size_t> layers_;                               // The definitions that can be called.
  std::map<std::pair<int32_t, int32_t>, size_t> places_;  // The definitions by where their names stand.
};

}  // namespace

TextNames NamesIn(const dsl::syntax::File& file, absl::string_view text, const FunctionTable& functions) {
  return Walk(file, text, functions).Names();
}

}  // namespace cleave::frontend
