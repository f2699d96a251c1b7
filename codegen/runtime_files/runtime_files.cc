#include "codegen/runtime_files/runtime_files.h"

namespace cleave::codegen {
namespace {

constexpr RuntimeFile kFiles[] = {
#include "codegen/runtime_files/files.inc"
};

}  // namespace

absl::Span<const RuntimeFile> RuntimeFiles() { return kFiles; }

}  // namespace cleave::codegen
