// Collectives between the ranks of a mesh. The implementation is linked: runtime/comm/mpi, runtime/comm/gloo or
// runtime/comm/local, and, where tensors lie on GPUs, what runs there (runtime/comm/README.md).
//
//   const Group rows = comm.CreateGroup({0, 1});                      // The ranks that differ only on axes 0 and 1.
//   comm.AllReduce(gradients, 400000, Reduction::kSum, rows);
//   // x: this rank's rows of a 256x512 tensor; y: all of them.
//   comm.AllGather(x, y, {256, 512}, {.dimension = 0, .sizes = PieceSizes(256, 4)}, rows);
//
// All members of a group call the same collectives in the same order with the same shapes. Tensors are row-major and
// contiguous; pieces may differ in size and be empty. Elements are float, double, int32_t, BFloat16 or Float16 (sums of
// which may be rounded at every addition). In a group of one rank everything is a local copy. A count above 2^31 - 1
// elements, or a failure in the library below, ends the job with exit code 6 and a message that names op and rank.
// Called by one thread only.
//
// On a GPU a call only adds the collective to the work of the communication stream. It runs when all kernels that were
// launched before it have ended, and kernels that are launched after it wait for it, unless it is part of an Overlap.
#ifndef CLEAVE_RUNTIME_COMM_COMM_H_
#define CLEAVE_RUNTIME_COMM_COMM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/streams.h"
#include "runtime/error/error.h"
#include "runtime/mesh/mesh.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

enum class Reduction { kSum, kMax, kMin, kProd };

enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kPermute,
  kNeighborExchange,
  kSendReceive,
  kNeighborExchangeV2,
  kBarrier
};
constexpr int kCollectiveKinds = 10;
const char* CollectiveKindName(CollectiveKind kind);  // "all_reduce"

// Ranks that communicate. Members are numbered row-major over the axes the group was made of, in the order given there.
struct Group {
  int id = 0;
  int size = 1;
  int index = 0;  // This rank's number in it.
};

// How a group's members share a dimension: member i holds sizes[i] consecutive elements of it, and they follow those of
// the member before it.
struct Cut {
  int dimension = 0;
  std::vector<int64_t> sizes;
};

// One tensor of several that are gathered or scattered in one call; arguments as in the calls for one.
template <typename T>
struct Gathered {
  const T* piece;
  T* whole;
  std::vector<int64_t> shape;
  Cut cut;
};
template <typename T>
struct Scattered {
  const T* whole;
  T* piece;
  std::vector<int64_t> shape;
  Cut cut;
};

// What a rank sends to each member of a group, itself included, and what it receives from each: regions of the tensor
// that it has, and of the tensor that it gets. A member receives from another exactly what that member sends to it.
struct Exchange {
  std::vector<int64_t> source_shape;
  std::vector<int64_t> target_shape;
  std::vector<Region> sends;     // By member, in the source.
  std::vector<Region> receives;  // By member, in the target.
};

// A message between this rank and one member: the next `count` elements of the tensor that is sent or received.
struct Message {
  int member = -1;  // -1: no member; zeros are received.
  int64_t count = 0;
};

// Between which members of a group there are Sends: who sends, and who takes.
struct Way {
  int from = 0;
  int to = 0;

  bool operator==(const Way& other) const { return from == other.from && to == other.to; }
};

// Where a rank keeps what it sends to a member until that has taken it.
struct Outbox {
  int group = 0;  // Group::id.
  int member = 0;
  int box = 0;

  bool operator<(const Outbox& other) const {
    return std::tie(group, member, box) < std::tie(other.group, other.member, other.box);
  }
};

// What was communicated: calls; bytes of the full tensors (per-rank input of an all_reduce, reduce_scatter, all_to_all,
// permute, per-rank output of an all_gather, the tensor of a broadcast); bytes this rank sent, by the usual algorithms
// (2(n-1)/n of an all_reduce, (n-1)/n of the others); seconds that the rank spent, waiting included, but not those in
// which it computed beside it.
struct Traffic {
  int64_t count = 0;
  int64_t bytes = 0;
  double sent_bytes = 0;
  double seconds = 0;
};

// This rank's number according to the environment, before the job has been joined; nullopt where the environment does
// not say it, as in a program that was started alone.
std::optional<int> RankFromEnvironment();

// A Send or a Receive of a pass.
struct MessageEvent {
  bool is_sent = false;
  int group = 0;  // Group::id.
  int member = 0;
  int box = 0;             // Of a Send.
  bool is_behind = false;  // Of a Receive: behind other work of the pass.
};
inline MessageEvent Sends(int member, int box, const Group& group) { return {true, group.id, member, box}; }
inline MessageEvent Takes(int member, const Group& group) { return {false, group.id, member}; }
inline MessageEvent TakesBehind(int member, const Group& group) { return {false, group.id, member, 0, true}; }

struct MessagePlan;  // runtime/comm/message_plan.h

class Comm {
 public:
  // Joins the job. An Error, which one rank has printed, on all ranks: exit code 3 when the number of ranks that were
  // started is not the mesh's, others where ranks cannot meet. Started alone, a mesh of one rank works, with no message
  // passing at all. `watch` must outlive the Comm.
  static Result<std::unique_ptr<Comm>> Start(const Mesh& mesh, Watch& watch);

  // Leaves the job. Every rank must get here, or none.
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  int rank() const;
  const Mesh& mesh() const;
  int ranks_on_this_host() const;
  int ranks_in_this_process() const;
  const Group& world() const;  // All ranks.

  // The ranks that differ from this one only on the given mesh axes (their positions in the mesh). Called by all ranks.
  // The same axes in the same order and the same lane give the same group again. `ways`: those of its members' Sends,
  // the same on all ranks. Messages of different lanes may be taken in another order than they are sent.
  Group CreateGroup(const std::vector<int>& axes, const std::vector<Way>& ways = {}, int lane = 0);

  // data = reduction of all members' data, element by element, in place.
  template <typename T>
  void AllReduce(T* data, int64_t count, Reduction reduction, const Group& group) {
    AllReduceOf(ElementTypeOf<T>(), data, count, reduction, group);
  }

  // `piece` is this member's part, by `cut`, of a tensor of shape `shape`; `whole` becomes that tensor.
  template <typename T>
  void AllGather(const T* piece, T* whole, const std::vector<int64_t>& shape, const Cut& cut, const Group& group) {
    AllGatherOf(ElementTypeOf<T>(), {{piece, whole, shape, cut}}, group);
  }

  // The same for several tensors at once: one message for all.
  template <typename T>
  void AllGather(const std::vector<Gathered<T>>& tensors, const Group& group) {
    std::vector<Part> parts;
    for (const Gathered<T>& tensor : tensors) parts.push_back({tensor.piece, tensor.whole, tensor.shape, tensor.cut});
    AllGatherOf(ElementTypeOf<T>(), parts, group);
  }

  // `whole` is this member's contribution, of shape `shape`; `piece` becomes this member's part, by `cut`, of the
  // reduction.
  template <typename T>
  void ReduceScatter(const T* whole, T* piece, const std::vector<int64_t>& shape, const Cut& cut, Reduction reduction,
                     const Group& group) {
    ReduceScatterOf(ElementTypeOf<T>(), {{whole, piece, shape, cut}}, reduction, group);
  }

  // The same for several tensors at once: one message for all.
  template <typename T>
  void ReduceScatter(const std::vector<Scattered<T>>& tensors, Reduction reduction, const Group& group) {
    std::vector<Part> parts;
    for (const Scattered<T>& tensor : tensors) parts.push_back({tensor.whole, tensor.piece, tensor.shape, tensor.cut});
    ReduceScatterOf(ElementTypeOf<T>(), parts, reduction, group);
  }

  // The members together hold a tensor of shape `shape`: first each its part by `from` (source), then each its part by
  // `to` (target). REQUIRES: from.dimension != to.dimension.
  template <typename T>
  void AllToAll(const T* source, T* target, const std::vector<int64_t>& shape, const Cut& from, const Cut& to,
                const Group& group) {
    AllToAllOf(ElementTypeOf<T>(), source, target, shape, from, to, group);
  }

  // Sends `source_count` elements to member `destination` and receives `target_count` from member `origin`. Either may
  // be -1 (no one) or this member itself. Every member's destination and origin must fit together.
  template <typename T>
  void Permute(const T* source, int64_t source_count, int destination, T* target, int64_t target_count, int origin,
               const Group& group) {
    PermuteOf(ElementTypeOf<T>(), source, source_count, destination, target, target_count, origin, group);
  }

  // Sends regions of `source` and puts what arrives, and what stays, into `target`. Only members that have something
  // for each other talk.
  template <typename T>
  void NeighborExchange(const T* source, T* target, const Exchange& exchange, const Group& group) {
    NeighborExchangeOf(ElementTypeOf<T>(), source, target, exchange, group);
  }

  // Sends the parts of `source`, one after another as `sends` counts them, and receives those of `target`. Between two
  // members the i-th part that one sends is the i-th that the other receives; a member may be itself. `kind` says under
  // what name it is counted: kSendReceive, kNeighborExchange or kNeighborExchangeV2.
  template <typename T>
  void SendReceive(CollectiveKind kind, const T* source, const std::vector<Message>& sends, T* target,
                   const std::vector<Message>& receives, const Group& group) {
    SendReceiveOf(ElementTypeOf<T>(), kind, source, sends, target, receives, group);
  }

  // Sends `count` elements to another member, which takes them with Receive. Returns when `data` may be written to
  // again: at once, or when that member has taken what was sent to it before from the same `box`. Between two members
  // what is sent first is taken first. REQUIRES: the group was created with this way.
  template <typename T>
  void Send(const T* data, int64_t count, int member, int box, const Group& group) {
    SendOf(ElementTypeOf<T>(), data, count, {group.id, member, box}, group);
  }

  // Waits for what another member sends.
  template <typename T>
  void Receive(T* data, int64_t count, int member, const Group& group) {
    ReceiveOf(ElementTypeOf<T>(), data, count, member, group);
  }

  // A library whose sends last until they are taken, such as NCCL, exchanges messages in an order that ranks agree on
  // before (runtime/comm/message_plan.h). So a phase with messages consists of passes, functions that begin by saying
  // what they send and take, in this order (TakesBehind: what they take when they have done other work since they last
  // began, took or sent):
  //
  //   if (!comm.BeginPass({Takes(0, group), Sends(1, 0, group)})) return;
  //
  // It is false while the phase is only rehearsed. All ranks rehearse a phase at once, and then do it as often as they
  // like, each time between BeginMessages and EndMessages. Elsewhere all of these do nothing, and Rehearse returns
  // null.
  std::shared_ptr<const MessagePlan> Rehearse(const std::function<void()>& phase);
  bool BeginPass(const std::vector<MessageEvent>& messages);
  void BeginMessages(std::shared_ptr<const MessagePlan> plan);
  void EndMessages();

  // Every member's data becomes that of member `root`.
  template <typename T>
  void Broadcast(T* data, int64_t count, int root, const Group& group) {
    BroadcastOf(ElementTypeOf<T>(), data, count, root, group);
  }

  // Runs what `collectives` asks for while computation goes on: until Finish, their results must not be touched and
  // what they read must not be written to. On a CPU they have run when this returns, but for ranks with a thread for
  // it.
  //
  //   Pending pending = comm.Overlap([&] { comm.AllReduce(gradient, count, Reduction::kSum, group); });
  template <typename Collectives>
  Pending Overlap(const Collectives& collectives) {
    BeginOverlap();
    collectives();
    return EndOverlap();
  }
  // Also for what CopyBeside (runtime/device/streams.h) runs.
  void Finish(Pending& pending);

  // From here on what Overlap asks for runs on a thread of this rank's, in the order of the calls. Other calls wait
  // until that thread is done. Not all ranks need one. On a GPU, or with a library that only one thread may call, this
  // does nothing.
  void CommunicateOnThread();
  // Whether a rank gains by such a thread even where it has no core for it.
  bool GainsByThread() const;

  // Whether calls may be recorded once and replayed. They may not where the host takes part in them.
  bool IsRecordable() const;

  void Barrier(const Group& group);

  // One text per rank of the world, in rank order, on every rank.
  std::vector<std::string> GatherText(const std::string& text);

  // What was communicated while counting was on (it is at the start), by kind. Waits for what an Overlap has begun.
  void CountTraffic(bool on);
  const std::array<Traffic, kCollectiveKinds>& traffic() const;

  // Counts what was communicated by a replay of recorded calls: what they counted when they were recorded.
  void CountReplay(const std::array<Traffic, kCollectiveKinds>& recorded);

  struct Impl;  // runtime/comm/job.h

  enum class ElementType { kFloat, kDouble, kInt32, kInt8, kBFloat16, kFloat16 };
  static int64_t SizeOf(ElementType type);

  // A tensor of a gather (from its piece to the whole) or a scatter (from the whole to its piece), of any element type.
  struct Part {
    const void* source;
    void* target;
    std::vector<int64_t> shape;
    Cut cut;
  };

 private:
  // The functions behind the templates, with the element type as a value.
  template <typename T>
  static constexpr ElementType ElementTypeOf() {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> ||
                  sizeof(T) == 1 || std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>);
    return std::is_same_v<T, float>      ? ElementType::kFloat
           : std::is_same_v<T, double>   ? ElementType::kDouble
           : sizeof(T) == 1              ? ElementType::kInt8
           : std::is_same_v<T, BFloat16> ? ElementType::kBFloat16
           : std::is_same_v<T, Float16>  ? ElementType::kFloat16
                                         : ElementType::kInt32;
  }
  void BeginOverlap();
  Pending EndOverlap();
  void AllReduceOf(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group);
  void AllGatherOf(ElementType type, const std::vector<Part>& parts, const Group& group);
  void ReduceScatterOf(ElementType type, const std::vector<Part>& parts, Reduction reduction, const Group& group);
  void AllToAllOf(ElementType type, const void* source, void* target, const std::vector<int64_t>& shape,
                  const Cut& from, const Cut& to, const Group& group);
  void PermuteOf(ElementType type, const void* source, int64_t source_count, int destination, void* target,
                 int64_t target_count, int origin, const Group& group);
  void NeighborExchangeOf(ElementType type, const void* source, void* target, const Exchange& exchange,
                          const Group& group);
  void SendReceiveOf(ElementType type, CollectiveKind kind, const void* source, const std::vector<Message>& sends,
                     void* target, const std::vector<Message>& receives, const Group& group);
  void SendOf(ElementType type, const void* data, int64_t count, const Outbox& outbox, const Group& group);
  void ReceiveOf(ElementType type, void* data, int64_t count, int member, const Group& group);
  void BroadcastOf(ElementType type, void* data, int64_t count, int root, const Group& group);

  // Makes the group of all ranks, and the connections between devices.
  static Result<std::unique_ptr<Comm>> OfJob(std::unique_ptr<Impl> impl);
  explicit Comm(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_COMM_H_
