#include "codegen/source/host_copy.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace cleave::codegen {
namespace {

std::string ExplanationOf(const Emission& emission, int step) {
  const ir::ValueId value = ir::Writes(emission.step(step)).front();
  const int64_t bytes = emission.storage.BufferOf(*emission.storage.root[value]).size.value();
  return absl::StrCat(ir::IsCopyOut(emission.step(step)) ? "to" : "from", " the host's memory, ",
                      emission.sizes.IsEven(value) ? "" : "at most ", bytes, " bytes");
}

void EmitCall(Emission& emission, int step, cpp::Code& code) {
  const auto& copy = std::get<ir::HostCopy>(emission.step(step).action);
  const bool goes_out = copy.direction == ir::HostCopy::Direction::kOut;
  // What lies on the host cannot be looked at by kernels, and what is under way not yet, so the watch is told no place.
  WatchName(emission, step, code);
  code.Do(
      cpp::Call(goes_out ? "CopyToHost" : "CopyFromHost",
                {emission.names[copy.input], emission.sizes.Count(copy.input).Value(), emission.names[copy.output]}));
}

}  // namespace

void EmitHostCopy(Emission& emission, int step, cpp::Code& code) {
  Announce(emission, {step}, ExplanationOf(emission, step), code);
  EmitCall(emission, step, code);
}

cpp::Expr StartOfHostCopy(Emission& emission, int step, cpp::Code& code) {
  Announce(emission, {step}, ExplanationOf(emission, step), code);
  cpp::Code body;
  EmitCall(emission, step, body);
  return cpp::Call("CopyBeside", {cpp::Lambda("[&]", std::move(body))});
}

}  // namespace cleave::codegen
