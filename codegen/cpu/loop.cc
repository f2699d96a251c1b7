#include "codegen/cpu/loop.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpp/cpp.h"
#include "codegen/source/kernel_text.h"
#include "codegen/source/kernel_words.h"
#include "codegen/source/loop.h"

namespace cleave::codegen {
namespace {

// Loops over at least so many elements are shared among threads. For fewer, starting the threads costs more (about 5
// microseconds).
constexpr int64_t kParallelElements = 16384;

// Opens the loops. Returns the statements of the innermost one.
cpp::Code& OpenLoops(const LoopShape& shape, cpp::Code& code) {
  const bool parallel = shape.elements >= kParallelElements;
  cpp::Code* inner = &code;
  for (size_t depth = 0; depth < shape.axes.size(); ++depth) {
    const bool innermost = depth + 1 == shape.axes.size();
    if (parallel && depth == 0) {
      const std::string simd = innermost ? " simd" : "";
      const std::string collapse = shape.axes.size() > 2 ? absl::StrCat(" collapse(", shape.axes.size() - 1, ")") : "";
      inner->Directive(absl::StrCat("#pragma omp parallel for", simd, collapse));
    } else if (innermost) {
      inner->Directive("#pragma omp simd");
    }
    inner = &inner->Open(cpp::Counting(shape.axes[depth].index, shape.axes[depth].size.Value()));
  }
  return *inner;
}

// A loop that updates a parameter, as a call of a function that all parameters share:
//
//   void AdamwUpdate(int64_t count, const float* gradient, float learning_rate, float* adam_m, …) { … }
//   AdamwUpdate(49152, h1_weight_grad, learning_rate, h1_weight_adam_m, …);
class Update {
 public:
  Update(Emission& emission, const ir::FusedLoop& loop) : emission_(emission), loop_(loop), words_(emission, loop) {
    for (const char* own : {"count", "i"}) names_.Reserve(own);
  }

  bool IsFunction(const LoopShape& shape) const { return words_.IsUpdate() && shape.axes.size() == 1; }

  void Write(const LoopShape& shape, cpp::Code& code) {
    cpp::Code body;
    body.Directive(absl::StrCat("#pragma omp parallel for simd if (parallel : count >= ", kParallelElements, ")"));
    cpp::Code statements(4);
    EmitLoopBody(
        emission_, loop_,
        {.read = [&](ir::ValueId value, const LoopSpan& span) { return Element(value, shape.Index(span), false); },
         .write = [&](ir::ValueId value) { return Element(value, shape.Index(shape.All()), true); },
         .step_number = [this](ir::ValueId value) { return NumberOf(value); },
         .local = [this](ir::ValueId value) { return names_.Unique(words_.Of(value)); },
         .term = [this](ir::ValueId value) { return names_.Unique(absl::StrCat(words_.Of(value), "_term")); }},
        statements);
    body.Open(cpp::Counting("i", cpp::Name("count"))).Append(std::move(statements));
    std::vector<cpp::Expr> arguments = {shape.axes[0].size.Value()};
    for (const Parameter& parameter : parameters_) arguments.push_back(emission_.names[parameter.value]);
    code.Do(cpp::Call(Function(std::move(body)), std::move(arguments)));
  }

 private:
  struct Parameter {
    ir::ValueId value;
    std::string name;
    bool is_number = false;
    bool is_written = false;
  };

  Parameter& ParameterOf(ir::ValueId value) {
    for (Parameter& known : parameters_) {
      if (emission_.names[known.value] == emission_.names[value]) return known;
    }
    return parameters_.emplace_back(Parameter{.value = value, .name = names_.Unique(words_.Of(value))});
  }

  cpp::Expr Element(ir::ValueId value, const cpp::Expr& index, bool is_written) {
    Parameter& parameter = ParameterOf(value);
    parameter.is_written |= is_written;
    return cpp::Name(parameter.name).At(index);
  }

  cpp::Expr NumberOf(ir::ValueId value) {
    for (const Parameter& known : parameters_) {
      if (known.value == value) return cpp::Name(known.name);
    }
    const std::string name = names_.Unique(emission_.value(value).name);
    parameters_.push_back({.value = value, .name = name, .is_number = true});
    return cpp::Name(name);
  }

  // The name of the function with this body; it is written unless the program has it already.
  std::string Function(cpp::Code body) {
    cpp::Function head = {.result = cpp::Name("void"), .parameters = {{cpp::Name("int64_t"), "count"}}};
    for (const Parameter& parameter : parameters_) {
      const cpp::Expr type = emission_.ElementTypeOf(parameter.value);
      const cpp::Expr pointer = cpp::Pointer(parameter.is_written ? type : cpp::Const(type));
      head.parameters.push_back({parameter.is_number ? type : pointer, parameter.name});
    }
    return WriteKernel(emission_, {.wish = words_.Kernel(), .head = std::move(head), .body = std::move(body)});
  }

  Emission& emission_;
  const ir::FusedLoop& loop_;
  KernelWords words_;
  Identifiers names_;  // Those of the function.
  std::vector<Parameter> parameters_;
};

}  // namespace

void EmitLoop(Emission& emission, const ir::FusedLoop& loop, cpp::Code& code) {
  const std::vector<int> outputs = WritingSteps(emission, loop.steps);
  Announce(emission, loop.steps, InPlaceText(emission, loop.steps), code);
  Watch(emission, outputs.front(), ir::ComputeOf(emission.step(outputs.front()))->output, code);
  const LoopShape shape = ShapeOf(emission, loop);
  if (Update update(emission, loop); update.IsFunction(shape)) {
    update.Write(shape, code);
    return WatchOtherResults(emission, outputs, code);
  }
  const auto element = [&](ir::ValueId value, const LoopSpan& span) {
    return emission.names[value].At(shape.Index(span));
  };
  EmitLoopBody(emission, loop,
               {.read = element,
                .write = [&](ir::ValueId value) { return element(value, shape.All()); },
                .step_number = [&](ir::ValueId value) { return emission.names[value]; },
                .local = [&](ir::ValueId value) { return emission.names[value].Text(); },
                .term =
                    [&](ir::ValueId value) {
                      const std::string name = emission.names[value].Text();
                      return emission.identifiers.Local(absl::StrCat(name.substr(0, 16), "_term"));
                    }},
               OpenLoops(shape, code));
  WatchOtherResults(emission, outputs, code);
}

}  // namespace cleave::codegen
