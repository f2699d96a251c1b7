#include "codegen/cpu/loop.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/emit/identifiers.h"
#include "codegen/source/kernel_text.h"
#include "codegen/source/kernel_words.h"
#include "codegen/source/loop.h"

namespace cleave::codegen {
namespace {

// Loops over at least so many elements are shared among threads. For fewer, starting the threads costs more (about 5
// microseconds).
constexpr int64_t kParallelElements = 16384;

void OpenLoops(const LoopShape& shape, SourceWriter& writer) {
  const bool parallel = shape.elements >= kParallelElements;
  for (size_t depth = 0; depth < shape.axes.size(); ++depth) {
    const bool innermost = depth + 1 == shape.axes.size();
    if (parallel && depth == 0) {
      const std::string simd = innermost ? " simd" : "";
      const std::string collapse = shape.axes.size() > 2 ? absl::StrCat(" collapse(", shape.axes.size() - 1, ")") : "";
      writer.Unindented(absl::StrCat("#pragma omp parallel for", simd, collapse));
    } else if (innermost) {
      writer.Unindented("#pragma omp simd");
    }
    const LoopShape::Axis& axis = shape.axes[depth];
    writer.Open(absl::StrCat("for (int64_t ", axis.index, " = 0; ", axis.index, " < ", axis.size.Text(), "; ++",
                             axis.index, ") {"));
  }
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

  void Write(const LoopShape& shape, SourceWriter& writer) {
    SourceWriter statements(4);
    EmitLoopBody(
        emission_, loop_,
        {.read = [&](ir::ValueId value, const LoopSpan& span) { return Element(value, shape.IndexText(span), false); },
         .write = [&](ir::ValueId value) { return Element(value, shape.IndexText(shape.All()), true); },
         .step_number = [this](ir::ValueId value) { return NumberOf(value); },
         .local = [this](ir::ValueId value) { return names_.Unique(words_.Of(value)); },
         .term = [this](ir::ValueId value) { return names_.Unique(absl::StrCat(words_.Of(value), "_term")); }},
        statements);
    std::vector<std::string> arguments = {shape.axes[0].size.Text()};
    for (const Parameter& parameter : parameters_) arguments.push_back(emission_.names[parameter.value]);
    writer.Call(absl::StrCat(Function(statements), "("), arguments, ");");
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

  std::string Element(ir::ValueId value, const std::string& index, bool is_written) {
    Parameter& parameter = ParameterOf(value);
    parameter.is_written |= is_written;
    return absl::StrCat(parameter.name, "[", index, "]");
  }

  std::string NumberOf(ir::ValueId value) {
    for (const Parameter& known : parameters_) {
      if (known.value == value) return known.name;
    }
    const std::string name = names_.Unique(emission_.value(value).name);
    parameters_.push_back({.value = value, .name = name, .is_number = true});
    return name;
  }

  // The name of the function with these statements; it is written unless the program has it already.
  std::string Function(const SourceWriter& statements) {
    std::vector<std::string> parameters = {"int64_t count"};
    for (const Parameter& parameter : parameters_) {
      const absl::string_view type = ElementTypeName(emission_.value(parameter.value).type.dtype);
      parameters.push_back(absl::StrCat(parameter.is_number || parameter.is_written ? "" : "const ", type,
                                        parameter.is_number ? " " : "* ", parameter.name));
    }
    SourceWriter body;
    body.Unindented(absl::StrCat("#pragma omp parallel for simd if (parallel : count >= ", kParallelElements, ")"));
    body.Line("  for (int64_t i = 0; i < count; ++i) {");
    body.Append(statements);
    body.Line("  }");
    return WriteKernel(emission_,
                       {.wish = words_.Kernel(), .result = "void", .parameters = std::move(parameters), .body = body});
  }

  Emission& emission_;
  const ir::FusedLoop& loop_;
  KernelWords words_;
  Identifiers names_;  // Those of the function.
  std::vector<Parameter> parameters_;
};

}  // namespace

void EmitLoop(Emission& emission, const ir::FusedLoop& loop, SourceWriter& writer) {
  const std::vector<int> outputs = WritingSteps(emission, loop);
  Announce(emission, loop.steps, InPlaceText(emission, loop), writer);
  Watch(emission, outputs.front(), ir::ComputeOf(emission.step(outputs.front()))->output, writer);
  const LoopShape shape = ShapeOf(emission, loop);
  if (Update update(emission, loop); update.IsFunction(shape)) {
    update.Write(shape, writer);
    return WatchOtherResults(emission, outputs, writer);
  }
  const auto element = [&](ir::ValueId value, const LoopSpan& span) {
    return absl::StrCat(emission.names[value], "[", shape.IndexText(span), "]");
  };
  OpenLoops(shape, writer);
  EmitLoopBody(emission, loop,
               {.read = element,
                .write = [&](ir::ValueId value) { return element(value, shape.All()); },
                .step_number = [&](ir::ValueId value) { return emission.names[value]; },
                .local = [&](ir::ValueId value) { return emission.names[value]; },
                .term =
                    [&](ir::ValueId value) {
                      return emission.identifiers.Local(absl::StrCat(emission.names[value].substr(0, 16), "_term"));
                    }},
               writer);
  for (size_t i = 0; i < shape.axes.size(); ++i) writer.Close("}");
  WatchOtherResults(emission, outputs, writer);
}

}  // namespace cleave::codegen
