#include "codegen/cpu/cpu.h"

#include "codegen/cpu/loop.h"

namespace cleave::codegen {
namespace {

// At every length of 64 and more, and every mask, attention is then at least as fast as one piece as it is op by op
// (bench/attention): a core's second cache holds the blocks that it works on.
constexpr int64_t kLargestAttentionHead = 256;

}  // namespace

const Target& CpuTarget() {
  static constexpr Target kTarget = {
      .name = "the CPU",
      .source_file = "program.cc",
      .meeting_comm = "gloo",
      .largest_attention_head = kLargestAttentionHead,
      .fuse = {.attention_workspace = ir::AttentionWorkspace::kBlocks, .images = ir::ImageOrder::kBlocks},
      .emit_loop = EmitLoop};
  return kTarget;
}

}  // namespace cleave::codegen
