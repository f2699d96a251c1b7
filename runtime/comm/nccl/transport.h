// Private to runtime/comm/nccl: a Transport by NCCL, for tensors on GPUs, one for each rank.
//
//   all_reduce, broadcast          NCCL's of that name
//   all_gather, reduce_scatter     NCCL's where all pieces are of one size, else a broadcast, or a reduction, for each
//                                  member, in one group
//   a maximum or a minimum        of keys, which keep NaNs (extremes.h)
//   all_to_all, send_receive       sends and receives in one group
//   sends one way                  on a stream and a communicator for each way: NCCL's sends wait for their receives,
//                                  and what is asked for after them must not
//   barrier                        an all-reduce of one number: it stands in the order of the GPU's work
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
#include "runtime/comm/nccl/communicator.h"
#include "runtime/comm/transport.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {

class NcclTransport : public Transport {
 public:
  // `world` connects all ranks. `seconds`: the time within which a group must be connected.
  NcclTransport(std::unique_ptr<Transport> control, Communicator world, double seconds, Comm::Impl& job);
  ~NcclTransport() override;

  Problem CreateGroup(const Group& group, const std::vector<int>& members) override;
  Problem AllReduce(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) override;
  Problem AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                    const Group& group) override;
  Problem ReduceScatter(ElementType type, const void* whole, void* piece, const std::vector<int64_t>& counts,
                        Reduction reduction, const Group& group) override;
  bool TakesTensorsApart() const override { return true; }
  Problem AllGatherEach(ElementType type, const std::vector<EvenPart>& parts, const Group& group) override;
  Problem ReduceScatterEach(ElementType type, const std::vector<EvenPart>& parts, Reduction reduction,
                            const Group& group) override;
  Problem AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts, void* received,
                   const std::vector<int64_t>& received_counts, const Group& group) override;
  Problem SendReceive(ElementType type, const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                      const Group& group) override;
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

  // Of two ranks, of which the first sends and the second receives.
  struct OneWay {
    Communicator communicator;
    cudaStream_t stream = nullptr;
  };
  OneWay& Of(const Way& way, const Group& group) { return ways_.at({group.id, {way.from, way.to}}); }

  // What NCCL reduces; `bytes` of each element.
  struct Reduced {
    ncclDataType_t type;
    ncclRedOp_t operation;
    int64_t bytes;
  };
  Problem ReduceScatter(const Reduced& reduced, const void* whole, void* piece, const std::vector<int64_t>& counts,
                        const Group& group);

  // What is asked for on `second` from here on runs when what was asked for on `first` has.
  void RunAfter(cudaStream_t first, cudaStream_t second);

  // Ends the program where a way's stream would share a queue to the GPU with another stream: what waits there for one
  // rank would stop what another rank waits for.
  void CheckQueues() const;

  // Waits until NCCL has taken a call.
  Problem Taken(ncclResult_t result, const Group& group);

  // Ends the program when a collective has failed that the GPU may wait in.
  void LookForFailures();

  std::unique_ptr<Transport> control_;
  std::vector<Communicator> communicators_;  // By Group::id; that of a group of one rank is empty.
  // By Group::id and who sends and who receives; those of this rank.
  std::map<std::pair<int, std::pair<int, int>>, OneWay> ways_;
  std::map<Outbox, cudaEvent_t> taken_;  // Of the last message from each.
  cudaEvent_t order_ = nullptr;          // Of RunAfter.
  const double seconds_;
  Comm::Impl& job_;
  ProgressMarks marks_;
  Scratch number_;  // For barriers.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_NCCL_TRANSPORT_H_
