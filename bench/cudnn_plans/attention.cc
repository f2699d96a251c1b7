// Makes the plans of cuDNN for attention and its gradients without a device, for GPUs that are described in JSON, and
// prints a table of the workspace that they take, with numbers for the reasons why some are refused, and these reasons.
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/cudnn_plans/gpus.h"
#include "runtime/math/cudnn/sdpa_graph.h"

namespace cleave::runtime {
namespace {

namespace library = cudnn_frontend;

// The bytes of workspace that the call's plan takes, or "refused" and the number of the reason.
std::string WorkspaceOf(const Gpu& gpu, const std::shared_ptr<library::DeviceProperties>& device, const SdpaCall& call,
                        Reasons& reasons) {
  library::graph::Graph graph;
  graph.set_device_properties(device);
  graph.set_sm_version(gpu.version / 10);
  Describe(call, graph);
  return WorkspaceText(graph, graph.build({library::HeurMode_t::A}), reasons);
}

struct Case {
  SdpaType type;
  bool causal;
  bool is_packed;  // q, k and v in one tensor [batch, rows, heads, 3, head].
  int64_t batch, heads, key_heads, rows, columns, head;
  int64_t first_row = 0;
  int64_t value_head = -1;  // As many; REQUIRES: not packed.
  int64_t window = 0;       // Keys that a query sees; 0: all.

  AttentionShape Shape() const {
    AttentionShape shape;
    shape.batch = batch;
    shape.heads = heads;
    shape.key_heads = key_heads;
    shape.rows = rows;
    shape.columns = columns;
    shape.head = head;
    shape.value_head = value_head;
    shape.scale = 0.125f;
    shape.causal = causal;
    shape.first_row = first_row;
    shape.window = window;
    shape.q = is_packed ? AttentionStrides{rows * heads * 3 * head, 3 * head, heads * 3 * head}
                        : RowsFirst(rows, heads, head);
    shape.k = is_packed ? shape.q : RowsFirst(columns, key_heads, head);
    shape.v = is_packed ? shape.q : RowsFirst(columns, key_heads, shape.ValueHead());
    shape.out = RowsFirst(rows, heads, shape.ValueHead());
    shape.dout = shape.out;
    shape.dq = shape.q;
    shape.dk = shape.k;
    shape.dv = shape.v;
    return shape;
  }
};

constexpr Case kCases[] = {
    {SdpaType::kBf16, true, true, 8, 12, 12, 1024, 1024, 64},
    {SdpaType::kF16, true, true, 8, 12, 12, 1024, 1024, 64},
    {SdpaType::kBf16, false, true, 8, 12, 12, 1024, 1024, 64},
    {SdpaType::kBf16, true, false, 8, 12, 12, 1024, 1024, 32},
    {SdpaType::kBf16, true, false, 8, 12, 12, 1024, 1024, 96},
    {SdpaType::kBf16, true, false, 8, 32, 8, 1024, 1024, 128},
    {SdpaType::kBf16, false, false, 3, 8, 8, 100, 300, 40},
    {SdpaType::kBf16, true, false, 2, 8, 8, 256, 512, 64, 256},
    {SdpaType::kBf16, true, false, 2, 8, 8, 256, 512, 64, 100},
    {SdpaType::kBf16, false, false, 2, 8, 8, 1, 512, 64},
    {SdpaType::kBf16, true, false, 2, 2, 2, 5, 5, 12},
    {SdpaType::kBf16, true, true, 1, 1, 1, 16384, 16384, 64},
    {SdpaType::kBf16, true, false, 1, 16, 16, 4096, 4096, 192},
    {SdpaType::kBf16, true, false, 1, 16, 16, 4096, 4096, 256},
    {SdpaType::kBf16, false, false, 2, 4, 4, 1024, 1024, 256},
    {SdpaType::kBf16, true, false, 2, 8, 4, 1024, 1024, 256},
    {SdpaType::kBf16, true, false, 2, 8, 4, 256, 1024, 192, 100},
    {SdpaType::kBf16, true, false, 2, 8, 4, 256, 1024, 160, 768},
    {SdpaType::kF16, true, false, 2, 8, 8, 1024, 1024, 136},
    {SdpaType::kBf16, true, false, 1, 16, 16, 4096, 4096, 192, 0, 128},
    {SdpaType::kBf16, true, false, 2, 8, 4, 256, 1024, 192, 100, 128},
    {SdpaType::kBf16, true, false, 2, 8, 8, 1024, 1024, 64, 0, 128},
    {SdpaType::kBf16, true, false, 2, 8, 8, 1024, 1024, 64, 0, -1, 256},
    {SdpaType::kBf16, true, false, 2, 8, 2, 4096, 4096, 128, 0, -1, 1024},
};

void PrintTable() {
  Reasons reasons;
  std::vector<std::shared_ptr<library::DeviceProperties>> devices;
  std::printf("| samples | heads (key heads) | queries x keys | head | | type |");
  for (const Gpu& gpu : kGpus) {
    devices.push_back(DescribedGpu(gpu));
    std::printf(" %s |", gpu.name);
  }
  std::printf("\n|%s\n", "---|---|---|---|---|---|---|---|---|---|");
  for (const Case& each : kCases) {
    const std::string head =
        std::to_string(each.head) + (each.value_head < 0 ? "" : ", " + std::to_string(each.value_head));
    const std::string window = each.window == 0 ? "" : ", window " + std::to_string(each.window);
    std::printf("| %" PRId64 " | %" PRId64 " (%" PRId64 ") | %" PRId64 " x %" PRId64 " | %s | %s%s%s | %s |",
                each.batch, each.heads, each.key_heads, each.rows, each.columns, head.c_str(),
                each.is_packed ? "packed" : "", each.causal ? (each.is_packed ? ", causal" : "causal") : "",
                window.c_str(), each.type == SdpaType::kBf16 ? "bf16" : "f16");
    for (size_t i = 0; i < devices.size(); ++i) {
      const auto bytes = [&](SdpaPart part) {
        return WorkspaceOf(kGpus[i], devices[i], {each.type, part, each.Shape()}, reasons);
      };
      // In this order: a plan is compiled in seconds.
      const std::string result = bytes(SdpaPart::kResult), forward = bytes(SdpaPart::kResultAndLogsumexp);
      std::printf(" %s / %s / %s |", result.c_str(), forward.c_str(), bytes(SdpaPart::kGradient).c_str());
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  reasons.Print();
}

}  // namespace
}  // namespace cleave::runtime

int main() { cleave::runtime::PrintTable(); }
