// Private to runtime/comm/nccl: a Transport by NCCL, for tensors on GPUs, one for each rank.
//
//   all_reduce, broadcast          NCCL's of that name
//   all_gather, reduce_scatter     NCCL's, of pieces of one size
//   a maximum or a minimum        of keys, which keep NaNs (extremes.h)
//   all_to_all, send_receive       sends and receives in one group
//   sends one way                  sends and receives in one group, in the slots of a plan
//   (runtime/comm/message_plan.h):
//                                  NCCL's sends wait for their receives, and it gives no guarantee for work on two
//                                  streams. So all work of a rank is in one order: collectives that are recorded wait
//                                  for the messages before them, and messages for all work of kernels before them
//   barrier                        an all-reduce of one number: it stands in the order of the GPU's work
//
// Memory of the arena is taken from NCCL and registered with the communicators whose ranks share a host: there it needs
// no buffers between. All ranks register theirs or none does, because NCCL leaves open what happens otherwise. Not a
// window ("symmetric memory"): tensors would have to begin at the same place of the arena on all ranks, which those
// that are gathered or scattered in place do not. Not between hosts, where registered memory can hang in recorded work
// (on_device.cu).
//
// Texts go by the transport that has joined the job. A call returns when NCCL has taken it; a failure found later ends
// the program when the host next waits for the GPU.
#ifndef CLEAVE_RUNTIME_COMM_NCCL_TRANSPORT_H_
#define CLEAVE_RUNTIME_COMM_NCCL_TRANSPORT_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/cuda/progress.h"
#include "runtime/comm/job.h"
#include "runtime/comm/message_plan.h"
#include "runtime/comm/nccl/communicator.h"
#include "runtime/comm/transport.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {

class NcclTransport : public Transport {
 public:
  // `world` connects all ranks; `hosts`: the names of theirs, by rank. `seconds`: the time within which a group must be
  // connected.
  NcclTransport(std::unique_ptr<Transport> control, Communicator world, std::vector<std::string> hosts, double seconds,
                Comm::Impl& job);
  ~NcclTransport() override;

  Problem CreateGroup(const Group& group, const std::vector<int>& members) override;
  Problem AllReduce(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) override;
  Problem AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                    const Group& group) override;
  Problem ReduceScatter(ElementType type, const void* whole, void* piece, const std::vector<int64_t>& counts,
                        Reduction reduction, const Group& group) override;
  bool NeedsEqualCounts() const override { return true; }
  Problem AllGatherEach(ElementType type, const std::vector<EvenPart>& parts, const Group& group) override;
  Problem ReduceScatterEach(ElementType type, const std::vector<EvenPart>& parts, Reduction reduction,
                            const Group& group) override;
  Problem AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts, void* received,
                   const std::vector<int64_t>& received_counts, const Group& group) override;
  Problem SendReceive(ElementType type, const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                      const Group& group) override;
  bool ExchangesMessages() const override { return true; }
  void BeginMessages(std::shared_ptr<const MessagePlan> plan) override;
  Problem BeginPass() override;
  Problem EndMessages() override;
  Problem Open(const Way& way, const Group& group) override;
  Problem BeginSend(ElementType type, const Parcel& parcel, const Outbox& outbox, const Group& group) override;
  Problem AwaitTaken(const Outbox& outbox, const Group& group) override;
  Problem Receive(ElementType type, const Parcel& parcel, const Group& group) override;
  Problem Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) override;
  Problem Barrier(const Group& group) override;
  void BeginWork(CollectiveKind kind) override { marks_.Begin(kind); }
  void EndWork() override { marks_.End(); }
  Problem GatherText(const std::string& text, std::vector<std::string>& texts, const Group& group) override;
  void Leave() override;

 private:
  Communicator& Of(const Group& group) { return communicators_[static_cast<size_t>(group.id)]; }

  // Of the group whose collective is asked for now.
  Communicator& ForCollective(const Group& group);

  // A message of this rank. Its member is a rank of the world.
  struct PlannedMessage {
    ElementType type = ElementType::kFloat;
    Parcel parcel;
    Outbox outbox;  // Of one that is sent.
  };
  // The number of the next event of the plan.
  size_t NextEvent();
  int32_t MarkOf(size_t event);
  int RankOf(const Group& group, int member) const {
    return members_[static_cast<size_t>(group.id)][static_cast<size_t>(member)];
  }
  // Sends what the exchange says, and takes what waits in `wanted_`.
  Problem Exchange(const MessagePlan::Exchange& exchange, int32_t mark);

  // What NCCL reduces; `bytes` of each element.
  struct Reduced {
    ncclDataType_t type;
    ncclRedOp_t operation;
    int64_t bytes;
  };
  Problem ReduceScatter(const Reduced& reduced, const void* whole, void* piece, const std::vector<int64_t>& counts,
                        const Group& group);

  // Waits until NCCL has taken a call.
  Problem Taken(ncclResult_t result, const Group& group);

  // Memory of the arena; null: NCCL does not take it as it is. Called by all ranks.
  void* TakeArena(int64_t bytes);
  void GiveArena(void* memory);
  // Registers all arenas with these communicators, or with none of any rank's. Called by all ranks; `problem`: what
  // this one has had. Returns whether it is done.
  bool RegisterArenas(const std::vector<int>& groups, Problem problem);
  bool IsOnOneHost(size_t group) const;

  // Ends the program when a collective has failed that the GPU may wait in.
  void LookForFailures();

  std::unique_ptr<Transport> control_;
  std::vector<Communicator> communicators_;  // By Group::id; that of a group of one rank is empty.
  std::vector<std::vector<int>> members_;    // By Group::id: ranks of the world.
  const std::vector<std::string> hosts_;     // By rank.
  std::map<void*, int64_t> arenas_;          // By memory that NCCL has given: its bytes.
  bool has_arenas_ = false;                  // Of any rank.
  std::shared_ptr<const MessagePlan> plan_;
  size_t next_event_ = 0;
  // By event: what the watch knows it as, from when the phase was first called.
  std::map<std::shared_ptr<const MessagePlan>, std::vector<int32_t>> marks_of_events_;
  std::map<int, PlannedMessage> sent_;   // By event: what has not been exchanged.
  std::vector<PlannedMessage> wanted_;   // What the next exchange takes.
  std::map<Outbox, cudaEvent_t> taken_;  // Of the last message from each.
  cudaEvent_t exchanged_ = nullptr;      // Of the last exchange; null: there was none.
  const double seconds_;
  Comm::Impl& job_;
  ProgressMarks marks_;
  KeptScratch number_;  // For barriers.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_NCCL_TRANSPORT_H_
