// GPUs that cuDNN makes plans for without a device, and what tables say of plans that it refuses.
#ifndef CLEAVE_BENCH_CUDNN_PLANS_GPUS_H_
#define CLEAVE_BENCH_CUDNN_PLANS_GPUS_H_

#define NV_CUDNN_DISABLE_EXCEPTION
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace cleave::runtime {

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

inline constexpr int64_t kGiB = int64_t{1} << 30, kMiB = int64_t{1} << 20;
inline constexpr Gpu kGpus[] = {
    {"A100", 800, 108, 163 << 10, 40 * kMiB, 80 * kGiB, 1410000, 1593000, 5120},
    {"H100", 900, 132, 227 << 10, 50 * kMiB, 80 * kGiB, 1980000, 2619000, 5120},
    {"H200", 900, 132, 227 << 10, 50 * kMiB, 141 * kGiB, 1980000, 3201000, 6144},
    {"B200", 1000, 148, 227 << 10, 126 * kMiB, 180 * kGiB, 1965000, 3996000, 8192},
};

inline std::string Json(const Gpu& gpu) {
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

// The description of a GPU; ends the program if the library does not take it.
inline std::shared_ptr<cudnn_frontend::DeviceProperties> DescribedGpu(const Gpu& gpu) {
  const std::string json = Json(gpu);
  auto device = std::make_shared<cudnn_frontend::DeviceProperties>();
  cudnn_frontend::error_t error = device->deserialize({json.begin(), json.end()});
  if (error.is_good()) return device;
  std::fprintf(stderr, "%s: %s\n", gpu.name, error.get_message().c_str());
  std::exit(1);
}

// The bytes of workspace that a plan takes, or "refused" and the number of the reason. `error`: of making the plan.
inline std::string WorkspaceText(const cudnn_frontend::graph::Graph& graph, cudnn_frontend::error_t error,
                                 Reasons& reasons) {
  int64_t bytes = 0;
  if (error.is_good()) error = graph.get_workspace_size(bytes);
  if (error.is_good()) return std::to_string(bytes);
  const std::string message = error.get_message();
  return "refused (" + std::to_string(reasons.Number(message.substr(0, message.find('\n')))) + ")";
}

}  // namespace cleave::runtime

#endif  // CLEAVE_BENCH_CUDNN_PLANS_GPUS_H_
