#include "runtime/measure/links.h"

#include <algorithm>

#include "runtime/device/bfloat16.h"
#include "runtime/math/math.h"
#include "runtime/measure/loops.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kFewestBytes = 1 << 10;
constexpr int64_t kAlwaysMeasured = 64 << 10;  // However long it takes: a link is fitted to several sizes.

// Memory for what is sent, and for what arrives.
struct Halves {
  float* source;
  float* target;
  int64_t bytes;  // Of each.
};

Halves HalvesOf(const Arena& arena) {
  const int64_t bytes = arena.bytes() / 2 / Arena::kAlignment * Arena::kAlignment;
  return {arena.At<float>(0), arena.At<float>(bytes), bytes};
}

// Adding zeros leaves zeros, however often.
void Call(Comm& comm, CollectiveKind kind, int64_t bytes, const Halves& memory, const Group& group) {
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
  const Cut cut = {0, PieceSizes(count, group.size)};
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return comm.AllReduce(memory.source, count, Reduction::kSum, group);
    case CollectiveKind::kAllGather:
      return comm.AllGather(memory.source, memory.target, {count}, cut, group);
    case CollectiveKind::kReduceScatter:
      return comm.ReduceScatter(memory.source, memory.target, {count}, cut, Reduction::kSum, group);
    case CollectiveKind::kAllToAll: {
      // Rows are cut before, and columns after.
      constexpr int64_t kRows = 16;
      const int64_t columns = count / kRows;
      return comm.AllToAll(memory.source, memory.target, {kRows * group.size, columns},
                           {0, PieceSizes(kRows * group.size, group.size)}, {1, PieceSizes(columns, group.size)},
                           group);
    }
    case CollectiveKind::kBroadcast:
      return comm.Broadcast(memory.source, count, 0, group);
    case CollectiveKind::kPermute:
      return comm.Permute(memory.source, count, (group.index + 1) % group.size, memory.target, count,
                          (group.index + group.size - 1) % group.size, group);
    case CollectiveKind::kNeighborExchange:
    case CollectiveKind::kSendReceive:
    case CollectiveKind::kNeighborExchangeV2:
    case CollectiveKind::kBarrier:
      return;  // They send what a permutation sends, or nothing.
  }
}

class LinkTimes {
 public:
  LinkTimes(Comm& comm, const Arena& arena, Pace& pace) : comm_(comm), memory_(HalvesOf(arena)), pace_(pace) {}

  // Groups over the last axes of [begin, end): of the innermost one, then of two, and so on.
  void MeasureGroups(const char* link, int begin, int end) {
    std::vector<int> axes;
    for (int axis = end - 1; axis >= begin; --axis) {
      axes.insert(axes.begin(), axis);
      MeasureGroup(link, comm_.CreateGroup(axes));
    }
  }

  void MeasureGroup(const char* link, const Group& group) {
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
      MeasureSizes(link, kind, 2, group);
    }
    for (const CollectiveKind kind :
         {CollectiveKind::kAllToAll, CollectiveKind::kBroadcast, CollectiveKind::kPermute}) {
      MeasureSizes(link, kind, 8, group);
    }
  }

 private:
  // Sizes that grow by the factor `step`.
  void MeasureSizes(const char* link, CollectiveKind kind, int64_t step, const Group& group) {
    for (int64_t bytes = kFewestBytes; bytes <= memory_.bytes; bytes *= step) {
      const bool has_time = pace_.Time(
          {CollectiveKindName(kind), link, group.size, bytes}, static_cast<double>(step),
          [&] { Call(comm_, kind, bytes, memory_, group); }, comm_.IsRecordable());
      if (bytes >= kAlwaysMeasured && !has_time) break;
    }
  }

  Comm& comm_;
  const Halves memory_;
  Pace& pace_;
};

}  // namespace

void MeasureLinks(const MeasuredMachines& machines, Comm& comm, const Arena& arena, Pace& pace) {
  LinkTimes links(comm, arena, pace);
  const int first = static_cast<int>(machines.network.size()), end = static_cast<int>(comm.mesh().size());
  links.MeasureGroups("host", first, end);
  links.MeasureGroups("network", 0, first);
  if (first > 0 && first < end) links.MeasureGroup("all", comm.world());
}

void MeasureOverlap(Comm& comm, const Arena& arena, Pace& pace, int64_t& products) {
  if (comm.world().size == 1) return;
  // A quarter of the memory is sent, the rest is multiplied.
  const int64_t sent = arena.bytes() / 4 / Arena::kAlignment * Arena::kAlignment;
  float* const message = arena.At<float>(0);
  const auto send = [&] {
    comm.AllReduce(message, sent / static_cast<int64_t>(sizeof(float)), Reduction::kSum, comm.world());
  };
  int64_t edge = 8;
  while (edge < 2048 && 3 * 4 * edge * edge * static_cast<int64_t>(sizeof(BFloat16)) <= arena.bytes() - sent) edge *= 2;
  BFloat16* const a = arena.At<BFloat16>(sent);
  FillMixed(2 * edge * edge, a);
  const auto multiply = [&] {
    MatMul({.m = edge, .n = edge, .k = edge, .transpose_b = true}, a, a + edge * edge, a + 2 * edge * edge);
  };
  const int ranks = comm.world().size;
  // Products that take half as long again as what is sent beside them.
  if (products == 0) {
    const double ratio = 1.5 * pace.Once(send) / pace.Once(multiply);
    products = std::clamp<int64_t>(static_cast<int64_t>(ratio) + 1, 1, 256);
  }
  const auto compute = [&] {
    for (int64_t i = 0; i < products; ++i) multiply();
  };
  const auto both = [&] {
    Pending pending = comm.Overlap(send);
    compute();
    comm.Finish(pending);
  };
  pace.Time({"overlap", "communication", ranks, sent}, 1, send, comm.IsRecordable());
  pace.Time({"overlap", "computation", ranks, sent}, 1, compute);
  pace.Time({"overlap", "both", ranks, sent}, 1, both, comm.IsRecordable());
}

}  // namespace cleave::runtime
