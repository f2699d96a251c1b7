#include "codegen/source/glance.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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
std::string PartText(Emission& emission, const ir::Layout& layout) {
  const ir::AxisList axes = layout.PartialAxes();
  for (const ir::PartialAxis& axis : layout.partial) {
    CLEAVE_CHECK(axis.reduction == layout.partial.front().reduction) << "parts of two reductions";
  }
  return absl::StrCat("{", emission.sizes.IndexText(axes), ", ", emission.program.mesh.Size(axes), ", ",
                      ReductionText(layout.partial.front().reduction), "}");
}

}  // namespace

void EmitGlance(Emission& emission, int step, const ir::Glance& glance, SourceWriter& writer) {
  const ir::Step& info = emission.step(step);
  const ir::Value& value = emission.value(glance.input);
  const bool is_of_micro_batch = emission.program.time.has_value() && info.repeat == ir::Repeat::kEach;
  const std::string micro_batch =
      is_of_micro_batch ? absl::StrCat(", ", emission.sizes.AxisName(*emission.program.time)) : "";
  const std::string caption = absl::StrCat("{", NameStringText(emission.layer, info.name), ", ",
                                           StringLiteral(emission.Place(info.line)), micro_batch, "}");
  std::vector<std::string> arguments = {emission.LookNumber(step), caption};
  if (glance.kind == ir::LookKind::kAssertFinite) {
    arguments.push_back(emission.sizes.Count(glance.input).Text());
  } else if (emission.program.is_manual) {
    arguments.push_back(emission.sizes.ShapeList(glance.input));
  } else {
    arguments.push_back(emission.sizes.RegionText(glance.input));
  }
  arguments.push_back(emission.names[glance.input]);
  const bool shows_parts = glance.kind != ir::LookKind::kAssertFinite && value.layout.is_partial();
  if (shows_parts) arguments.push_back(PartText(emission, value.layout));
  Announce(emission, {step}, "as it lies here", writer);
  writer.Call(absl::StrCat("observer.", MethodOf(glance.kind, emission.program.is_manual), "("), arguments, ");");
}

}  // namespace cleave::codegen
