#include "codegen/source/host_copy.h"

#include "absl/strings/str_cat.h"

namespace cleave::codegen {
namespace {

std::string ExplanationOf(const Emission& emission, int step) {
  const ir::ValueId value = ir::Writes(emission.step(step)).front();
  const int64_t bytes = emission.storage.BufferOf(*emission.storage.root[value]).size.value();
  return absl::StrCat(ir::IsCopyOut(emission.step(step)) ? "to" : "from", " the host's memory, ",
                      emission.sizes.IsEven(value) ? "" : "at most ", bytes, " bytes");
}

// What lies on the host cannot be looked at by kernels, and what is under way not yet, so the watch is told no place.
void EmitWatch(Emission& emission, int step, SourceWriter& writer) {
  const ir::Step& info = emission.step(step);
  writer.Call("watch.Start(", {OpNameText(emission.layer, info.name), LineText(emission.layer, info.name, info.line)},
              ");");
}

void EmitCall(Emission& emission, int step, SourceWriter& writer) {
  const auto& copy = std::get<ir::HostCopy>(emission.step(step).action);
  const bool goes_out = copy.direction == ir::HostCopy::Direction::kOut;
  writer.Call(goes_out ? "CopyToHost(" : "CopyFromHost(",
              {emission.names[copy.input], emission.sizes.Count(copy.input).Text(), emission.names[copy.output]}, ");");
}

}  // namespace

void EmitHostCopy(Emission& emission, int step, SourceWriter& writer) {
  Announce(emission, {step}, ExplanationOf(emission, step), writer);
  EmitWatch(emission, step, writer);
  EmitCall(emission, step, writer);
}

void EmitStartOfHostCopy(Emission& emission, int step, const std::string& pending, SourceWriter& writer) {
  Announce(emission, {step}, ExplanationOf(emission, step), writer);
  writer.Open(absl::StrCat(pending, " = CopyBeside([&] {"));
  EmitWatch(emission, step, writer);
  EmitCall(emission, step, writer);
  writer.Close("});");
}

}  // namespace cleave::codegen
