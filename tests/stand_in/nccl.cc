// The calls of the stand-in for NCCL. Those between the start and the end of a group, or one by itself, become one
// AskedCalls (EndGroup): their memory is checked, and the host comes to them. When NCCL has taken them (Give), at once
// or when the communicator's state is asked for, the stream gets them as one piece of work. When the device comes to
// that (Begin), they are known to the other ranks, and it ends when the last of these has come (nccl_clique.cc).
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory.h"
#include "nccl_clique.h"
#include "schedule.h"

using stand_in::Call;
using stand_in::CallKind;
using stand_in::Clique;
using stand_in::IsMessage;
using stand_in::NcclChanged;
using stand_in::NcclMutex;
using stand_in::Posted;
using stand_in::RefuseCalls;

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

// Calls of a group that belong together as one piece of work of a stream, from the end of the group until NCCL has
// taken them.
struct AskedCalls;

struct ncclComm {
  std::shared_ptr<Clique> clique;  // Null until all ranks have come to the division that makes it.
  int rank = 0;
  int device = 0;
  bool blocking = true;
  bool aborted = false;
  bool finalized = false;
  ncclResult_t failure = ncclSuccess;  // Of this rank alone.
  int splits = 0;                      // Divisions that this rank has come to.
  std::shared_ptr<AskedCalls> asked;   // What NCCL has not taken yet.
  std::map<const char*, size_t> registered;
  bool has_asked = false;  // For a collective or message, ever.
  int unfinished = 0;      // Pieces of work that a stream was given, outside of graphs.
  int running = 0;         // Pieces of work that the device has begun and not ended.
  int collectives = 0;     // Calls that the device has begun.
  int looks = 0;           // How often its state was asked for since the first of them.
  // Held by graphs, too, in which its work is recorded.
  std::shared_ptr<int> recorded = std::make_shared<int>(0);

  bool HasRegistered(const void* place) const {
    const auto* const at = static_cast<const char*>(place);
    const auto after = registered.upper_bound(at);
    return after != registered.begin() && at < std::prev(after)->first + std::prev(after)->second;
  }
  bool IsInUse() const { return unfinished > 0 || recorded.use_count() > 1; }
};

using Communicator = std::shared_ptr<ncclComm>;

struct Grouped {
  Communicator communicator;
  cudaStream_t stream;
  Call call;
};

struct AskedCalls {
  std::vector<Grouped> calls;
  int looks = 0;  // At a state of a communicator, since it was asked for.
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

// All that were made and not destroyed.
std::map<ncclComm_t, Communicator>& Alive() {
  static auto& alive = *new std::map<ncclComm_t, Communicator>;
  return alive;
}

Communicator NewCommunicator(int device, const ncclConfig_t* config) {
  const auto made = std::make_shared<ncclComm>();
  made->device = device;
  made->blocking = config == nullptr || config->blocking != 0;
  return Alive()[made.get()] = made;
}

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

thread_local int group_depth = 0;
thread_local std::vector<Grouped> grouped;

Communicator Find(ncclComm_t communicator) {
  const auto found = Alive().find(communicator);
  if (found == Alive().end()) RefuseCalls("a communicator is used that there is not, or that was destroyed");
  return found->second;
}

// The rank on this device is gone: the others learn this when they wait for it, and it does nothing more.
[[noreturn]] void BeGone(const ncclComm& communicator, std::unique_lock<std::mutex>& lock) {
  NcclChanged().wait(lock, [&] { return communicator.clique->OthersWaitFor(communicator.rank); });
  communicator.clique->Fail(ncclRemoteError);
  NcclChanged().notify_all();
  while (true) NcclChanged().wait(lock);
}

std::vector<Communicator> CommunicatorsOf(const std::vector<Grouped>& calls) {
  std::vector<Communicator> all;
  for (const Grouped& own : calls) {
    if (std::count(all.begin(), all.end(), own.communicator) == 0) all.push_back(own.communicator);
  }
  return all;
}

// The device comes to the calls: makes them known to the others, and returns what says whether all are done.
stand_in::HasEnded Begin(const std::vector<Grouped>& calls, bool is_recorded) {
  const std::lock_guard<std::mutex> lock(NcclMutex());
  const auto posted = std::make_shared<std::vector<std::pair<Communicator, std::shared_ptr<Posted>>>>();
  for (const Communicator& communicator : CommunicatorsOf(calls)) {
    if (communicator->running++ > 0) RefuseCalls("nothing orders two pieces of work of a communicator");
  }
  for (const Grouped& own : calls) {
    ncclComm& communicator = *own.communicator;
    if (++communicator.collectives == 2 && HasFault("late", communicator.device)) return [] { return false; };
    posted->emplace_back(own.communicator, communicator.clique->Post(communicator.rank, own.call));
  }
  return [posted, is_recorded] {
    const std::lock_guard<std::mutex> looking(NcclMutex());
    for (const auto& [communicator, one] : *posted) {
      if (!one->done && !communicator->aborted && StateOf(*communicator) == ncclSuccess) return false;
    }
    std::vector<Communicator> seen;
    for (const auto& [communicator, one] : *posted) {
      if (std::count(seen.begin(), seen.end(), communicator) > 0) continue;
      seen.push_back(communicator);
      --communicator->running;
      if (!is_recorded) --communicator->unfinished;
    }
    return true;
  };
}

// Whether the ranks are connected that the calls need.
bool IsConnected(const AskedCalls& asked) {
  return std::all_of(asked.calls.begin(), asked.calls.end(), [](const Grouped& own) {
    return own.communicator->clique->IsConnected(own.communicator->rank, own.call);
  });
}

bool HasFailed(const AskedCalls& asked) {
  return std::any_of(asked.calls.begin(), asked.calls.end(),
                     [](const Grouped& own) { return StateOf(*own.communicator) != ncclSuccess; });
}

// Gives the stream what NCCL was asked for, once it may be given: from then on the communicators are free for the next
// call. Without the lock, as it may run work of the device.
void Give(const std::shared_ptr<AskedCalls>& asked, std::unique_lock<std::mutex>& lock) {
  const cudaStream_t stream = asked->calls.front().stream;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &status);
  const bool is_recorded = status != cudaStreamCaptureStatusNone;
  std::vector<std::shared_ptr<int>> recorded;
  for (const Communicator& communicator : CommunicatorsOf(asked->calls)) {
    communicator->asked = nullptr;
    if (is_recorded) {
      recorded.push_back(communicator->recorded);
    } else {
      ++communicator->unfinished;
    }
  }
  lock.unlock();
  const cudaError_t error =
      StandInBegin(stream, [calls = asked->calls, recorded, is_recorded] { return Begin(calls, is_recorded); });
  lock.lock();
  if (error == cudaSuccess) return;
  for (const Communicator& communicator : CommunicatorsOf(asked->calls)) communicator->failure = ncclUnhandledCudaError;
}

// What a rank receives must not be what another call of the group reads or writes, and in place means: as NCCL says.
void CheckMemory(const std::vector<Grouped>& calls) {
  struct Piece {
    const char* begin;
    size_t bytes;
    bool is_written;
    size_t call;
  };
  std::vector<Piece> pieces;
  for (size_t i = 0; i < calls.size(); ++i) {
    const ncclComm& communicator = *calls[i].communicator;
    const Call& call = calls[i].call;
    const stand_in::CallMemory memory = MemoryOf(call, communicator.rank, communicator.clique->ranks());
    if (memory.send_bytes > 0) pieces.push_back({memory.send, memory.send_bytes, false, i});
    const auto rank = static_cast<size_t>(communicator.rank);
    const bool in_place =
        call.kind == CallKind::kAllGather
            ? memory.send == memory.receive + rank * memory.send_bytes
            : (call.kind == CallKind::kReduceScatter ? memory.receive == memory.send + rank * memory.receive_bytes
                                                     : memory.send == memory.receive);
    if (in_place && memory.send_bytes > 0) pieces.pop_back();
    if (memory.receive_bytes > 0) pieces.push_back({memory.receive, memory.receive_bytes, true, i});
  }
  for (const Piece& piece : pieces) {
    if (!stand_in::IsOfDevice(piece.begin, piece.bytes)) RefuseCalls("a call has memory that is not the device's");
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool overlap =
          pieces[i].begin < pieces[j].begin + pieces[j].bytes && pieces[j].begin < pieces[i].begin + pieces[i].bytes;
      if (overlap && (pieces[i].is_written || pieces[j].is_written)) {
        RefuseCalls(pieces[i].call == pieces[j].call ? "what is sent and what is received overlap, and not in place"
                                                     : "calls of one group use the same memory");
      }
    }
  }
}

ncclResult_t EndGroup() {
  const auto asked = std::make_shared<AskedCalls>();
  asked->calls.swap(grouped);
  if (asked->calls.empty()) return ncclSuccess;
  const cudaStream_t stream = asked->calls.front().stream;
  for (const Grouped& own : asked->calls) {
    if (own.stream != stream) RefuseCalls("the calls of a group are on several streams, which is not done here");
  }
  CheckMemory(asked->calls);
  std::unique_lock<std::mutex> lock(NcclMutex());
  const std::vector<Communicator> communicators = CommunicatorsOf(asked->calls);
  for (const Communicator& communicator : communicators) {
    if (!communicator->has_asked && HasFault("gone", communicator->device)) BeGone(*communicator, lock);
    communicator->has_asked = true;
    communicator->asked = asked;
  }
  for (const Grouped& own : asked->calls) own.communicator->clique->Arrive(own.communicator->rank, own.call);
  NcclChanged().notify_all();
  const bool blocking = std::all_of(communicators.begin(), communicators.end(),
                                    [](const Communicator& communicator) { return communicator->blocking; });
  if (!blocking) return ncclInProgress;
  NcclChanged().wait(lock, [&] { return IsConnected(*asked) || HasFailed(*asked); });
  Give(asked, lock);
  for (const Communicator& communicator : communicators) {
    if (const ncclResult_t state = StateOf(*communicator); state != ncclSuccess) return state;
  }
  return ncclSuccess;
}

ncclResult_t Ask(ncclComm_t communicator, cudaStream_t stream, const Call& call) {
  if (communicator == nullptr) return ncclInvalidArgument;
  {
    const std::lock_guard<std::mutex> lock(NcclMutex());
    const Communicator found = Find(communicator);
    if (found->asked != nullptr) RefuseCalls("a call is made before the one before it is no longer in progress");
    if (found->aborted || found->finalized || StateOf(*found) == ncclInProgress) return ncclInvalidArgument;
    if (call.peer < 0 || call.peer >= found->clique->ranks()) return ncclInvalidArgument;
    if (IsMessage(call) && call.peer == found->rank) RefuseCalls("a rank sends to itself");
    if (call.count > 0) {
      grouped.push_back({found, stream, call});
      grouped.back().call.sends_registered = found->HasRegistered(call.send);
      grouped.back().call.receives_registered = found->HasRegistered(call.receive);
    }
  }
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
  return ncclCommInitRankScalable(communicator, ranks, rank, 1, &id, config);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* communicator, int ranks, int rank, int id_count, ncclUniqueId* ids,
                                      ncclConfig_t* config) {
  if (group_depth > 0) RefuseCalls("a communicator is made in a group, which is not done here");
  *communicator = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks || id_count < 1 || id_count > ranks) return ncclInvalidArgument;
  constexpr int kMostRanksOfAnId = 128;
  if ((ranks + id_count - 1) / id_count > kMostRanksOfAnId) RefuseCalls("so many ranks find each other by one id");
  std::string job = ";";
  for (int i = 0; i < id_count; ++i) {
    if (job.find(";" + std::string(ids[i].internal) + ";") != std::string::npos)
      RefuseCalls("two ids of a communicator are the same");
    job += ids[i].internal + std::string(";");
  }
  std::unique_lock<std::mutex> lock(NcclMutex());
  std::shared_ptr<Clique>& clique = Jobs()[job];
  if (clique == nullptr) clique = std::make_shared<Clique>(ranks);
  if (clique->ranks() != ranks) return ncclInvalidArgument;
  const Communicator made = NewCommunicator(CurrentDevice(), config);
  made->clique = clique;
  made->rank = rank;
  *communicator = made.get();
  if (!HasFault("absent", CurrentDevice())) clique->Join(rank, CurrentDevice());
  return Answer(*communicator, lock);
}

ncclResult_t ncclCommSplit(ncclComm_t communicator, int colour, int key, ncclComm_t* part, ncclConfig_t* config) {
  std::unique_lock<std::mutex> lock(NcclMutex());
  *part = nullptr;
  const Communicator whole = Find(communicator);
  if (whole->asked != nullptr) RefuseCalls("a communicator is divided while a call of it is in progress");
  if (StateOf(*whole) != ncclSuccess) return ncclInvalidArgument;
  if (colour != NCCL_SPLIT_NOCOLOR) *part = NewCommunicator(whole->device, config).get();
  std::map<int, SplitRound>& rounds = Rounds()[whole->clique.get()];
  SplitRound& round = rounds[whole->splits];
  round.wishes.push_back({colour, key, whole->rank, whole->device, *part});
  if (static_cast<int>(round.wishes.size()) == whole->clique->ranks()) {
    Divide(round);
    rounds.erase(whole->splits);
  }
  ++whole->splits;
  if (*part == nullptr) return ncclSuccess;
  return Answer(*part, lock);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  if (communicator == nullptr) return ncclInvalidArgument;
  std::unique_lock<std::mutex> lock(NcclMutex());
  const Communicator found = Find(communicator);
  if (found->collectives > 0 && ++found->looks > 1 && HasFault("broken", found->device)) {
    found->failure = ncclSystemError;
  }
  // With odd seeds, what was asked for takes at least two looks.
  if (const std::shared_ptr<AskedCalls> asked = found->asked;
      asked != nullptr && ++asked->looks > static_cast<int>(stand_in::Seed() % 2)) {
    if (HasFailed(*asked)) found->asked = nullptr;
    if (found->asked != nullptr && IsConnected(*asked)) Give(asked, lock);
    if (found->asked != nullptr) NcclChanged().wait_for(lock, std::chrono::milliseconds(1));
  }
  *state = StateOf(*found);
  if (*state == ncclSuccess && (found->asked != nullptr || (found->finalized && found->IsInUse()))) {
    *state = ncclInProgress;
  }
  return ncclSuccess;
}

// NCCL waits for all work of the communicator, and until no graph is left in which work of it is recorded.
ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  std::unique_lock<std::mutex> lock(NcclMutex());
  const Communicator found = Find(communicator);
  if (found->asked != nullptr || found->finalized || StateOf(*found) != ncclSuccess) return ncclInvalidArgument;
  found->finalized = true;
  if (!found->blocking) return ncclInProgress;
  while (found->unfinished > 0) {
    lock.unlock();
    stand_in::AwaitDevice(found->device);
    lock.lock();
  }
  if (found->IsInUse()) RefuseCalls("a communicator is finalized while there is a graph with work of it");
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  const std::lock_guard<std::mutex> lock(NcclMutex());
  const Communicator found = Find(communicator);
  if (found->IsInUse()) RefuseCalls("a communicator is destroyed while it has work, or a graph has work of it");
  Alive().erase(communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  {
    const std::lock_guard<std::mutex> lock(NcclMutex());
    const Communicator found = Find(communicator);
    if (found->recorded.use_count() > 1) RefuseCalls("to abort waits for ever: there is a graph with work of it");
    found->aborted = true;
    if (found->clique != nullptr) found->clique->Fail(ncclRemoteError);
    Alive().erase(communicator);
  }
  NcclChanged().notify_all();
  stand_in::WakeWaiting();
  return ncclSuccess;
}

ncclResult_t ncclMemAlloc(void** memory, size_t bytes) {
  return cudaMalloc(memory, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void* memory) {
  {
    const std::lock_guard<std::mutex> lock(NcclMutex());
    for (const auto& [handle, communicator] : Alive()) {
      if (communicator->HasRegistered(memory)) RefuseCalls("memory is freed that is registered");
    }
  }
  return cudaFree(memory) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclCommRegister(ncclComm_t communicator, void* memory, size_t bytes, void** handle) {
  const std::lock_guard<std::mutex> lock(NcclMutex());
  const Communicator found = Find(communicator);
  if (!stand_in::IsOfDevice(memory, bytes)) return ncclInvalidArgument;
  if (HasFault("register", found->device)) return ncclSystemError;
  found->registered[static_cast<const char*>(memory)] = bytes;
  *handle = memory;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(ncclComm_t communicator, void* handle) {
  const std::lock_guard<std::mutex> lock(NcclMutex());
  return Find(communicator)->registered.erase(static_cast<const char*>(handle)) == 1 ? ncclSuccess : ncclInvalidUsage;
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
