// Reading guide: `Renderer::Run` does what nodes say, and `Evaluate` what expressions do; values and their operators
// are in functions.h. A scope holds the variables of the whole template, of one pass of a loop, or of a macro.
#include "runtime/chat_template/chat_template.h"

#include <utility>

#include "runtime/chat_template/ascii.h"
#include "runtime/chat_template/functions.h"
#include "runtime/chat_template/parse.h"
#include "runtime/chat_template/syntax.h"

namespace cleave::runtime {

struct ChatTemplate::Tree {
  std::vector<TemplateNode> nodes;
};

struct TemplateScope {
  TemplateScope* parent = nullptr;
  std::map<std::string, Value> values;
};

namespace {

using ExprKind = TemplateExpr::Kind;
using NodeKind = TemplateNode::Kind;

// Nodes, expressions and macros in one another while they run: each takes some of the stack.
constexpr int kDeepestRun = 1000;

constexpr std::pair<const char*, Function> kFunctions[] = {{"range", Function::kRange},
                                                           {"namespace", Function::kNamespace},
                                                           {"dict", Function::kDict},
                                                           {"raise_exception", Function::kRaiseException},
                                                           {"strftime_now", Function::kStrftimeNow}};

class Renderer {
 public:
  Renderer(const std::map<std::string, Value>& variables, const RenderOptions& options, Rendering& rendering)
      : options_(options), rendering_(rendering), progression_(options.most_steps) {
    for (const auto& [name, function] : kFunctions) functions_.values.emplace(name, function);
    variables_.parent = &functions_;
    variables_.values = variables;
    // What a template sets is its own.
    whole_.parent = &variables_;
  }

  std::optional<TemplateProblem> RunAll(const std::vector<TemplateNode>& nodes) {
    Run(nodes, whole_, rendering_.text);
    rendering_.steps = progression_.steps();
    return progression_.problem();
  }

 private:
  enum class Flow { kNext, kBreak, kContinue };

  class Nesting {
   public:
    explicit Nesting(Renderer& renderer) : renderer_(renderer) {
      if (++renderer_.depth_ > kDeepestRun) renderer_.progression_.Fail("the template is nested too deep");
    }
    ~Nesting() { --renderer_.depth_; }

   private:
    Renderer& renderer_;
  };

  Flow Run(const std::vector<TemplateNode>& nodes, TemplateScope& scope, MarkedText& out) {
    for (const TemplateNode& node : nodes) {
      const Flow flow = RunNode(node, scope, out);
      if (flow != Flow::kNext || progression_.has_failed()) return flow;
    }
    return Flow::kNext;
  }

  Flow RunNode(const TemplateNode& node, TemplateScope& scope, MarkedText& out) {
    const Nesting nesting(*this);
    progression_.GoTo(node.offset);
    progression_.Step();
    switch (node.kind) {
      case NodeKind::kText:
        Write(MarkedText(node.name), out);
        break;
      case NodeKind::kOutput: {
        const Value value = Evaluate(*node.exprs[0], scope);
        Write(ShownText(value, progression_), out);
        break;
      }
      case NodeKind::kIf:
        for (size_t i = 0; i < node.bodies.size(); ++i) {
          if (i < node.exprs.size() && !IsTrue(Evaluate(*node.exprs[i], scope))) continue;
          return progression_.has_failed() ? Flow::kNext : Run(node.bodies[i], scope, out);
        }
        break;
      case NodeKind::kFor:
        RunFor(node, scope, out);
        break;
      case NodeKind::kSet:
        RunSet(node, scope);
        break;
      case NodeKind::kSetBlock: {
        MarkedText text;
        TemplateScope inner{&scope, {}};
        Run(node.bodies[0], inner, text);
        scope.values[node.names[0]] = progression_.Made(std::move(text));
        break;
      }
      case NodeKind::kMacro:
        scope.values[node.name] = Macro{&node, &scope};
        break;
      case NodeKind::kGeneration: {
        if (&out != &rendering_.text)
          progression_.Fail("`{% generation %}` in a macro or `{% set %}` is not supported");
        const size_t begin = out.size();
        TemplateScope inner{&scope, {}};
        Run(node.bodies[0], inner, out);
        if (out.size() > begin) rendering_.generated.push_back({begin, out.size(), MarkedText::kNoMark});
        break;
      }
      case NodeKind::kBreak:
        return Flow::kBreak;
      case NodeKind::kContinue:
        return Flow::kContinue;
    }
    return Flow::kNext;
  }

  void Write(const MarkedText& text, MarkedText& out) {
    progression_.Write(text.size());
    if (!progression_.has_failed()) out.Append(text);
  }

  // Gives the value, or its items, to the names.
  void Assign(const std::vector<std::string>& names, const Value& value, TemplateScope& scope) {
    if (names.size() == 1) {
      scope.values[names[0]] = value;
      return;
    }
    const std::vector<Value> items = ItemsOf(value, progression_);
    if (items.size() != names.size()) {
      progression_.Fail(Concat(items.size(), " values for ", names.size(), " names"));
      return;
    }
    for (size_t i = 0; i < names.size(); ++i) scope.values[names[i]] = items[i];
  }

  void RunFor(const TemplateNode& node, TemplateScope& scope, MarkedText& out) {
    std::vector<Value> items = ItemsOf(Evaluate(*node.exprs[0], scope), progression_);
    if (node.exprs[1] != nullptr) {
      std::vector<Value> kept;
      for (const Value& item : items) {
        TemplateScope pass{&scope, {}};
        Assign(node.names, item, pass);
        if (IsTrue(Evaluate(*node.exprs[1], pass))) kept.push_back(item);
        if (progression_.has_failed()) return;
      }
      items = std::move(kept);
    }
    if (items.empty() && !progression_.has_failed()) Run(node.bodies[1], scope, out);
    ++loops_;
    const auto length = static_cast<int64_t>(items.size());
    for (int64_t i = 0; i < length && !progression_.has_failed(); ++i) {
      progression_.GoTo(node.offset);
      TemplateScope pass{&scope, {}};
      Assign(node.names, items[static_cast<size_t>(i)], pass);
      pass.values["loop"] = Loop(std::make_shared<const LoopValue>(LoopValue{i, length, loops_, &items}));
      if (Run(node.bodies[0], pass, out) == Flow::kBreak) break;
    }
    --loops_;
  }

  void RunSet(const TemplateNode& node, TemplateScope& scope) {
    const Value value = Evaluate(*node.exprs[0], scope);
    if (node.name.empty()) return Assign(node.names, value, scope);
    progression_.GoTo(node.offset);
    const Value object = Find(node.names[0], scope);
    const Namespace* const names = object.Get<Namespace>();
    if (names == nullptr) {
      progression_.Fail(Concat("`{% set %}` of a member of ", KindOf(object)));
    } else if (value.Get<Namespace>() != nullptr || value.Get<Macro>() != nullptr || value.Get<Loop>() != nullptr) {
      progression_.Fail(Concat(KindOf(value), " as a member of a namespace is not supported"));
    } else {
      (*names)->members[node.name] = value;
    }
  }

  Value Find(const std::string& name, TemplateScope& scope) {
    for (const TemplateScope* each = &scope; each != nullptr; each = each->parent) {
      const auto found = each->values.find(name);
      if (found != each->values.end()) return found->second;
      progression_.Step();
    }
    return Undefined{name};
  }

  Value Evaluate(const TemplateExpr& expr, TemplateScope& scope) {
    const Nesting nesting(*this);
    if (progression_.has_failed()) return Value();
    progression_.Step();
    const auto item = [&](size_t i) { return Evaluate(*expr.items[i], scope); };
    // Operands may have moved the place.
    const auto here = [&]() -> Progression& {
      progression_.GoTo(expr.offset);
      return progression_;
    };
    switch (expr.kind) {
      case ExprKind::kConstant:
        return expr.value;
      case ExprKind::kName:
        return Find(expr.name, scope);
      case ExprKind::kList:
        return EvaluateList(expr, scope);
      case ExprKind::kDict:
        return EvaluateDict(expr, scope);
      case ExprKind::kAttribute: {
        const Value object = item(0);
        return MemberOf(object, expr.name, here());
      }
      case ExprKind::kItem: {
        const Value object = item(0), key = item(1);
        return ItemOf(object, key, here());
      }
      case ExprKind::kSlice: {
        Value bounds[3];
        const Value object = item(0);
        for (size_t i = 0; i < 3; ++i) {
          if (expr.items[i + 1] != nullptr) bounds[i] = item(i + 1);
        }
        return Sliced(object, bounds[0], bounds[1], bounds[2], here());
      }
      case ExprKind::kCall:
        return Call(expr, scope);
      case ExprKind::kFilter: {
        const Value input = item(0);
        const CallArguments arguments = Arguments(expr, scope);
        return ApplyFilter(expr.name, input, arguments, here());
      }
      case ExprKind::kTest: {
        const Value input = item(0);
        const CallArguments arguments = Arguments(expr, scope);
        return ApplyTest(expr.name, input, arguments, here());
      }
      case ExprKind::kNot:
        return !IsTrue(item(0));
      case ExprKind::kNegative: {
        const Value operand = item(0);
        return Calculate("-", int64_t{0}, operand, here());
      }
      case ExprKind::kPositive: {
        const Value operand = item(0);
        return Calculate("+", int64_t{0}, operand, here());
      }
      case ExprKind::kBinary: {
        const Value left = item(0), right = item(1);
        return Calculate(expr.name, left, right, here());
      }
      case ExprKind::kCompare:
        return EvaluateComparison(expr, scope);
      case ExprKind::kAnd: {
        Value left = item(0);
        return IsTrue(left) ? item(1) : left;
      }
      case ExprKind::kOr: {
        Value left = item(0);
        return IsTrue(left) ? left : item(1);
      }
      case ExprKind::kCondition:
        break;
    }
    if (IsTrue(item(1))) return item(0);
    return expr.items[2] == nullptr ? Value() : item(2);
  }

  Value EvaluateList(const TemplateExpr& expr, TemplateScope& scope) {
    std::vector<Value> items;
    for (const TemplateExprPtr& item : expr.items) items.push_back(Evaluate(*item, scope));
    return progression_.MadeList(std::move(items));
  }

  Value EvaluateDict(const TemplateExpr& expr, TemplateScope& scope) {
    std::vector<std::pair<Text, Value>> members;
    for (size_t i = 0; i + 1 < expr.items.size(); i += 2) {
      const Value key = Evaluate(*expr.items[i], scope);
      const Text* const text = key.Get<Text>();
      if (text == nullptr) return progression_.Fail(Concat(KindOf(key), " as a key is not supported"));
      members.emplace_back(*text, Evaluate(*expr.items[i + 1], scope));
    }
    std::optional<Value> dict = MakeDict(std::move(members));
    return dict.has_value() ? *std::move(dict) : progression_.Fail("a dictionary that is nested too deep or too large");
  }

  Value EvaluateComparison(const TemplateExpr& expr, TemplateScope& scope) {
    Value left = Evaluate(*expr.items[0], scope);
    for (size_t i = 0; i < expr.names.size(); ++i) {
      Value right = Evaluate(*expr.items[i + 1], scope);
      if (progression_.has_failed()) return Value();
      progression_.GoTo(expr.offset);
      const std::string& name = expr.names[i];
      const bool holds = name == "in"       ? IsIn(left, right, progression_)
                         : name == "not in" ? !IsIn(left, right, progression_)
                                            : Compare(name, left, right, progression_);
      if (!holds) return false;
      left = std::move(right);
    }
    return true;
  }

  // Of a call, a filter or a test: all items but the first.
  CallArguments Arguments(const TemplateExpr& expr, TemplateScope& scope) {
    CallArguments arguments;
    const size_t named = expr.items.size() - expr.names.size();
    for (size_t i = 1; i < expr.items.size(); ++i) {
      Value value = Evaluate(*expr.items[i], scope);
      if (i < named) {
        arguments.items.push_back(std::move(value));
      } else {
        arguments.named.emplace_back(expr.names[i - named], std::move(value));
      }
    }
    return arguments;
  }

  Value Call(const TemplateExpr& expr, TemplateScope& scope) {
    const TemplateExpr& callee = *expr.items[0];
    Value function;
    if (callee.kind == ExprKind::kAttribute) {
      const Value object = Evaluate(*callee.items[0], scope);
      const CallArguments arguments = Arguments(expr, scope);
      if (progression_.has_failed()) return Value();
      progression_.GoTo(callee.offset);
      if (std::optional<Value> result = CallMethod(object, callee.name, arguments, progression_))
        return *std::move(result);
      const Loop* const loop = object.Get<Loop>();
      if (loop != nullptr && callee.name == "cycle" && !arguments.items.empty()) {
        return arguments.items[static_cast<size_t>((*loop)->index0) % arguments.items.size()];
      }
      return progression_.Fail(Concat("`.", callee.name, "()` of ", KindOf(object), " is not supported"));
    }
    function = Evaluate(callee, scope);
    const CallArguments arguments = Arguments(expr, scope);
    if (progression_.has_failed()) return Value();
    progression_.GoTo(expr.offset);
    if (const Macro* const macro = function.Get<Macro>()) return CallMacro(*macro, arguments);
    if (const Function* const known = function.Get<Function>())
      return CallFunction(*known, arguments, options_, progression_);
    return progression_.Fail(Concat("a call of ", KindOf(function), " is not supported"));
  }

  Value CallMacro(const Macro& macro, const CallArguments& arguments) {
    const TemplateNode& node = *macro.node;
    TemplateScope scope{macro.scope, {}};
    if (arguments.items.size() > node.names.size()) return progression_.Fail("too many arguments for a macro");
    const size_t first_default = node.names.size() - node.exprs.size();
    for (size_t i = 0; i < node.names.size(); ++i) {
      Value& value = scope.values[node.names[i]];
      value = Undefined{node.names[i]};
      if (i < arguments.items.size()) value = arguments.items[i];
    }
    for (const auto& [name, value] : arguments.named) {
      const auto known = scope.values.find(name);
      if (known == scope.values.end()) return progression_.Fail(Concat("the macro has no parameter `", name, "`"));
      known->second = value;
    }
    for (size_t i = first_default; i < node.names.size(); ++i) {
      const bool is_named = std::any_of(arguments.named.begin(), arguments.named.end(),
                                        [&](const auto& each) { return each.first == node.names[i]; });
      if (i >= arguments.items.size() && !is_named) {
        scope.values[node.names[i]] = Evaluate(*node.exprs[i - first_default], scope);
      }
    }
    MarkedText text;
    Run(node.bodies[0], scope, text);
    return progression_.Made(std::move(text));
  }

  const RenderOptions& options_;
  Rendering& rendering_;
  Progression progression_;
  TemplateScope functions_, variables_, whole_;
  int depth_ = 0;
  int loops_ = 0;
};

}  // namespace

ChatTemplate::ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

std::optional<TemplateProblem> ChatTemplate::Parse(const std::string& text, ChatTemplate& parsed) {
  ParsedTemplate tree;
  if (auto problem = ParseTemplate(text, tree)) return problem;
  parsed.tree_ = std::make_unique<const Tree>(Tree{std::move(tree.nodes)});
  parsed.variables_ = std::move(tree.variables);
  parsed.members_ = std::move(tree.members);
  parsed.has_generation_ = tree.has_generation;
  return std::nullopt;
}

std::optional<TemplateProblem> ChatTemplate::Render(const std::map<std::string, Value>& variables,
                                                    const RenderOptions& options, Rendering& rendering) const {
  rendering = Rendering();
  return Renderer(variables, options, rendering).RunAll(tree_->nodes);
}

}  // namespace cleave::runtime
