// Reading guide: Measure joins the ranks and checks where they are; MeasureJoined is the order of what is measured.
#include "runtime/measure/measure.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/comm/comm.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/device/device.h"
#include "runtime/device/memory.h"
#include "runtime/error/error.h"
#include "runtime/json/json_writer.h"
#include "runtime/launch/cores.h"
#include "runtime/launch/launch.h"
#include "runtime/measure/device.h"
#include "runtime/measure/links.h"
#include "runtime/measure/pace.h"
#include "runtime/mesh/mesh.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

Mesh MeshOf(const MeasuredMachines& machines) {
  Mesh mesh;
  for (const std::vector<int64_t>& axes : {machines.network, machines.host}) {
    for (const int64_t size : axes) mesh.push_back({Format("m%zu", mesh.size()), size});
  }
  return mesh;
}

int64_t RanksOnHost(const MeasuredMachines& machines) {
  int64_t ranks = 1;
  for (const int64_t size : machines.host) ranks *= size;
  return ranks;
}

// The seconds of `--seconds`; 0 where the flags are something else.
double SecondsOf(int argc, char** argv) {
  if (argc == 1) return 0.3;
  const double seconds = argc == 3 && std::strcmp(argv[1], "--seconds") == 0 ? std::strtod(argv[2], nullptr) : 0;
  return std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

// Ranks of one host follow each other, and no two hosts that are to be different are the same one.
std::optional<Error> CheckPlaces(const MeasuredMachines& machines, Comm& comm) {
  const std::vector<std::string> hosts = comm.GatherText(OwnCores().host);
  const auto on_host = static_cast<size_t>(RanksOnHost(machines));
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const std::string& first = hosts[rank / on_host * on_host];
    if (hosts[rank] != first) {
      return Error{ExitCode::kInput, Format("rank %zu runs on host `%s`, and was to run on `%s` as rank %zu does", rank,
                                            hosts[rank].c_str(), first.c_str(), rank / on_host * on_host)};
    }
    for (size_t other = 0; other < rank / on_host; ++other) {
      if (hosts[other * on_host] != first) continue;
      return Error{ExitCode::kInput, Format("ranks %zu and %zu run on one host, `%s`, and were to run on two",
                                            other * on_host, rank, first.c_str())};
    }
  }
  return std::nullopt;
}

// What a rank can use: on a CPU its share of the host's memory, on a GPU what is free.
int64_t MemoryOfRank(const Comm& comm) {
  if (!TensorsAreOnHost()) return AvailableMemory();
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE) / comm.ranks_on_this_host();
}

std::string RankLine(const Comm& comm, int64_t memory) {
  JsonObject line;
  line.AddInteger("rank", comm.rank());
  line.Add("host", OwnCores().host);
  line.Add("device", DeviceIdentity());
  line.AddInteger("memory", memory);
  line.AddInteger("threads", omp_get_max_threads());
  return line.Text();
}

std::string FigureLine(const Figure& figure) {
  std::vector<double> seconds = figure.seconds;
  std::sort(seconds.begin(), seconds.end());
  JsonObject line;
  line.Add("what", std::string(figure.what));
  line.Add("of", std::string(figure.of));
  line.AddInteger("ranks", figure.ranks);
  line.AddInteger("size", figure.size);
  line.Add("least", seconds.front());
  line.Add("median", seconds[seconds.size() / 2]);
  line.Add("upper_quartile", seconds[seconds.size() * 3 / 4]);
  line.AddInteger("repetitions", static_cast<int64_t>(seconds.size()));
  return line.Text();
}

// Only rank 0 writes.
std::optional<Error> Write(Comm& comm, const std::vector<std::string>& ranks, const std::vector<Figure>& figures) {
  if (comm.rank() != 0) return std::nullopt;
  constexpr char kPath[] = "measurements.jsonl";
  std::ofstream file(kPath, std::ios::binary | std::ios::trunc);
  for (const std::string& line : ranks) file << line << "\n";
  for (const Figure& figure : figures) file << FigureLine(figure) << "\n";
  file.close();
  if (file) return std::nullopt;
  return Error{ExitCode::kEnvironment, Format("cannot write `%s`", kPath)};
}

std::optional<Error> MeasureJoined(const MeasuredMachines& machines, double seconds, Comm& comm, Watch& watch) {
  if (std::optional<Error> error = Agree(comm, CheckPlaces(machines, comm))) return error;
  const std::vector<std::string> ranks = comm.GatherText(RankLine(comm, MemoryOfRank(comm)));
  const int64_t host_bytes = TensorsAreOnHost() ? 0 : machines.most_bytes / 4;
  const Arena arena(machines.most_bytes, machines.most_bytes, host_bytes);
  Pace pace(comm, watch, seconds);
  int64_t products = 0;
  Samples samples;
  for (int round = 1; round <= Pace::kRounds; ++round) {
    if (comm.rank() == 0) {
      std::printf("measures: round %d of %d\n", round, Pace::kRounds);
      std::fflush(stdout);
    }
    ZeroBytes(arena.At<void>(0), arena.bytes());
    MeasureLinks(machines, comm, arena, pace);
    if (!TensorsAreOnHost()) MeasureOverlap(comm, arena, pace, products);
    MeasureProducts(arena, pace);
    MeasureMemory(arena, pace);
    MeasureKernels(arena, pace);
    MeasureHostCopies(arena, pace);
    MeasureInput(pace, samples);
  }
  return Agree(comm, Write(comm, ranks, pace.figures()));
}

int MeasureRank(const MeasuredMachines& machines, double seconds) {
  Watch watch("calibrate");
  Result<std::unique_ptr<Comm>> joined = Join({MeshOf(machines)}, watch);
  if (!joined.ok()) return static_cast<int>(joined.error().code);
  std::unique_ptr<Comm> comm = std::move(joined.value());
  if (seconds == 0) return Leave(std::move(comm), {ExitCode::kUsage, "use --seconds S, with S greater than 0"});
  const std::optional<Error> error = MeasureJoined(machines, seconds, *comm, watch);
  return error.has_value() ? Leave(std::move(comm), *error) : static_cast<int>(ExitCode::kDone);
}

}  // namespace

int Measure(int argc, char** argv, const MeasuredMachines& machines) {
  SpinBriefly(argv);
  const double seconds = SecondsOf(argc, argv);
  return RunRanks(MeshOf(machines), [&] { return MeasureRank(machines, seconds); });
}

}  // namespace cleave::runtime
