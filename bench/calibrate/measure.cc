// Question: what does this machine do in a second, and how close are the formulas of search/price/cost/time.h?
//
//   mpirun -n RANKS measure FILE.json
//
// Measures collectives of 1 KiB to 64 MiB by MPI, f32 products by oneDNN, and copies on all ranks at once; writes the
// fitted description as a cluster file and prints predicted and measured times. All ranks must be on one host.
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/check/check.h"
#include "bench/calibrate/fit.h"
#include "runtime/comm/comm.h"
#include "runtime/data/data.h"
#include "runtime/data/digits.h"
#include "runtime/launch/launch.h"
#include "runtime/math/math.h"
#include "runtime/mesh/mesh.h"
#include "search/model/cluster/cluster_json.h"
#include "search/price/cost/time.h"

namespace cleave::bench {
namespace {

constexpr int64_t kSmallest = 1 << 10, kLargest = 64 << 20;  // Bytes of a collective.

// The least time of `work`, where each time is that of the slowest rank: other work of the machine can only add time.
Seconds TimeOf(runtime::Comm& comm, const std::function<void()>& work) {
  constexpr int kLeast = 5, kMost = 200;
  constexpr double kEnough = 0.5;  // Seconds.
  work();
  double least = std::numeric_limits<double>::infinity(), total = 0;
  for (int repetition = 0; repetition < kLeast || (total < kEnough && repetition < kMost); ++repetition) {
    comm.Barrier(comm.world());
    const auto start = std::chrono::steady_clock::now();
    work();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    comm.AllReduce(&seconds, 1, runtime::Reduction::kMax, comm.world());  // All ranks must count the same time.
    least = std::min(least, seconds);
    total += seconds;
  }
  return Seconds(least);
}

// Groups over the innermost `axes` axes; all groups work at once.
MeasuredCollective MeasureCollective(runtime::Comm& comm, ir::CollectiveKind kind, const std::vector<int>& axes,
                                     int64_t bytes, std::vector<float>& a, std::vector<float>& b) {
  const runtime::Group group = comm.CreateGroup(axes);
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
  const runtime::Cut cut{.dimension = 0, .sizes = runtime::PieceSizes(count, group.size)};
  const Seconds seconds = TimeOf(comm, [&] {
    switch (kind) {
      case ir::CollectiveKind::kAllGather:
        return comm.AllGather(a.data(), b.data(), {count}, cut, group);
      case ir::CollectiveKind::kReduceScatter:
        return comm.ReduceScatter(a.data(), b.data(), {count}, cut, runtime::Reduction::kSum, group);
      case ir::CollectiveKind::kAllReduce:
        return comm.AllReduce(a.data(), count, runtime::Reduction::kMax, group);
      case ir::CollectiveKind::kAllToAll:
      case ir::CollectiveKind::kBroadcast:
      case ir::CollectiveKind::kPermute:
      case ir::CollectiveKind::kNeighborExchange:
      case ir::CollectiveKind::kSendReceive:
      case ir::CollectiveKind::kNeighborExchangeV2:
        CLEAVE_UNREACHABLE();  // It is not measured.
    }
  });
  return {.kind = kind, .ranks = group.size, .bytes = Bytes(bytes), .seconds = seconds};
}

std::vector<MeasuredCollective> MeasureCollectives(runtime::Comm& comm) {
  const int axis_count = static_cast<int>(comm.mesh().size());
  std::vector<float> a(kLargest / sizeof(float), 1), b(kLargest / sizeof(float), 1);
  std::vector<MeasuredCollective> measured;
  for (ir::CollectiveKind kind :
       {ir::CollectiveKind::kAllReduce, ir::CollectiveKind::kAllGather, ir::CollectiveKind::kReduceScatter}) {
    std::vector<int> axes;
    for (int axis = axis_count - 1; axis >= 0; --axis) {
      axes.insert(axes.begin(), axis);
      for (int64_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) {
        measured.push_back(MeasureCollective(comm, kind, axes, bytes, a, b));
      }
    }
  }
  return measured;
}

std::vector<MeasuredProduct> MeasureProducts(runtime::Comm& comm) {
  std::vector<MeasuredProduct> measured;
  for (int64_t size = 8; size <= 2048; size *= 2) {
    const std::vector<float> a(size * size, 1), b(size * size, 1);
    std::vector<float> c(size * size);
    const runtime::MatMulShape shape{.m = size, .n = size, .k = size, .transpose_b = true};
    const Seconds seconds = TimeOf(comm, [&] { runtime::MatMul(shape, a.data(), b.data(), c.data()); });
    const auto edge = static_cast<double>(size);
    measured.push_back({.flops = Flops(2 * edge * edge * edge), .seconds = seconds});
  }
  return measured;
}

std::vector<MeasuredMemory> MeasureMemory(runtime::Comm& comm) {
  constexpr int64_t kSmallestBytes = 256 << 10, kLargestBytes = 256 << 20;  // The largest are in no cache.
  std::vector<MeasuredMemory> measured;
  for (int64_t bytes = kSmallestBytes; bytes <= kLargestBytes; bytes *= 4) {
    const auto elements = bytes / static_cast<int64_t>(2 * sizeof(float));
    const int64_t rounds = std::max<int64_t>(1, (4 << 20) / bytes);  // A short time is not measured well.
    std::vector<float> from(elements, 1), to(elements, 0);
    const Seconds seconds = TimeOf(comm, [&] {
      for (int64_t round = 0; round < rounds; ++round) {
        float* const source = round % 2 == 0 ? from.data() : to.data();
        float* const target = round % 2 == 0 ? to.data() : from.data();
#pragma omp parallel for simd
        for (int64_t i = 0; i < elements; ++i) target[i] = 0.5f * source[i];
      }
    });
    measured.push_back(
        {.bytes = Bytes(bytes), .bytes_per_second = static_cast<double>(bytes * rounds) / seconds.value()});
  }
  return measured;
}

// The rate at which a rank reads the images of a batch, in bytes of the tensor.
double MeasureInput(runtime::Comm& comm) {
  constexpr int64_t kBatch = 256, kBatches = 32, kPixels = 784;
  std::vector<float> images(kBatch * kPixels);
  runtime::Result<std::unique_ptr<runtime::Batches>> batches =
      runtime::Batches::Open(runtime::Digits(kBatch * kBatches, 0),
                             {{"image", runtime::WholeRegion({kBatch, kPixels}), images.data()}}, /*seed=*/1);
  CLEAVE_CHECK(batches.ok()) << batches.error().message;
  batches.value()->PrepareTraining(0, kBatches);
  int64_t step = 0;
  const Seconds seconds = TimeOf(comm, [&] { batches.value()->LoadTraining(step++ % kBatches); });
  return static_cast<double>(images.size() * sizeof(float)) / seconds.value();
}

Bytes MemoryPerRank(int64_t ranks) {
  return Bytes(static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE) / ranks);
}

Seconds PredictedProduct(const search::Cluster& cluster, const MeasuredProduct& product) {
  int64_t size = 1;
  while (2.0 * static_cast<double>(size * size * size) < product.flops.value()) size *= 2;
  const ir::TensorType square{ir::DType::kF32, {size, size}};
  const ir::Attributes attributes = {{ir::attribute::kTransposeA, false}, {ir::attribute::kTransposeB, true}};
  return search::OpSeconds(cluster, ir::DefinitionOf(ir::OpKind::kMatmul), {square, square}, square, attributes);
}

// The innermost axes of the mesh that make groups of `ranks`.
ir::AxisList InnermostAxes(const ir::Mesh& mesh, int64_t ranks) {
  ir::AxisList axes = mesh.AxisIds();
  while (mesh.Size(axes) > ranks) axes.erase(axes.begin());
  return axes;
}

void PrintComparison(const Measurements& measurements, const search::Cluster& cluster) {
  const ir::Mesh mesh = search::MeshOfCluster(cluster);
  const auto line = [](const std::string& what, const std::string& size, Seconds measured, Seconds predicted) {
    std::printf("%-24s %14s %12s %12s %8.2f\n", what.c_str(), size.c_str(), FormatSeconds(measured).c_str(),
                FormatSeconds(predicted).c_str(), predicted.value() / measured.value());
  };
  std::printf("%-24s %14s %12s %12s %8s\n", "what", "size", "measured", "predicted", "ratio");
  for (const MeasuredCollective& measured : measurements.collectives) {
    const Seconds predicted =
        search::CollectiveSeconds(cluster, mesh, measured.kind, InnermostAxes(mesh, measured.ranks), measured.bytes);
    line(std::string(ir::CollectiveKindName(measured.kind)) + " of " + std::to_string(measured.ranks),
         FormatBytes(measured.bytes), measured.seconds, predicted);
  }
  for (const MeasuredProduct& product : measurements.products) {
    char size[32];
    std::snprintf(size, sizeof(size), "%.3g MFLOP", product.flops.value() / 1e6);
    line("matmul", size, product.seconds, PredictedProduct(cluster, product));
  }
  for (const MeasuredMemory& memory : measurements.memory) {
    std::printf("%-24s %14s %10.1f GB/s\n", "memory", FormatBytes(memory.bytes).c_str(), memory.bytes_per_second / 1e9);
  }
  std::printf("peak %.1f GFLOP/s, inputs %.1f GB/s per rank of %d threads\n", cluster.peak.f32 / 1e9,
              cluster.input_bytes_per_second / 1e9, omp_get_max_threads());
}

int Write(const search::Cluster& cluster, const std::string& path) {
  std::ofstream out(path);
  out << search::ClusterJson(cluster);
  out.flush();
  if (out) {
    std::printf("written to %s; use it with `--cluster %s`\n", path.c_str(), path.c_str());
    return 0;
  }
  std::fprintf(stderr, "error: cannot write `%s`\n", path.c_str());
  return 5;
}

int Run(int64_t ranks, const std::string& path) {
  runtime::Mesh axes;  // As MeshOfCluster makes them.
  for (int64_t prime : ir::PrimeFactors(ranks))
    axes.push_back({.name = "m" + std::to_string(axes.size()), .size = prime});
  runtime::Watch watch("calibrate");
  const runtime::Result<std::unique_ptr<runtime::Comm>> joined = runtime::Join({.mesh = axes}, watch);
  if (!joined.ok()) return static_cast<int>(joined.error().code);
  const std::unique_ptr<runtime::Comm>& comm = joined.value();
  Measurements measurements{.ranks = ranks,
                            .collectives = MeasureCollectives(*comm),
                            .products = MeasureProducts(*comm),
                            .memory = MeasureMemory(*comm),
                            .input_bytes_per_second = MeasureInput(*comm),
                            .memory_per_rank = MemoryPerRank(ranks)};
  if (comm->rank() != 0) return 0;
  const search::Cluster cluster = ClusterFrom(measurements, std::filesystem::path(path).stem().string());
  PrintComparison(measurements, cluster);
  return Write(cluster, path);
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  const int64_t ranks = size == nullptr ? 1 : std::atoll(size);
  if (argc != 2) {
    std::fprintf(stderr, "usage: mpirun -n RANKS measure FILE.json\n");
    return 2;
  }
  return cleave::bench::Run(ranks, argv[1]);
}
