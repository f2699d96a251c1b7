// Attributes and `pin` statements: from what they say to pins on ops of the graph.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "frontend/attributes/attributes.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

bool SameCounts(const CountsPin& a, const CountsPin& b) {
  if (a.has_value() != b.has_value()) return !a || !b;  // `auto` agrees with anything.
  if (!a) return true;
  if (a->size() != b->size()) return false;
  for (size_t i = 0; i < a->size(); ++i) {
    if ((*a)[i].value != (*b)[i].value) return false;
  }
  return true;
}

bool AllOnes(const CountsPin& counts) {
  for (const Placed<int64_t>& count : counts.value_or(std::vector<Placed<int64_t>>())) {
    if (count.value != 1) return false;
  }
  return true;
}

// Whether one plan could keep both, as far as that can be said without the mesh.
bool Agree(const std::variant<ShardPin, LayoutPin, ReplicatePin, DataParallelPin>& a,
           const std::variant<ShardPin, LayoutPin, ReplicatePin, DataParallelPin>& b) {
  if (const auto* replicate = std::get_if<ReplicatePin>(&b); replicate != nullptr && a.index() != b.index()) {
    return Agree(b, a);
  }
  if (std::holds_alternative<ReplicatePin>(a)) {
    if (const auto* shard = std::get_if<ShardPin>(&b)) {
      for (const CountsPin& counts : shard->in) {
        if (!AllOnes(counts)) return false;
      }
      return AllOnes(shard->out);
    }
    if (const auto* layout = std::get_if<LayoutPin>(&b)) {
      for (const auto& axes : layout->dimensions) {
        if (!axes.empty()) return false;
      }
    }
    return true;
  }
  if (a.index() != b.index() || std::holds_alternative<DataParallelPin>(a)) return true;
  if (const auto* first = std::get_if<ShardPin>(&a)) {
    const auto& second = std::get<ShardPin>(b);
    for (size_t i = 0; i < first->in.size() && i < second.in.size(); ++i) {
      if (!SameCounts(first->in[i], second.in[i])) return false;
    }
    return SameCounts(first->out, second.out);
  }
  const auto& first = std::get<LayoutPin>(a).dimensions;
  const auto& second = std::get<LayoutPin>(b).dimensions;
  for (size_t d = 0; d < first.size() && d < second.size(); ++d) {
    if (first[d].size() != second[d].size()) return false;
    for (size_t i = 0; i < first[d].size(); ++i) {
      if (first[d][i].value != second[d][i].value) return false;
    }
  }
  return true;
}

// Regions are opened and closed around their calls (region.cc).
bool IsRegion(const syntax::Attribute& attribute) { return attribute.name.text == "region"; }

bool IsSource(const Op& op) { return DefinitionOf(op).op_class == OpClass::kSource; }

// What has no inputs has one tensor, its own: `#[shard((4, 1))] param …`.
ShardPin OfTensor(const ShardPin& pin) {
  if (pin.in.size() != 1 || pin.out) return pin;
  return {.in = {}, .out = pin.in.front()};
}

}  // namespace

void Evaluator::Attach(const std::vector<syntax::Attribute>& attributes, const Value& value, Frame& frame) {
  if (std::all_of(attributes.begin(), attributes.end(), IsRegion)) return;
  if (!last_operation_) {
    if (value.is_poison()) return;
    reporter_.Report(
        Error(Code::kE0305, absl::StrCat("`#[", attributes.front().name.text, "]` stands on no op"))
            .At(attributes.front().span, "belongs to the outermost call of its expression, and there is none"));
    return;
  }
  if (value.is_poison()) return;
  const Operation operation = *last_operation_;
  std::vector<OpId> ops;
  for (int i = operation.first; i < operation.end; ++i) {
    if (!IsSource(graph().op(OpId(i)))) ops.push_back(OpId(i));
  }
  for (const syntax::Attribute& attribute : attributes) {
    if (IsRegion(attribute)) continue;
    if (!value.is_tensor() || ops.empty()) {
      reporter_.Report(Error(Code::kE0305, absl::StrCat("`#[", attribute.name.text, "]` stands on no op"))
                           .At(attribute.span, absl::StrCat("the value is ", DescribeType(value, graph()))));
      continue;
    }
    if (attribute.name.text == "shard" && ops.size() > 1) {
      reporter_.Report(Error(Code::kE0305, absl::StrCat("`#[shard]` on `", operation.callee, "`, which is made of ",
                                                        ops.size(), " ops"))
                           .At(attribute.span, "speaks of the inputs of one op")
                           .At(operation.span, absl::StrCat("makes `", graph().op(ops.front()).name, "` to `",
                                                            graph().op(ops.back()).name, "`"))
                           .Note("`#[region(in = …, out = …)]` is for several ops")
                           .Help(absl::StrCat("pin one of them by name: `parallel { pin \"",
                                              graph().op(ops.front()).name, "\" = shard(…); }`")));
      continue;
    }
    AddPin(attribute, ops.size() == 1 ? ops.front() : value.as_tensor(), ops, &frame);
  }
}

void Evaluator::AttachToSource(const std::vector<syntax::Attribute>& attributes, OpId source, Frame& frame) {
  for (const syntax::Attribute& attribute : attributes) AddPin(attribute, source, {source}, &frame);
}

void Evaluator::AddPin(const syntax::Attribute& attribute, OpId op, const std::vector<OpId>& ops, Frame* frame) {
  const IntEvaluator evaluate = [this, frame](const syntax::Expression& expression, const std::string& what) {
    return EvaluateInt(expression, what, frame);
  };
  const std::optional<Demand> demand = ReadAttribute(attribute, evaluate, reporter_);
  if (!demand) return;
  Match(
      *demand,
      [&](const ShardPin& pin) {
        const ShardPin own = IsSource(graph().op(op)) ? OfTensor(pin) : pin;
        if (CheckShard(attribute, own, op)) Record({op, own, attribute.span});
      },
      [&](const LayoutPin& pin) {
        if (CheckLayout(attribute, pin, op)) Record({op, pin, attribute.span});
      },
      [&](const ReplicatePin& pin) {
        for (OpId each : ops) Record({each, pin, attribute.span});
      },
      [&](const PriorityDemand& priority) {
        for (OpId each : ops) expansion_.priorities.push_back({each, priority.value});
      });
}

bool Evaluator::CheckShard(const syntax::Attribute& attribute, const ShardPin& pin, OpId id) {
  const Op& op = graph().op(id);
  if (IsSource(op) && !pin.in.empty()) {
    reporter_.Report(
        Error(Code::kE0302, absl::StrCat("slices for ", Plural(static_cast<int64_t>(pin.in.size()), "tensor"),
                                         ", but the ", OpKindName(op.kind), " `", op.name, "` is one"))
            .At(attribute.span, absl::StrCat("`", op.name, "` is ", op.type.ToString())));
    return false;
  }
  if (!pin.in.empty() && pin.in.size() != op.inputs.size()) {
    std::vector<std::string> inputs;
    for (OpId input : op.inputs) inputs.push_back(graph().op(input).name);
    reporter_.Report(
        Error(Code::kE0302, absl::StrCat("slices for ", Plural(static_cast<int64_t>(pin.in.size()), "input"), ", but `",
                                         op.name, "` has ", op.inputs.size()))
            .At(attribute.span,
                absl::StrCat("the inputs of `", OpKindName(op.kind), "` are ", QuotedList(inputs, "and"))));
    return false;
  }
  bool ok = true;
  const auto check = [&](const CountsPin& counts, OpId tensor, const std::string& what) {
    const TensorType& type = graph().op(tensor).type;
    if (!counts || static_cast<int>(counts->size()) == type.rank()) return;
    const Span span = counts->empty() ? attribute.span : Cover(counts->front().span, counts->back().span);
    reporter_.Report(
        Error(Code::kE0302, absl::StrCat("slices for ", Plural(static_cast<int64_t>(counts->size()), "dimension"),
                                         ", but ", what, " has ", type.rank()))
            .At(span, absl::StrCat(
                          "`", graph().op(tensor).name, "` is ", type.ToString(),
                          graph().op(tensor).line > 0 ? absl::StrCat(", from line ", graph().op(tensor).line) : "")));
    ok = false;
  };
  for (size_t i = 0; i < pin.in.size(); ++i) check(pin.in[i], op.inputs[i], absl::StrCat("input ", i));
  check(pin.out, id, IsSource(op) ? absl::StrCat("`", op.name, "`") : "the output");
  return ok;
}

bool Evaluator::CheckLayout(const syntax::Attribute& attribute, const LayoutPin& pin, OpId id) {
  const Op& op = graph().op(id);
  if (static_cast<int>(pin.dimensions.size()) == op.type.rank()) return true;
  reporter_.Report(
      Error(Code::kE0302, absl::StrCat("a layout of ", Plural(static_cast<int64_t>(pin.dimensions.size()), "dimension"),
                                       ", but `", op.name, "` has ", op.type.rank()))
          .At(attribute.span, absl::StrCat("`", op.name, "` is ", op.type.ToString(),
                                           op.line > 0 ? absl::StrCat(", from line ", op.line) : "")));
  return false;
}

void Evaluator::Record(Pin pin) {
  for (const Pin& other : expansion_.pins) {
    if (other.op != pin.op) continue;
    if (other == pin) return;  // The same of a value that a further pass or call finds again.
    if (region_parameters_.count(pin.op) > 0) {
      reporter_.Report(Error(Code::kE0321, absl::StrCat("`", graph().op(pin.op).name, "` has two pins"))
                           .At(pin.span, "the second")
                           .At(other.span, "the first")
                           .Note("what a region says of a parameter is all that is said of it")
                           .Help("remove one of them"));
      return;
    }
    if (Agree(other.demand, pin.demand)) continue;
    reporter_.Report(
        Error(Code::kE0307, absl::StrCat("two pins on `", graph().op(pin.op).name, "` contradict each other"))
            .At(pin.span, "the second")
            .At(other.span, "the first")
            .Help("remove one of them"));
    return;
  }
  expansion_.pins.push_back(std::move(pin));
}

}  // namespace cleave::frontend
