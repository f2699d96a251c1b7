#include "codegen/source/loop.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "codegen/source/elements.h"
#include "ir/sharding/layout/layout.h"

namespace cleave::codegen {
namespace {

// A longer expression gets a line and a name.
constexpr size_t kLongestInline = 56;

constexpr absl::string_view kIndexNames[] = {"i", "j", "k", "l"};

const ir::Compute& ComputeAt(const Emission& emission, int i) { return *ir::ComputeOf(emission.step(i)); }

// The shape that every value of the loop has.
ir::ValueId ModelValue(const Emission& emission, const ir::FusedLoop& loop) {
  return ComputeAt(emission, loop.steps.front()).output;
}

// A dimension of one element that no axis cuts has no loop.
bool IsSingle(const ir::Value& value, size_t d) {
  return value.type.shape[d] == 1 && value.layout.dimensions[d].empty();
}

std::set<LoopSpan> SpansOf(const Emission& emission, const ir::FusedLoop& loop) {
  std::set<LoopSpan> spans;
  for (const int i : loop.steps) {
    const ir::Compute& compute = ComputeAt(emission, i);
    for (size_t input = 0; input < compute.inputs.size(); ++input) {
      spans.insert(*ir::SpanOfInput(emission.program, compute, static_cast<int>(input)));
    }
  }
  return spans;
}

class BodyEmitter {
 public:
  BodyEmitter(Emission& emission, const ir::FusedLoop& loop, const LoopElements& elements, cpp::Code& code)
      : emission_(emission), loop_(loop), elements_(elements), code_(code) {
    for (const int i : loop_.steps) {
      for (const ir::ValueId value : ComputeAt(emission_, i).inputs) ++uses_[value];
    }
  }

  void Run() {
    for (const int i : loop_.steps) EmitStep(ComputeAt(emission_, i));
  }

 private:
  bool IsInside(ir::ValueId value) const { return emission_.fusion.inside.contains(value); }

  cpp::Expr Operand(const ir::Compute& compute, size_t input) {
    const ir::ValueId value = compute.inputs[input];
    if (const auto found = pending_.find(value); found != pending_.end()) {
      cpp::Expr expression = found->second.expression;
      if (!found->second.named) {
        // The values that the expression reads are now read later, by the expression that includes it.
        reads_.insert(found->second.reads.begin(), found->second.reads.end());
        pending_.erase(found);
      }
      return expression;
    }
    const int writer = emission_.fusion.written_by[value];
    if (writer < 0 && !emission_.storage.root[value].has_value()) return SourceOperand(value);
    CLEAVE_CHECK(emission_.storage.root[value].has_value()) << "`" << emission_.value(value).name << "` has no memory";
    reads_.insert(*emission_.storage.root[value]);
    return elements_.read(value, *ir::SpanOfInput(emission_.program, compute, static_cast<int>(input)));
  }

  // A constant that is not stored, or a number that depends on the step.
  cpp::Expr SourceOperand(ir::ValueId value) const {
    const ir::Compute* source = emission_.SourceOf(value);
    CLEAVE_CHECK(source != nullptr) << "`" << emission_.value(value).name << "` has no source";
    if (source->kind != ir::OpKind::kConstant) return elements_.step_number(value);
    const double number = source->attributes.Get(ir::attribute::kValue);
    if (emission_.value(value).type.dtype == ir::DType::kI32) return static_cast<int64_t>(number);
    return cpp::Float(number);
  }

  void EmitStep(const ir::Compute& compute) {
    const ir::ValueId output = compute.output;
    if (IsInside(output) && uses_[output] == 0) return;
    reads_.clear();
    std::vector<cpp::Expr> arguments;
    for (size_t input = 0; input < compute.inputs.size(); ++input) arguments.push_back(Operand(compute, input));
    cpp::Expr expression = ElementValue(emission_.program, compute, arguments, emission_.definitions.element_functions);
    if (!FitsOnLine(expression)) {
      for (size_t i = 0; i < arguments.size(); ++i) NameArgument(compute.inputs[i], arguments[i]);
      expression = ElementValue(emission_.program, compute, arguments, emission_.definitions.element_functions);
    }
    if (!IsInside(output)) {
      TakeWhatIsOverwritten(*emission_.storage.root[output]);
      Store(compute, arguments, expression);
    } else if (uses_[output] == 1 && expression.length() <= kLongestInline) {
      pending_[output] = {.expression = expression, .reads = reads_, .named = false};
    } else {
      NameLocal(output, expression);
    }
  }

  // Expressions that still need the content of this buffer are computed first.
  void TakeWhatIsOverwritten(ir::ValueId root) {
    for (const int i : loop_.steps) {
      const auto found = pending_.find(ComputeAt(emission_, i).output);
      if (found != pending_.end() && !found->second.named && found->second.reads.count(root) > 0) {
        NameLocal(found->first, found->second.expression);
      }
    }
  }

  void Store(const ir::Compute& compute, const std::vector<cpp::Expr>& arguments, const cpp::Expr& expression) {
    const cpp::Expr target = elements_.write(compute.output);
    const ir::DType dtype = emission_.value(compute.output).type.dtype;
    if (ir::IsNarrow(dtype)) return code_.Assign(target, cpp::Call(ElementTypeName(dtype), {expression}));
    const absl::string_view symbol = UpdateSymbol(compute.kind);
    if (!symbol.empty() && arguments[0] == target) {
      code_.Assign(target, arguments[1], symbol);
    } else {
      code_.Assign(target, expression);
    }
  }

  // x = x - y is written as x -= y.
  static absl::string_view UpdateSymbol(ir::OpKind kind) {
    if (kind == ir::OpKind::kAdd) return "+=";
    if (kind == ir::OpKind::kSub) return "-=";
    if (kind == ir::OpKind::kMul) return "*=";
    if (kind == ir::OpKind::kDiv) return "/=";
    return "";
  }

  bool FitsOnLine(const cpp::Expr& expression) const {
    return code_.indent() + 5 + static_cast<int>(expression.length()) <= cpp::kColumns;
  }

  void NameLocal(ir::ValueId value, const cpp::Expr& expression) {
    const std::string name = elements_.local(value);
    Declare(emission_.value(value).type.dtype, name, expression);
    pending_[value] = {.expression = cpp::Name(name), .reads = {}, .named = true};
  }

  // Gives a long argument a name of its own.
  void NameArgument(ir::ValueId value, cpp::Expr& argument) {
    constexpr size_t kLong = 24;
    if (argument.length() <= kLong) return;
    const std::string name = elements_.term(value);
    Declare(emission_.value(value).type.dtype, name, argument);
    argument = cpp::Name(name);
  }

  void Declare(ir::DType dtype, const std::string& name, const cpp::Expr& value) {
    code_.Declare({cpp::Name(ir::IsInteger(dtype) ? "const int32_t" : "const float"), name}, value);
  }

  // A value of the loop that is not in memory: its expression, or the name of the local constant that holds it.
  struct Pending {
    cpp::Expr expression;
    std::set<ir::ValueId> reads;  // Buffers that the expression reads.
    bool named = false;
  };

  Emission& emission_;
  const ir::FusedLoop& loop_;
  const LoopElements& elements_;
  cpp::Code& code_;
  std::map<ir::ValueId, int> uses_;  // Within the loop.
  std::map<ir::ValueId, Pending> pending_;
  std::set<ir::ValueId> reads_;  // Buffers that the current step's expression reads.
};

// The name of what the steps read in the buffer into which it writes `output`; empty if they read nothing there, or
// under the same name.
std::string ReplacedBy(const Emission& emission, absl::Span<const int> steps, ir::ValueId output) {
  for (const int i : steps) {
    for (const ir::ValueId input : ComputeAt(emission, i).inputs) {
      const bool is_made_here = emission.fusion.written_by[input] == emission.fusion.written_by[output];
      if (is_made_here || !emission.storage.SameBuffer(input, output)) continue;
      if (emission.names[input] != emission.names[output]) return emission.names[input].Text();
    }
  }
  return "";
}

}  // namespace

LoopShape ShapeOf(Emission& emission, const ir::FusedLoop& loop) {
  const ir::ValueId model = ModelValue(emission, loop);
  const ir::Value& value = emission.value(model);
  const std::set<LoopSpan> spans = SpansOf(emission, loop);
  LoopShape shape;
  shape.elements = ir::ElementCount(ir::LargestLocalShape(emission.program, model));
  shape.rank = value.type.shape.size();
  for (const StoredDimension& stored : StoredDimensions(emission, model)) {
    const size_t d = stored.dimension;
    if (IsSingle(value, d) || stored.size.is_one()) continue;
    const SizeProduct& size = stored.size;
    const bool joined = !shape.axes.empty() && std::all_of(spans.begin(), spans.end(), [&](const LoopSpan& span) {
      return span[shape.axes.back().dimension] == span[d];
    });
    if (joined) {
      shape.axes.back().size *= size;
    } else {
      const size_t depth = shape.axes.size();
      shape.axes.push_back({.index = depth < 4 ? std::string(kIndexNames[depth]) : absl::StrCat("l", depth - 2),
                            .size = size,
                            .dimension = d});
    }
  }
  return shape;
}

std::vector<bool> LoopShape::AxesOf(const LoopSpan& span) const {
  std::vector<bool> has(axes.size(), false);
  for (size_t i = 0; i < axes.size(); ++i) has[i] = span[axes[i].dimension];
  return has;
}

cpp::Expr LoopShape::Index(const LoopSpan& span) const {
  const std::vector<bool> has = AxesOf(span);
  std::optional<cpp::Expr> place;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!has[i]) continue;
    const cpp::Expr index = cpp::Name(axes[i].index);
    place = place.has_value() ? *place * axes[i].size.Value() + index : index;
  }
  return place.value_or(0);
}

std::vector<int> WritingSteps(const Emission& emission, absl::Span<const int> steps) {
  std::vector<int> writing;
  for (const int i : steps) {
    if (!emission.fusion.inside.contains(ComputeAt(emission, i).output)) writing.push_back(i);
  }
  return writing;
}

void EmitLoopBody(Emission& emission, const ir::FusedLoop& loop, const LoopElements& elements, cpp::Code& code) {
  BodyEmitter(emission, loop, elements, code).Run();
}

std::string InPlaceText(const Emission& emission, absl::Span<const int> steps) {
  const std::vector<int> writing = WritingSteps(emission, steps);
  std::vector<std::string> texts;
  for (const int i : writing) {
    const ir::ValueId output = ComputeAt(emission, i).output;
    const std::string replaced = ReplacedBy(emission, steps, output);
    if (replaced.empty()) continue;
    texts.push_back(absl::StrCat(writing.size() > 1 ? emission.names[output].Text() : "written", " over ", replaced));
  }
  return absl::StrJoin(texts, ", ");
}

void WatchOtherResults(Emission& emission, const std::vector<int>& writing_steps, cpp::Code& code) {
  for (size_t i = 1; i < writing_steps.size(); ++i) {
    if (emission.step(writing_steps[i]).phase == ir::Phase::kUpdate) break;
    Watch(emission, writing_steps[i], ComputeAt(emission, writing_steps[i]).output, code);
  }
}

}  // namespace cleave::codegen
