// Attributes of functions, for every call, and of loops, for every pass: pins on tensors by their names inside.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/attributes/block.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/functions/calls.h"

namespace cleave::frontend {

std::vector<BlockDemand> Evaluator::ReadBlockAttributes(const std::vector<syntax::Attribute>& attributes,
                                                        Frame& frame) {
  const IntEvaluator evaluate = [this, &frame](const syntax::Expression& expression, const std::string& what) {
    return EvaluateInt(expression, what, &frame);
  };
  std::vector<BlockDemand> demands;
  for (const syntax::Attribute& attribute : attributes) {
    if (!IsBlockAttribute(attribute.name.text)) continue;
    if (auto demand = ReadBlockAttribute(attribute, evaluate, reporter_)) demands.push_back(*std::move(demand));
  }
  return demands;
}

// `beside`: all attributes of the block, of which a priority is that of its pins too.
void Evaluator::PinTensor(const NamedDemand& demand, OpId op, const std::vector<BlockDemand>& beside) {
  const syntax::Attribute place{.span = demand.span, .name = demand.name, .arguments = {}};
  if (const auto* shard = std::get_if<ShardPin>(&demand.demand); shard && CheckShard(place, *shard, op)) {
    Record({op, *shard, demand.span});
  }
  if (const auto* layout = std::get_if<LayoutPin>(&demand.demand); layout && CheckLayout(place, *layout, op)) {
    Record({op, *layout, demand.span});
  }
  for (const BlockDemand& block : beside) {
    if (!block.of_ops) continue;
    const auto* priority = std::get_if<PriorityDemand>(&*block.of_ops);
    if (priority != nullptr) expansion_.priorities.push_back({op, priority->value});
  }
}

void Evaluator::ReportUnpinnable(const NamedDemand& demand, const std::string& where,
                                 const std::vector<std::string>& names) {
  Diagnostic error = Error(Code::kE0301, absl::StrCat("pin on `", demand.name.text, "`, which does not exist"))
                         .At(demand.name.span, absl::StrCat("no tensor of this name ", where));
  if (auto nearest = NearestName(demand.name.text, names)) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  } else if (!names.empty()) {
    error.notes.push_back(absl::StrCat("there is ", QuotedList(names, "and")));
  }
  reporter_.Report(std::move(error));
}

// The tensors that are passed in. Pins on parameters wait in the frame until these are made.
void Evaluator::PinArguments(const Function& function, Frame& callee) {
  if (function.attributes == nullptr || function.attributes->empty()) return;
  callee.demands = ReadBlockAttributes(*function.attributes, callee);
  const std::vector<std::string> parameters = DeclaredParameters(function.syntax->body);
  std::vector<std::string> names = parameters;
  for (const syntax::Parameter& argument : function.syntax->parameters) {
    if (argument.type.dimensions) names.push_back(argument.name.text);
  }
  for (const BlockDemand& block : callee.demands) {
    for (const NamedDemand& demand : block.named) {
      if (std::find(names.begin(), names.end(), demand.name.text) == names.end()) {
        ReportUnpinnable(
            demand, absl::StrCat("in `", function.name(), "`: neither a tensor that it takes nor a `param`"), names);
        continue;
      }
      const Binding* argument = callee.scope.Find(demand.name.text);
      if (argument != nullptr && argument->value.is_tensor())
        PinTensor(demand, argument->value.as_tensor(), callee.demands);
    }
  }
}

void Evaluator::PinParameter(const std::string& name, OpId parameter, const Frame& frame) {
  for (const BlockDemand& block : frame.demands) {
    for (const NamedDemand& demand : block.named) {
      if (demand.name.text == name) PinTensor(demand, parameter, frame.demands);
    }
  }
}

// The tensors that these names stand for when a pass ends.
void Evaluator::PinPass(const std::vector<BlockDemand>& demands, Frame& frame) {
  for (const BlockDemand& block : demands) {
    for (const NamedDemand& demand : block.named) {
      const Binding* binding = frame.scope.Find(demand.name.text);
      if (binding == nullptr) {
        ReportUnpinnable(demand, "at the end of the loop's body", frame.scope.Names());
      } else if (binding->value.is_tensor()) {
        PinTensor(demand, binding->value.as_tensor(), demands);
      } else if (!binding->value.is_poison()) {
        reporter_.Report(Error(Code::kE0305, absl::StrCat("`", demand.name.text, "` is no tensor"))
                             .At(demand.name.span, absl::StrCat("this is ", DescribeType(binding->value, graph()))));
      }
    }
  }
}

// What is said of all ops from `first` on. An op that something inside speaks of has its own priority.
void Evaluator::PinOpsFrom(int first, const std::vector<BlockDemand>& demands) {
  for (const BlockDemand& block : demands) {
    if (!block.of_ops) continue;
    std::set<OpId> settled;
    for (const Priority& priority : expansion_.priorities) settled.insert(priority.op);
    for (int i = first; i < static_cast<int>(graph().ops.size()); ++i) {
      if (DefinitionOf(graph().op(OpId(i))).op_class == OpClass::kSource) continue;
      if (std::holds_alternative<ReplicatePin>(*block.of_ops)) Record({OpId(i), ReplicatePin(), block.span});
      const auto* priority = std::get_if<PriorityDemand>(&*block.of_ops);
      if (priority != nullptr && settled.count(OpId(i)) == 0) {
        expansion_.priorities.push_back({OpId(i), priority->value});
      }
    }
  }
}

}  // namespace cleave::frontend
