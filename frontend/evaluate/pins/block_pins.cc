#include "frontend/evaluate/pins/block_pins.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/pins/attach.h"
#include "frontend/functions/calls.h"

namespace cleave::frontend {
namespace {

// `beside`: all attributes of the block; a priority among them also applies to its pins.
void PinTensor(const NamedDemand& demand, ir::OpId op, const std::vector<BlockDemand>& beside, PinRecorder& pins) {
  const dsl::syntax::Attribute place{.span = demand.span, .name = demand.name, .arguments = {}};
  if (const auto* shard = std::get_if<ir::ShardPin>(&demand.demand); shard && CheckShard(place, *shard, op, pins)) {
    pins.Record({op, *shard, demand.span});
  }
  if (const auto* layout = std::get_if<ir::LayoutPin>(&demand.demand);
      layout && CheckLayout(place, *layout, op, pins)) {
    pins.Record({op, *layout, demand.span});
  }
  for (const BlockDemand& block : beside) {
    if (!block.of_ops) continue;
    const auto* priority = std::get_if<PriorityDemand>(&*block.of_ops);
    if (priority != nullptr) pins.RecordPriority(op, priority->value);
  }
}

void ReportUnpinnable(const NamedDemand& demand, const std::string& where, const std::vector<std::string>& names,
                      Reporter& reporter) {
  Diagnostic error = Error(Code::kE0301, absl::StrCat("pin on `", demand.name.text, "`, which does not exist"))
                         .At(demand.name.span, absl::StrCat("no tensor of this name ", where));
  if (auto nearest = NearestName(demand.name.text, names)) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  } else if (!names.empty()) {
    error.notes.push_back(absl::StrCat("there is ", QuotedList(names, "and")));
  }
  reporter.Report(std::move(error));
}

void AddTensors(const Value& value, std::set<ir::OpId>& tensors) {
  if (value.is_tensor()) tensors.insert(value.as_tensor());
  if (!value.is_tuple()) return;
  for (const Value& element : value.as_tuple()) AddTensors(element, tensors);
}

void RecordInside(const RetentionDemand& demand, Span span, const std::vector<ir::OpId>& ops,
                  const std::vector<Value>& handed_on, PinRecorder& pins) {
  std::set<ir::OpId> left_open;
  if (demand.retention == ir::Retention::kRecompute) {
    for (const Value& value : handed_on) AddTensors(value, left_open);
  }
  Retention retention{.retention = demand.retention, .span = span, .ops = {}};
  for (const ir::OpId op : ops) (left_open.count(op) > 0 ? retention.left_open : retention.ops).push_back(op);
  if (retention.ops.empty() && !retention.left_open.empty()) {
    pins.reporter().Report(Error(Code::kE0305, "`recompute` on a function or a loop whose values are all handed on")
                               .At(span, "applies to values that nothing outside reads")
                               .Help("write it before the call or the `let`: there it applies to the result, too"));
    return;
  }
  pins.retentions().Record(std::move(retention));
}

}  // namespace

std::vector<BlockDemand> ReadBlockAttributes(const std::vector<dsl::syntax::Attribute>& attributes,
                                             const IntEvaluator& evaluate, Reporter& reporter) {
  std::vector<BlockDemand> demands;
  for (const dsl::syntax::Attribute& attribute : attributes) {
    if (!IsBlockAttribute(attribute.name.text)) continue;
    if (auto demand = ReadBlockAttribute(attribute, evaluate, reporter)) demands.push_back(*std::move(demand));
  }
  return demands;
}

std::vector<BlockDemand> PinArguments(const Function& function, Scope& scope, const IntEvaluator& evaluate,
                                      PinRecorder& pins) {
  if (function.attributes == nullptr || function.attributes->empty()) return {};
  std::vector<BlockDemand> demands = ReadBlockAttributes(*function.attributes, evaluate, pins.reporter());
  const std::vector<std::string> parameters = DeclaredParameters(function.syntax->body);
  std::vector<std::string> names = parameters;
  for (const dsl::syntax::Parameter& argument : function.syntax->parameters) {
    if (argument.type.dimensions) names.push_back(argument.name.text);
  }
  for (const BlockDemand& block : demands) {
    for (const NamedDemand& demand : block.named) {
      if (std::find(names.begin(), names.end(), demand.name.text) == names.end()) {
        ReportUnpinnable(demand,
                         absl::StrCat("in `", function.name(), "`: neither a tensor that it takes nor a `param`"),
                         names, pins.reporter());
        continue;
      }
      const Binding* argument = scope.Find(demand.name.text);
      if (argument != nullptr && argument->value.is_tensor())
        PinTensor(demand, argument->value.as_tensor(), demands, pins);
    }
  }
  return demands;
}

void PinParameter(const std::string& name, ir::OpId parameter, const std::vector<BlockDemand>& demands,
                  PinRecorder& pins) {
  for (const BlockDemand& block : demands) {
    for (const NamedDemand& demand : block.named) {
      if (demand.name.text == name) PinTensor(demand, parameter, demands, pins);
    }
  }
}

void PinPass(const std::vector<BlockDemand>& demands, Scope& scope, PinRecorder& pins) {
  for (const BlockDemand& block : demands) {
    for (const NamedDemand& demand : block.named) {
      const Binding* binding = scope.Find(demand.name.text);
      if (binding == nullptr) {
        ReportUnpinnable(demand, "at the end of the loop's body", scope.Names(), pins.reporter());
      } else if (binding->value.is_tensor()) {
        PinTensor(demand, binding->value.as_tensor(), demands, pins);
      } else if (!binding->value.is_poison()) {
        pins.reporter().Report(
            Error(Code::kE0305, absl::StrCat("`", demand.name.text, "` is no tensor"))
                .At(demand.name.span, absl::StrCat("this is ", DescribeType(binding->value, pins.graph()))));
      }
    }
  }
}

void PinOpsFrom(int first, const std::vector<Value>& handed_on, const std::vector<BlockDemand>& demands,
                PinRecorder& pins) {
  std::vector<ir::OpId> ops;
  for (int i = first; i < static_cast<int>(pins.graph().ops.size()); ++i) {
    if (ir::DefinitionOf(pins.graph().op(ir::OpId(i))).op_class != ir::OpClass::kSource) ops.push_back(ir::OpId(i));
  }
  for (const BlockDemand& block : demands) {
    if (!block.of_ops) continue;
    if (const auto* retention = std::get_if<RetentionDemand>(&*block.of_ops)) {
      RecordInside(*retention, block.span, ops, handed_on, pins);
      continue;
    }
    const std::set<ir::OpId> settled = pins.Prioritized();
    for (const ir::OpId op : ops) {
      if (std::holds_alternative<ir::ReplicatePin>(*block.of_ops)) pins.Record({op, ir::ReplicatePin(), block.span});
      const auto* stage = std::get_if<StageDemand>(&*block.of_ops);
      if (stage != nullptr) pins.RecordStage({op, stage->value, block.span});
      const auto* priority = std::get_if<PriorityDemand>(&*block.of_ops);
      if (priority != nullptr && settled.count(op) == 0) pins.RecordPriority(op, priority->value);
    }
  }
}

}  // namespace cleave::frontend
