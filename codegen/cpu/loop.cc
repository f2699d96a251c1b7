#include "codegen/cpu/loop.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "codegen/source/expressions.h"
#include "ir/layout/layout.h"

namespace cleave {
namespace {

// Elements from which a loop is shared among threads; below, starting them costs more (some 5 microseconds).
constexpr int64_t kParallelElements = 16384;

// An expression that is longer gets a line, and a name, of its own.
constexpr size_t kLongestInline = 56;

constexpr absl::string_view kIndexNames[] = {"i", "j", "k", "l"};

// One `for`: neighbouring dimensions that every operand has, or lacks, together.
struct Axis {
  std::string index;
  SizeProduct size;
};

using Span = std::vector<bool>;  // Per dimension of the loop's values.

class LoopEmitter {
 public:
  LoopEmitter(Emission& emission, const FusedLoop& loop, SourceWriter& writer)
      : emission_(emission), loop_(loop), writer_(writer), shape_of_(ComputeAt(loop.steps.front()).output) {
    for (const int i : loop.steps) {
      for (const ValueId value : ComputeAt(i).inputs) ++uses_[value];
    }
  }

  void Run() {
    const std::vector<int> outputs = WritingSteps();
    Announce(emission_, loop_.steps, "", writer_);
    Watch(emission_, outputs.front(), ComputeAt(outputs.front()).output, writer_);
    MakeAxes();
    OpenLoops();
    for (const int i : loop_.steps) EmitStep(ComputeAt(i));
    for (size_t i = 0; i < axes_.size(); ++i) writer_.Close("}");
    for (size_t i = 1; i < outputs.size(); ++i) {
      if (emission_.step(outputs[i]).phase == Phase::kUpdate) break;
      Watch(emission_, outputs[i], ComputeAt(outputs[i]).output, writer_);
    }
  }

 private:
  const Compute& ComputeAt(int i) const { return *ComputeOf(emission_.step(i)); }
  bool IsInside(ValueId value) const { return emission_.fusion.inside.count(value) > 0; }

  std::vector<int> WritingSteps() const {
    std::vector<int> steps;
    for (const int i : loop_.steps) {
      if (!IsInside(ComputeAt(i).output)) steps.push_back(i);
    }
    return steps;
  }

  int rank() const { return emission_.value(shape_of_).type.rank(); }

  // A dimension of one element that no axis cuts has no loop.
  bool IsSingle(int d) const {
    const Value& value = emission_.value(shape_of_);
    return value.type.shape[static_cast<size_t>(d)] == 1 && value.layout.dimensions[static_cast<size_t>(d)].empty();
  }

  void MakeAxes() {
    for (const int i : loop_.steps) {
      const Compute& compute = ComputeAt(i);
      for (size_t input = 0; input < compute.inputs.size(); ++input) {
        spans_.insert(*SpanOfInput(emission_.program, compute, static_cast<int>(input)));
      }
    }
    int previous = -1;
    for (int d = 0; d < rank(); ++d) {
      if (IsSingle(d)) continue;
      const bool joined = previous >= 0 && std::all_of(spans_.begin(), spans_.end(), [&](const Span& span) {
                            return span[static_cast<size_t>(previous)] == span[static_cast<size_t>(d)];
                          });
      if (joined) {
        axes_.back().size *= emission_.sizes.Size(shape_of_, d);
      } else {
        const size_t depth = axes_.size();
        axes_.push_back({.index = depth < 4 ? std::string(kIndexNames[depth]) : absl::StrCat("l", depth - 2),
                         .size = emission_.sizes.Size(shape_of_, d)});
      }
      axis_of_.resize(static_cast<size_t>(d) + 1, -1);
      axis_of_[static_cast<size_t>(d)] = static_cast<int>(axes_.size()) - 1;
      previous = d;
    }
    axis_of_.resize(static_cast<size_t>(rank()), -1);
  }

  void OpenLoops() {
    const int64_t elements = ElementCount(LargestLocalShape(emission_.program, shape_of_));
    const bool parallel = elements >= kParallelElements;
    for (size_t depth = 0; depth < axes_.size(); ++depth) {
      const bool innermost = depth + 1 == axes_.size();
      if (parallel && depth == 0) {
        const std::string simd = innermost ? " simd" : "";
        const std::string collapse = axes_.size() > 2 ? absl::StrCat(" collapse(", axes_.size() - 1, ")") : "";
        writer_.Unindented(absl::StrCat("#pragma omp parallel for", simd, collapse));
      } else if (innermost) {
        writer_.Unindented("#pragma omp simd");
      }
      const Axis& axis = axes_[depth];
      writer_.Open(absl::StrCat("for (int64_t ", axis.index, " = 0; ", axis.index, " < ", axis.size.Text(), "; ++",
                                axis.index, ") {"));
    }
  }

  // The place, in its own buffer, of the element of a value that has the dimensions of `span`.
  std::string IndexText(const Span& span) const {
    std::string text;
    int last = -1;
    for (int d = 0; d < rank(); ++d) {
      const int axis = axis_of_[static_cast<size_t>(d)];
      if (axis < 0 || axis == last || !span[static_cast<size_t>(d)]) continue;
      const Axis& info = axes_[static_cast<size_t>(axis)];
      if (text.empty()) {
        text = info.index;
      } else {
        const bool sum = text.find(' ') != std::string::npos;
        text = absl::StrCat(sum ? "(" : "", text, sum ? ")" : "", " * ", info.size.FactorText(), " + ", info.index);
      }
      last = axis;
    }
    return text.empty() ? "0" : text;
  }

  Expression Operand(const Compute& compute, size_t input) {
    const ValueId value = compute.inputs[input];
    if (const auto found = pending_.find(value); found != pending_.end()) {
      Expression expression = found->second.expression;
      if (!found->second.named) {
        // What the expression reads is read later now: by the one that takes it.
        reads_.insert(found->second.reads.begin(), found->second.reads.end());
        pending_.erase(found);
      }
      return expression;
    }
    const int writer = emission_.fusion.written_by[value];
    if (writer < 0 && !emission_.storage.root[value].has_value()) return SourceOperand(value);
    CLEAVE_CHECK(emission_.storage.root[value].has_value()) << "`" << emission_.value(value).name << "` has no memory";
    reads_.insert(*emission_.storage.root[value]);
    const Span span = *SpanOfInput(emission_.program, compute, static_cast<int>(input));
    return {absl::StrCat(emission_.names[value], "[", IndexText(span), "]")};
  }

  // A constant that is not stored, or a number that depends on the step.
  Expression SourceOperand(ValueId value) const {
    for (const Step& step : emission_.program.steps) {
      const Compute* compute = ComputeOf(step);
      if (compute == nullptr || compute->output != value) continue;
      if (compute->kind != "constant") return {emission_.names[value]};
      const double number = compute->attributes.GetDouble("value");
      const std::string text = emission_.value(value).type.dtype == DType::kF32
                                   ? FloatLiteral(number)
                                   : absl::StrCat(static_cast<int64_t>(number));
      return {text, text[0] == '-' ? Binding::kUnary : Binding::kPrimary};
    }
    return {"0"};
  }

  void EmitStep(const Compute& compute) {
    const ValueId output = compute.output;
    if (IsInside(output) && uses_[output] == 0) return;
    reads_.clear();
    std::vector<Expression> arguments;
    for (size_t input = 0; input < compute.inputs.size(); ++input) arguments.push_back(Operand(compute, input));
    Expression expression = ElementExpression(emission_.program, compute, arguments);
    if (!FitsOnLine(expression.text)) {
      for (size_t i = 0; i < arguments.size(); ++i) NameArgument(compute.inputs[i], arguments[i]);
      expression = ElementExpression(emission_.program, compute, arguments);
    }
    if (!IsInside(output)) {
      // Whoever still needs what this overwrites takes it first.
      const ValueId root = *emission_.storage.root[output];
      for (const int i : loop_.steps) {
        const auto found = pending_.find(ComputeAt(i).output);
        if (found != pending_.end() && !found->second.named && found->second.reads.count(root) > 0) {
          NameLocal(found->first, found->second.expression);
        }
      }
      const std::string index = IndexText(Span(static_cast<size_t>(rank()), true));
      const std::string target = absl::StrCat(emission_.names[output], "[", index, "]");
      if (const absl::string_view symbol = UpdateSymbol(compute.kind); !symbol.empty() && arguments[0].text == target) {
        writer_.Assign(target, arguments[1].text, symbol);
      } else {
        writer_.Assign(target, expression.text);
      }
    } else if (uses_[output] == 1 && expression.text.size() <= kLongestInline) {
      pending_[output] = {.expression = expression, .reads = reads_, .named = false};
    } else {
      NameLocal(output, expression);
    }
  }

  // x = x - y is written x -= y.
  static absl::string_view UpdateSymbol(absl::string_view kind) {
    if (kind == "add") return "+=";
    if (kind == "sub") return "-=";
    if (kind == "mul") return "*=";
    if (kind == "div") return "/=";
    return "";
  }

  bool FitsOnLine(absl::string_view text) const {
    return writer_.indent() + 5 + static_cast<int>(text.size()) <= SourceWriter::kColumns;
  }

  void NameLocal(ValueId value, const Expression& expression) {
    Declare(emission_.value(value).type.dtype, emission_.names[value], expression.text);
    pending_[value] = {.expression = {emission_.names[value]}, .reads = {}, .named = true};
  }

  // Gives a long argument a name of its own.
  void NameArgument(ValueId value, Expression& argument) {
    constexpr size_t kLong = 24;
    if (argument.text.size() <= kLong) return;
    const std::string name = emission_.identifiers.Unique(absl::StrCat(emission_.names[value].substr(0, 16), "_term"));
    Declare(emission_.value(value).type.dtype, name, argument.text);
    argument = {name};
  }

  void Declare(DType dtype, const std::string& name, const std::string& text) {
    writer_.Assign(absl::StrCat("const ", ElementTypeName(dtype), " ", name), text);
  }

  // A value of the loop that is not in memory: its expression, or the name of the local constant that holds it.
  struct Pending {
    Expression expression;
    std::set<ValueId> reads;  // Buffers that the expression reads.
    bool named = false;
  };

  Emission& emission_;
  const FusedLoop& loop_;
  SourceWriter& writer_;
  ValueId shape_of_;
  std::map<ValueId, int> uses_;  // Within the loop.
  std::set<Span> spans_;
  std::vector<Axis> axes_;
  std::vector<int> axis_of_;  // Per dimension; -1 for single ones.
  std::map<ValueId, Pending> pending_;
  std::set<ValueId> reads_;  // Buffers that the current step's expression reads.
};

}  // namespace

void EmitLoop(Emission& emission, const FusedLoop& loop, SourceWriter& writer) {
  LoopEmitter(emission, loop, writer).Run();
}

}  // namespace cleave
