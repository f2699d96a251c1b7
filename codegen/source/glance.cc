#include "codegen/source/glance.h"

#include <utility>
#include <vector>

#include "base/check/check.h"
#include "codegen/source/communication.h"

namespace cleave::codegen {
namespace {

absl::string_view MethodOf(ir::LookKind kind, bool is_manual) {
  switch (kind) {
    case ir::LookKind::kPrint:
    case ir::LookKind::kPrintLocal:
      // In a manual model every rank has a whole tensor of its own.
      if (is_manual) return "PrintRanks";
      return kind == ir::LookKind::kPrint ? "Print" : "PrintPieces";
    case ir::LookKind::kAssertFinite:
      return "AssertFinite";
    case ir::LookKind::kWatch:
      return is_manual ? "WatchRanks" : "Watch";
    case ir::LookKind::kOutput:
      return "Output";
  }
  CLEAVE_UNREACHABLE();
}

// "{m0, 2, Reduction::kSum}": which part of the value the rank holds, of how many.
cpp::Expr PartOf(Emission& emission, const ir::Layout& layout) {
  const ir::AxisList axes = layout.PartialAxes();
  for (const ir::PartialAxis& axis : layout.partial) {
    CLEAVE_CHECK(axis.reduction == layout.partial.front().reduction) << "parts of two reductions";
  }
  return cpp::Braces(
      {emission.sizes.Index(axes), emission.program.mesh.Size(axes), ReductionOf(layout.partial.front().reduction)});
}

}  // namespace

void EmitGlance(Emission& emission, int step, const ir::Glance& glance, cpp::Code& code) {
  const ir::Step& info = emission.step(step);
  const ir::Value& value = emission.value(glance.input);
  const bool is_of_micro_batch = emission.program.time.has_value() && ir::IsForEach(info.repeat);
  std::vector<cpp::Expr> caption = {NameString(emission.layer, info.name), cpp::String(emission.Place(info.line))};
  if (is_of_micro_batch) caption.push_back(cpp::Name(emission.sizes.AxisName(*emission.program.time)));
  std::vector<cpp::Expr> arguments = {emission.LookNumber(step), cpp::Braces(std::move(caption))};
  if (glance.kind == ir::LookKind::kAssertFinite) {
    arguments.push_back(emission.sizes.Count(glance.input).Value());
  } else if (emission.program.is_manual) {
    arguments.push_back(emission.sizes.ShapeList(glance.input));
  } else {
    arguments.push_back(emission.sizes.Region(glance.input));
  }
  arguments.push_back(emission.names[glance.input]);
  const bool shows_parts = glance.kind != ir::LookKind::kAssertFinite && value.layout.is_partial();
  if (shows_parts) arguments.push_back(PartOf(emission, value.layout));
  Announce(emission, {step}, "as it lies here", code);
  const cpp::Expr observer = cpp::Name("observer");
  code.Do(observer.Call(MethodOf(glance.kind, emission.program.is_manual), std::move(arguments)));
}

}  // namespace cleave::codegen
