// What ranks know of each other: who has joined, whose host has come to a call, whose device has. The device that comes
// last to a collective computes it for all (Run), and the second of a message copies it (Match).
#include "nccl_clique.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "low_precision.h"
#include "schedule.h"

namespace stand_in {
namespace {

size_t SizeOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return 1;
    case ncclInt32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclFloat64:
      return 8;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclNumTypes:
      break;
  }
  RefuseCalls("an unknown data type");
}

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};
float Wide(Bf16 x) { return FromBFloat16(x.bits); }
float Wide(F16 x) { return FromFloat16(x.bits); }
template <typename T>
T Wide(T x) {
  return x;
}
template <typename T, typename U>
T Narrow(U x) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return Bf16{ToBFloat16(x)};
  } else if constexpr (std::is_same_v<T, F16>) {
    return F16{ToFloat16(x)};
  } else {
    return x;
  }
}

template <typename T>
T Combine(ncclRedOp_t operation, T a, T b) {
  switch (operation) {
    case ncclSum:
      return a + b;
    case ncclProd:
      return a * b;
    case ncclMax:
      return b != b || a > b ? a : b;  // Without NaNs, as NCCL's.
    case ncclMin:
      return b != b || a < b ? a : b;
    case ncclNumOps:
      break;
  }
  RefuseCalls("an unknown operation");
}

// Reduces element by element, in the order of ranks, with rounding at every step.
template <typename T>
void ReduceOf(const std::vector<const void*>& sources, size_t count, ncclRedOp_t operation, void* target) {
  for (size_t i = 0; i < count; ++i) {
    T value = static_cast<const T*>(sources[0])[i];
    for (size_t rank = 1; rank < sources.size(); ++rank) {
      value = Narrow<T>(Combine(operation, Wide(value), Wide(static_cast<const T*>(sources[rank])[i])));
    }
    static_cast<T*>(target)[i] = value;
  }
}

std::vector<char> Reduced(const std::vector<const void*>& sources, size_t count, ncclDataType_t type,
                          ncclRedOp_t operation) {
  std::vector<char> result(count * SizeOf(type));
  switch (type) {
    case ncclInt8:
      ReduceOf<int8_t>(sources, count, operation, result.data());
      break;
    case ncclInt32:
      ReduceOf<int32_t>(sources, count, operation, result.data());
      break;
    case ncclFloat32:
      ReduceOf<float>(sources, count, operation, result.data());
      break;
    case ncclInt64:
      ReduceOf<int64_t>(sources, count, operation, result.data());
      break;
    case ncclFloat64:
      ReduceOf<double>(sources, count, operation, result.data());
      break;
    case ncclBfloat16:
      ReduceOf<Bf16>(sources, count, operation, result.data());
      break;
    case ncclFloat16:
      ReduceOf<F16>(sources, count, operation, result.data());
      break;
    case ncclNumTypes:
      break;
  }
  return result;
}

void CopyTo(void* target, const void* source, size_t bytes) {
  if (bytes > 0) std::memmove(target, source, bytes);
}

void Run(const std::vector<std::shared_ptr<Posted>>& posted) {
  const Call& first = posted[0]->call;
  const size_t ranks = posted.size();
  const size_t bytes = first.count * SizeOf(first.type);
  std::vector<const void*> sources;
  for (const auto& one : posted) {
    const Call& call = one->call;
    if (call.kind != first.kind || call.count != first.count || call.type != first.type ||
        call.operation != first.operation || call.peer != first.peer) {
      RefuseCalls("the ranks of a communicator make different calls");
    }
    if (call.sends_registered != first.sends_registered || (call.receive != nullptr && first.receive != nullptr &&
                                                            call.receives_registered != first.receives_registered)) {
      RefuseCalls("the memory of some ranks is registered, and that of others is not");
    }
    sources.push_back(call.send);
  }
  const Call& at_root = posted[static_cast<size_t>(first.peer)]->call;
  switch (first.kind) {
    case CallKind::kAllReduce: {
      const std::vector<char> sum = Reduced(sources, first.count, first.type, first.operation);
      for (const auto& one : posted) CopyTo(one->call.receive, sum.data(), bytes);
      break;
    }
    case CallKind::kReduce: {
      const std::vector<char> sum = Reduced(sources, first.count, first.type, first.operation);
      CopyTo(at_root.receive, sum.data(), bytes);
      break;
    }
    case CallKind::kBroadcast:
      for (const auto& one : posted) CopyTo(one->call.receive, at_root.send, bytes);
      break;
    case CallKind::kAllGather:
      for (const auto& one : posted) {
        for (size_t i = 0; i < ranks; ++i) CopyTo(static_cast<char*>(one->call.receive) + i * bytes, sources[i], bytes);
      }
      break;
    case CallKind::kReduceScatter: {
      const std::vector<char> sum = Reduced(sources, first.count * ranks, first.type, first.operation);
      for (size_t i = 0; i < ranks; ++i) CopyTo(posted[i]->call.receive, sum.data() + i * bytes, bytes);
      break;
    }
    case CallKind::kSend:
    case CallKind::kReceive:
      break;
  }
  for (const auto& one : posted) one->done = true;
}

// As NCCL does from 2.30 on where it is asked to.
bool DevicesMayBeShared() {
  constexpr int kSharing = 23000;
  const char* const wish = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  int version = 0;
  ncclGetVersion(&version);
  return version >= kSharing && wish != nullptr && std::strcmp(wish, "1") == 0;
}

}  // namespace

void RefuseCalls(const char* what) {
  std::fprintf(stderr, "NCCL stand-in, seed %llu: %s\n", static_cast<unsigned long long>(Seed()), what);
  std::abort();
}

CallMemory MemoryOf(const Call& call, int rank, int ranks) {
  const size_t bytes = call.count * SizeOf(call.type);
  const size_t all = bytes * static_cast<size_t>(ranks);
  CallMemory memory = {static_cast<const char*>(call.send), bytes, static_cast<const char*>(call.receive), bytes};
  if (call.kind == CallKind::kAllGather) memory.receive_bytes = all;
  if (call.kind == CallKind::kReduceScatter) memory.send_bytes = all;
  if (call.kind == CallKind::kReduce && rank != call.peer) memory.receive = nullptr;
  if (call.kind == CallKind::kBroadcast && rank != call.peer) memory.send = nullptr;
  if (call.kind == CallKind::kSend) memory.receive = nullptr;
  if (call.kind == CallKind::kReceive) memory.send = nullptr;
  if (memory.send == nullptr) memory.send_bytes = 0;
  if (memory.receive == nullptr) memory.receive_bytes = 0;
  return memory;
}

std::mutex& NcclMutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

std::condition_variable& NcclChanged() {
  static std::condition_variable& changed = *new std::condition_variable;
  return changed;
}

void Clique::Join(int rank, int device) {
  int& place = devices_[static_cast<size_t>(rank)];
  if (place != kNobody) RefuseCalls("two ranks of a communicator have the same number");
  const bool is_duplicate = std::count(devices_.begin(), devices_.end(), device) > 0;
  if (is_duplicate && !DevicesMayBeShared()) Fail(ncclInvalidUsage);
  place = device;
}

bool Clique::IsComplete() const { return std::count(devices_.begin(), devices_.end(), kNobody) == 0; }

std::shared_ptr<Posted> Clique::Post(int rank, const Call& call) {
  auto posted = std::make_shared<Posted>(Posted{call, false});
  if (IsMessage(call)) {
    const std::pair<int, int> way = WayOf(rank, call);
    (call.kind == CallKind::kSend ? sends_ : receives_)[way].push_back(posted);
    Match(sends_[way], receives_[way]);
    return posted;
  }
  const uint64_t number = calls_made_[static_cast<size_t>(rank)]++;
  Collective& collective = under_way_[number];
  collective.resize(devices_.size());
  collective[static_cast<size_t>(rank)] = posted;
  if (std::count(collective.begin(), collective.end(), nullptr) == 0) {
    Run(collective);
    under_way_.erase(number);
  }
  return posted;
}

std::pair<int, int> Clique::WayOf(int rank, const Call& call) {
  return call.kind == CallKind::kSend ? std::pair(rank, call.peer) : std::pair(call.peer, rank);
}

void Clique::Arrive(int rank, const Call& call) {
  if (!IsMessage(call)) {
    arrived_.insert(rank);
  } else {
    (call.kind == CallKind::kSend ? senders_ : receivers_).insert(WayOf(rank, call));
  }
}

bool Clique::IsConnected(int rank, const Call& call) const {
  if (!IsMessage(call)) return arrived_.size() == devices_.size();
  const std::pair<int, int> way = WayOf(rank, call);
  return senders_.count(way) > 0 && receivers_.count(way) > 0;
}

bool Clique::OthersWaitFor(int rank) const { return arrived_.size() - arrived_.count(rank) + 1 == devices_.size(); }

void Clique::Match(std::deque<std::shared_ptr<Posted>>& sends, std::deque<std::shared_ptr<Posted>>& receives) {
  while (!sends.empty() && !receives.empty()) {
    const Call& send = sends.front()->call;
    const Call& receive = receives.front()->call;
    if (send.count != receive.count || send.type != receive.type) {
      RefuseCalls("a message is sent with another count or type than it is received with");
    }
    CopyTo(receive.receive, send.send, send.count * SizeOf(send.type));
    sends.front()->done = receives.front()->done = true;
    sends.pop_front();
    receives.pop_front();
  }
}

}  // namespace stand_in
