// The calls of the stand-in for NCCL.
#include <nccl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nccl_clique.h"

using stand_in::Call;
using stand_in::CallKind;
using stand_in::Clique;
using stand_in::NcclChanged;
using stand_in::NcclMutex;
using stand_in::Posted;

// One division of a communicator, to which all its ranks must come.
struct SplitRound {
  struct Wish {
    int colour;
    int key;
    int rank;
    int device;
    ncclComm_t part;
  };
  std::vector<Wish> wishes;
};

struct ncclComm {
  std::shared_ptr<Clique> clique;  // Null until all ranks have come to the division that makes it.
  int rank = 0;
  int device = 0;
  bool blocking = true;
  bool aborted = false;
  bool finalized = false;
  ncclResult_t failure = ncclSuccess;  // Of this rank alone.
  int splits = 0;                      // Divisions that this rank has come to.
  int collectives = 0;
  int looks = 0;  // How often its state was asked for since the first of them.
};

namespace {

std::map<std::string, std::shared_ptr<Clique>>& Jobs() {
  static auto& jobs = *new std::map<std::string, std::shared_ptr<Clique>>;
  return jobs;
}

// By the clique that is divided.
std::map<Clique*, std::map<int, SplitRound>>& Rounds() {
  static auto& rounds = *new std::map<Clique*, std::map<int, SplitRound>>;
  return rounds;
}

int CurrentDevice() {
  int device = 0;
  cudaGetDevice(&device);
  return device;
}

bool HasFault(const char* kind, int device) {
  const char* const fault = std::getenv("NCCL_STAND_IN_FAULT");
  return fault != nullptr && std::string(fault) == std::string(kind) + ":" + std::to_string(device);
}

// REQUIRES: the lock is held, as below.
ncclResult_t StateOf(const ncclComm& communicator) {
  if (communicator.failure != ncclSuccess) return communicator.failure;
  if (communicator.clique == nullptr) return ncclInProgress;
  if (communicator.clique->failure() != ncclSuccess) return communicator.clique->failure();
  return communicator.clique->IsComplete() ? ncclSuccess : ncclInProgress;
}

// The answer of a call that has changed the state of a communicator.
ncclResult_t Answer(ncclComm_t communicator, std::unique_lock<std::mutex>& lock) {
  NcclChanged().notify_all();
  if (!communicator->blocking) return ncclInProgress;
  NcclChanged().wait(lock, [&] { return StateOf(*communicator) != ncclInProgress; });
  return StateOf(*communicator);
}

bool Blocks(const ncclConfig_t* config) { return config == nullptr || config->blocking != 0; }

// Makes the parts, once all ranks have said to which they belong.
void Divide(const SplitRound& round) {
  std::map<int, std::vector<SplitRound::Wish>> parts;
  for (const SplitRound::Wish& wish : round.wishes) {
    if (wish.colour != NCCL_SPLIT_NOCOLOR) parts[wish.colour].push_back(wish);
  }
  for (auto& [colour, members] : parts) {
    std::sort(members.begin(), members.end(), [](const SplitRound::Wish& a, const SplitRound::Wish& b) {
      return std::pair(a.key, a.rank) < std::pair(b.key, b.rank);
    });
    const auto clique = std::make_shared<Clique>(static_cast<int>(members.size()));
    for (size_t i = 0; i < members.size(); ++i) {
      clique->Join(static_cast<int>(i), members[i].device);
      members[i].part->rank = static_cast<int>(i);
      members[i].part->clique = clique;
    }
  }
}

struct Grouped {
  ncclComm_t communicator;
  cudaStream_t stream;
  Call call;
};
thread_local int group_depth = 0;
thread_local std::vector<Grouped> grouped;

// The rank on this device is gone: the others learn this when they wait for it, and it does nothing more.
[[noreturn]] void BeGone(ncclComm_t communicator, std::unique_lock<std::mutex>& lock) {
  NcclChanged().wait(lock, [&] { return communicator->clique->OthersWaitFor(communicator->rank); });
  communicator->clique->Fail(ncclRemoteError);
  NcclChanged().notify_all();
  while (true) NcclChanged().wait(lock);
}

// Makes the calls known to the others, and returns what waits until all are done.
std::function<void()> Begin(const std::vector<Grouped>& calls) {
  std::unique_lock<std::mutex> lock(NcclMutex());
  const auto posted = std::make_shared<std::vector<std::pair<ncclComm_t, std::shared_ptr<Posted>>>>();
  for (const Grouped& grouped_call : calls) {
    ncclComm& communicator = *grouped_call.communicator;
    if (HasFault("gone", communicator.device)) BeGone(&communicator, lock);
    if (++communicator.collectives == 2 && HasFault("late", communicator.device)) {
      while (true) NcclChanged().wait(lock);
    }
    posted->emplace_back(&communicator, communicator.clique->Post(communicator.rank, grouped_call.call));
  }
  NcclChanged().notify_all();
  return [posted] {
    std::unique_lock<std::mutex> waiting(NcclMutex());
    for (const auto& [communicator, one] : *posted) {
      const auto ended = [communicator = communicator, one = one] {
        return one->done || communicator->aborted || StateOf(*communicator) != ncclSuccess;
      };
      NcclChanged().wait(waiting, ended);
    }
    posted->clear();  // When it is called again, the communicators may be gone.
  };
}

ncclResult_t EndGroup() {
  std::vector<Grouped> calls;
  calls.swap(grouped);
  if (calls.empty()) return ncclSuccess;
  // The calls of each communicator are in order; those of one stream are one piece of its work.
  const cudaStream_t stream = calls.front().stream;
  bool blocking = true;
  for (const Grouped& call : calls) {
    blocking = blocking && call.communicator->blocking;
    if (call.stream != stream) return ncclInvalidUsage;
  }
  const bool only_sends =
      std::all_of(calls.begin(), calls.end(), [](const Grouped& own) { return own.call.kind == CallKind::kSend; });
  // What a rank only sends is awaited when somebody needs its end: until then the rank may have to do other things.
  const cudaError_t error = only_sends ? StandInBegin(stream, [calls] { return Begin(calls); })
                                       : StandInEnqueue(stream, [calls] { Begin(calls)(); });
  if (error != cudaSuccess) return ncclUnhandledCudaError;
  if (!blocking) return ncclInProgress;
  const std::lock_guard<std::mutex> lock(NcclMutex());
  for (const Grouped& call : calls) {
    if (const ncclResult_t state = StateOf(*call.communicator); state != ncclSuccess) return state;
  }
  return ncclSuccess;
}

ncclResult_t Ask(ncclComm_t communicator, cudaStream_t stream, const Call& call) {
  if (communicator == nullptr) return ncclInvalidArgument;
  {
    const std::lock_guard<std::mutex> lock(NcclMutex());
    if (communicator->aborted || communicator->finalized || StateOf(*communicator) == ncclInProgress) {
      return ncclInvalidArgument;
    }
    if (call.peer < 0 || call.peer >= communicator->clique->ranks()) return ncclInvalidArgument;
  }
  grouped.push_back({communicator, stream, call});
  return group_depth > 0 ? ncclSuccess : EndGroup();
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  const char* const wish = std::getenv("NCCL_STAND_IN_VERSION");
  *version = HasFault("version", CurrentDevice()) ? 22703 : wish != nullptr ? std::atoi(wish) : 22809;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int jobs = 0;
  const std::lock_guard<std::mutex> lock(NcclMutex());
  std::memset(id->internal, 0, sizeof id->internal);
  std::snprintf(id->internal, sizeof id->internal, "job %d", ++jobs);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  *communicator = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  std::unique_lock<std::mutex> lock(NcclMutex());
  std::shared_ptr<Clique>& clique = Jobs()[id.internal];
  if (clique == nullptr) clique = std::make_shared<Clique>(ranks);
  if (clique->ranks() != ranks) return ncclInvalidArgument;
  *communicator = new ncclComm;
  (*communicator)->clique = clique;
  (*communicator)->rank = rank;
  (*communicator)->device = CurrentDevice();
  (*communicator)->blocking = Blocks(config);
  if (!HasFault("absent", CurrentDevice())) clique->Join(rank, CurrentDevice());
  return Answer(*communicator, lock);
}

ncclResult_t ncclCommSplit(ncclComm_t communicator, int colour, int key, ncclComm_t* part, ncclConfig_t* config) {
  std::unique_lock<std::mutex> lock(NcclMutex());
  *part = nullptr;
  if (StateOf(*communicator) != ncclSuccess) return ncclInvalidArgument;
  if (colour != NCCL_SPLIT_NOCOLOR) {
    *part = new ncclComm;
    (*part)->device = communicator->device;
    (*part)->blocking = Blocks(config);
  }
  std::map<int, SplitRound>& rounds = Rounds()[communicator->clique.get()];
  SplitRound& round = rounds[communicator->splits];
  round.wishes.push_back({colour, key, communicator->rank, communicator->device, *part});
  if (static_cast<int>(round.wishes.size()) == communicator->clique->ranks()) {
    Divide(round);
    rounds.erase(communicator->splits);
  }
  ++communicator->splits;
  if (*part == nullptr) return ncclSuccess;
  return Answer(*part, lock);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  if (communicator == nullptr) return ncclInvalidArgument;
  const std::lock_guard<std::mutex> lock(NcclMutex());
  if (communicator->collectives > 0 && ++communicator->looks > 1 && HasFault("broken", communicator->device)) {
    communicator->failure = ncclSystemError;
  }
  *state = StateOf(*communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  const std::lock_guard<std::mutex> lock(NcclMutex());
  if (StateOf(*communicator) != ncclSuccess) return ncclInvalidArgument;
  communicator->finalized = true;
  return communicator->blocking ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  {
    const std::lock_guard<std::mutex> lock(NcclMutex());
    communicator->aborted = true;
    if (communicator->clique != nullptr) communicator->clique->Fail(ncclRemoteError);
  }
  NcclChanged().notify_all();
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group_depth == 0) return ncclInvalidUsage;
  return --group_depth > 0 ? ncclSuccess : EndGroup();
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t communicator, cudaStream_t stream) {
  return Ask(communicator, stream, {CallKind::kAllReduce, send, receive, count, type, operation, 0});
}

ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                        int root, ncclComm_t communicator, cudaStream_t stream) {
  return Ask(communicator, stream, {CallKind::kReduce, send, receive, count, type, operation, root});
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  return Ask(communicator, stream, {CallKind::kBroadcast, send, receive, count, type, ncclSum, root});
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
  return Ask(communicator, stream, {CallKind::kAllGather, send, receive, count, type, ncclSum, 0});
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  return Ask(communicator, stream, {CallKind::kReduceScatter, send, receive, count, type, operation, 0});
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return Ask(communicator, stream, {CallKind::kSend, send, nullptr, count, type, ncclSum, peer});
}

ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return Ask(communicator, stream, {CallKind::kReceive, nullptr, receive, count, type, ncclSum, peer});
}
