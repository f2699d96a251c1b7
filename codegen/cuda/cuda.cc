#include "codegen/cuda/cuda.h"

#include "codegen/cuda/loop.h"

namespace cleave::codegen {
namespace {

constexpr absl::string_view kHeaders[] = {"runtime/device/cuda/cuda.h", "runtime/device/cuda/loop_batch.cuh",
                                          "runtime/device/cuda/step_numbers.h", "runtime/device/cuda/vector.cuh",
                                          "runtime/device/memory.h"};

// cuBLASLt's workspace for one stream, as NVIDIA recommends for architectures from 9.0 on: 32 MiB, on each of two
// streams.
constexpr Bytes kLibraryWorkspace = Bytes(64 * 1024 * 1024);

constexpr int64_t kLargestAttentionHead = 256;  // kLargestHead of runtime/kernels/attention.h.

}  // namespace

const Target& CudaTarget() {
  static constexpr Target kTarget = {.name = "GPUs",
                                     .source_file = "program.cu",
                                     .meeting_comm = "nccl",
                                     .headers = kHeaders,
                                     .is_device = true,
                                     .library_workspace = kLibraryWorkspace,
                                     .largest_attention_head = kLargestAttentionHead,
                                     .fuse = {.epilogues = ir::Epilogues::kAll,
                                              .loop_batches = ir::LoopBatches::kAll,
                                              .piece_counts = ir::PieceCounts::kEqual},
                                     .emit_loop = EmitKernelOfLoop,
                                     .emit_batch = EmitBatchOfLoops};
  return kTarget;
}

}  // namespace cleave::codegen
