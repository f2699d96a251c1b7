// Makes the plans of cuDNN for attention and its gradients without a device, for GPUs that are described in JSON, and
// prints a table of the workspace that they take, with numbers for the reasons why some are refused, and these reasons.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/math/cudnn/sdpa_graph.h"

namespace cleave::runtime {
namespace {

namespace library = cudnn_frontend;

struct Gpu {
  const char* name;
  int version;  // Compute capability times 100.
  int multiprocessors;
  int shared_bytes;  // The most that a block can ask for.
  int64_t cache_bytes;
  int64_t memory_bytes;
  int clock_khz;
  int memory_khz;
  int memory_bits;
};

constexpr int64_t kGiB = int64_t{1} << 30, kMiB = int64_t{1} << 20;
constexpr Gpu kGpus[] = {
    {"A100", 800, 108, 163 << 10, 40 * kMiB, 80 * kGiB, 1410000, 1593000, 5120},
    {"H100", 900, 132, 227 << 10, 50 * kMiB, 80 * kGiB, 1980000, 2619000, 5120},
    {"H200", 900, 132, 227 << 10, 50 * kMiB, 141 * kGiB, 1980000, 3201000, 6144},
    {"B200", 1000, 148, 227 << 10, 126 * kMiB, 180 * kGiB, 1965000, 3996000, 8192},
};

std::string Json(const Gpu& gpu) {
  char text[2048];
  std::snprintf(text, sizeof text,
                R"({"cudaDeviceId":0,"deviceVer":%d,"driverVer":13000,"totalGlobalMem":%)" PRId64
                R"(,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
                R"("multiProcessorCount":%d,"smCountOrigin":0,"smClockRateKHz":%d,"memClockRateKHz":%d,)"
                R"("memoryBusWidth":%d,"l2CacheSize":%)" PRId64
                R"(,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":%d,)"
                R"("oversizedSharedMemoryPerBlock":0,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,)"
                R"("pciDeviceId":0,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
                R"("isTccDriver":0,"supportCoopLaunch":1,"deviceName":"NVIDIA %s"})",
                gpu.version, gpu.memory_bytes, gpu.multiprocessors, gpu.clock_khz, gpu.memory_khz, gpu.memory_bits,
                gpu.cache_bytes, gpu.shared_bytes, gpu.name);
  return text;
}

// Why plans are refused, each once.
class Reasons {
 public:
  // The number of one, from 1 on.
  size_t Number(const std::string& reason) {
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i] == reason) return i + 1;
    }
    all_.push_back(reason);
    return all_.size();
  }

  void Print() const {
    if (!all_.empty()) std::printf("\n");
    for (size_t i = 0; i < all_.size(); ++i) std::printf("%zu. %s\n", i + 1, all_[i].c_str());
  }

 private:
  std::vector<std::string> all_;
};

// The bytes of workspace that the call's plan takes, or "refused" and the number of the reason.
std::string WorkspaceOf(const Gpu& gpu, const std::shared_ptr<library::DeviceProperties>& device, const SdpaCall& call,
                        Reasons& reasons) {
  library::graph::Graph graph;
  graph.set_device_properties(device);
  graph.set_sm_version(gpu.version / 10);
  Describe(call, graph);
  library::error_t error = graph.build({library::HeurMode_t::A});
  int64_t bytes = 0;
  if (error.is_good()) error = graph.get_workspace_size(bytes);
  if (error.is_good()) return std::to_string(bytes);
  const std::string message = error.get_message();
  return "refused (" + std::to_string(reasons.Number(message.substr(0, message.find('\n')))) + ")";
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
    const std::string json = Json(gpu);
    devices.push_back(std::make_shared<library::DeviceProperties>());
    library::error_t error = devices.back()->deserialize({json.begin(), json.end()});
    if (error.is_bad()) {
      std::fprintf(stderr, "%s: %s\n", gpu.name, error.get_message().c_str());
      std::exit(1);
    }
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
