#include "codegen/cpu/loop.h"

#include "absl/strings/str_cat.h"
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

}  // namespace

void EmitLoop(Emission& emission, const ir::FusedLoop& loop, SourceWriter& writer) {
  const std::vector<int> outputs = WritingSteps(emission, loop);
  Announce(emission, loop.steps, InPlaceText(emission, loop), writer);
  Watch(emission, outputs.front(), ir::ComputeOf(emission.step(outputs.front()))->output, writer);
  const LoopShape shape = ShapeOf(emission, loop);
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
                      return emission.identifiers.Unique(absl::StrCat(emission.names[value].substr(0, 16), "_term"));
                    }},
               writer);
  for (size_t i = 0; i < shape.axes.size(); ++i) writer.Close("}");
  WatchOtherResults(emission, outputs, writer);
}

}  // namespace cleave::codegen
