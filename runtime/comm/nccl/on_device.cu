// Connecting the GPUs of a job by NCCL, once its ranks have met.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/comm/cuda/open_devices.h"
#include "runtime/comm/job.h"  // IWYU pragma: associated
#include "runtime/comm/nccl/communicator.h"
#include "runtime/comm/nccl/transport.h"

namespace cleave::runtime {
namespace {

// The time within which all ranks must be connected. runtime/launch has read and checked CLEAVE_TIMEOUT.
double ConnectSeconds() {
  constexpr double kDefault = 60;
  const char* const text = std::getenv("CLEAVE_TIMEOUT");
  const double seconds = text == nullptr ? 0 : std::atof(text);
  return seconds > 0 ? seconds : kDefault;
}

std::string HexText(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal) text += Format("%02x", static_cast<unsigned char>(byte));
  return text;
}

ncclUniqueId UniqueIdOf(const std::string& text) {
  ncclUniqueId id;
  for (size_t i = 0; i < sizeof id.internal; ++i) {
    id.internal[i] = static_cast<char>(std::strtol(text.substr(2 * i, 2).c_str(), nullptr, 16));
  }
  return id;
}

// NCCL registers the buffers of recorded collectives. Over a network, large and small ones that take turns on one
// connection can then hang when they are replayed (NCCL's issue 2389). Which version is the first without this is not
// known yet. Read by NCCL when it connects; what a user has set stays.
void RegisterNoBuffersBetweenHosts(const Comm::Impl& job) {
  if (job.local_ranks < job.groups[0].group.size) setenv("NCCL_GRAPH_REGISTER", "0", /*overwrite=*/0);
}

// From 2.30 on NCCL connects ranks that share a GPU, where this variable asks for it.
bool MayShareDevice() {
  constexpr int kSharing = 23000;
  const char* const wish = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  int version = 0;
  ncclGetVersion(&version);
  return wish != nullptr && std::strcmp(wish, "1") == 0 && version >= kSharing;
}

// Libraries of different versions do not understand each other, and report it late or never.
std::optional<Error> CompareVersions(Comm::Impl& job) {
  int version = 0;
  ncclGetVersion(&version);
  const Result<std::vector<std::string>> versions = GatherResults(job, NcclVersionText(version));
  if (!versions.ok()) return versions.error();
  const std::vector<std::string>& all = versions.value();
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    return Error{ExitCode::kEnvironment,
                 Format("the ranks have different versions of NCCL: rank 0 has %s, rank %zu has %s; they must be the "
                        "same",
                        all[0].c_str(), rank, all[rank].c_str())};
  }
  return std::nullopt;
}

// The numbers by which the ranks find each other, each made by one of those that belong to it.
Result<std::vector<ncclUniqueId>> ShareUniqueIds(Comm::Impl& job) {
  const int ranks = job.groups[0].group.size;
  const int count = NumberOfIds(ranks);
  Result<std::string> mine = std::string();
  for (int i = 0; i < count; ++i) {
    if (job.rank != MakerOfId(i, count, ranks)) continue;
    ncclUniqueId id;
    const ncclResult_t result = ncclGetUniqueId(&id);
    if (result == ncclSuccess) {
      mine = HexText(id);
    } else {
      mine = Error{ExitCode::kFailed, Format("NCCL could not begin a job: %s", ncclGetErrorString(result))};
    }
  }
  const Result<std::vector<std::string>> texts = GatherResults(job, mine);
  if (!texts.ok()) return texts.error();
  std::vector<ncclUniqueId> ids;
  for (int i = 0; i < count; ++i) {
    ids.push_back(UniqueIdOf(texts.value()[static_cast<size_t>(MakerOfId(i, count, ranks))]));
  }
  return ids;
}

// The names of the ranks' hosts, by rank.
Result<std::vector<std::string>> HostsOfRanks(Comm::Impl& job) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return GatherResults(job, std::string(host));
}

}  // namespace

std::optional<Error> OnDevice(Comm::Impl& job) {
  if (std::optional<Error> error = OpenDevices(job, MayShareDevice())) return error;
  if (job.transport == nullptr || job.groups[0].group.size == 1) return std::nullopt;  // Nothing to connect.
  if (std::optional<Error> error = CompareVersions(job)) return error;
  const Result<std::vector<std::string>> hosts = HostsOfRanks(job);
  if (!hosts.ok()) return hosts.error();
  const Result<std::vector<ncclUniqueId>> ids = ShareUniqueIds(job);
  if (!ids.ok()) return ids.error();
  RegisterNoBuffersBetweenHosts(job);
  const int ranks = job.groups[0].group.size;
  const double seconds = ConnectSeconds();
  Communicator world;
  // Rank 0 gives up first, so that one rank reports what all of them see.
  const double limit = job.rank == 0 ? seconds : seconds * 1.1 + 1;
  if (const Problem problem = world.Connect(ranks, ids.value(), job.rank, limit)) {
    Die(ExitCode::kFailed,
        Format("rank %d: connecting the GPUs of %d ranks failed: %s", job.rank, ranks, problem->c_str()));
  }
  job.transport =
      std::make_unique<NcclTransport>(std::move(job.transport), std::move(world), hosts.value(), seconds, job);
  return std::nullopt;
}

}  // namespace cleave::runtime
