// Private to runtime/comm/local/cuda: a Transport between ranks that are threads of one process and share a GPU. Each
// reads, by kernels and copies on its own stream, what the others have where it lies.
//
// A collective is a sequence of phases. Before a phase every member records an event on its stream, all meet on the
// host, and every stream waits for the events of all: so what a member does in one phase comes after what all did in
// the phases before. Nobody writes what another may still read:
//
//   all_reduce        phase 1: each member reduces its part of the elements in its own tensor, in the order of members
//                     phase 2: it takes the parts of the others
//                     phase 3: what it took may change
//   all others        phase 1: each member reduces, or copies, what it receives
//                     phase 2: what it took may change
//
// What is sent one way lies ready before the host says so to the other member, and has been copied before that answers.
//
// The host takes part, so calls cannot be recorded.
#ifndef CLEAVE_RUNTIME_COMM_LOCAL_CUDA_TRANSPORT_H_
#define CLEAVE_RUNTIME_COMM_LOCAL_CUDA_TRANSPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/cuda/progress.h"
#include "runtime/comm/job.h"
#include "runtime/comm/local/board.h"
#include "runtime/comm/transport.h"
#include "runtime/device/cuda/cuda.h"

namespace cleave::runtime {

// The most ranks that a group may have: a kernel takes the pointers of all of them as its arguments.
constexpr int kMostLocalMembers = 128;

// The events of a group's members. All members know all of them.
class StreamMeeting {
 public:
  StreamMeeting(std::shared_ptr<Board> board, const Group& group);
  ~StreamMeeting();
  StreamMeeting(const StreamMeeting&) = delete;
  StreamMeeting& operator=(const StreamMeeting&) = delete;

  // What this member shows, until the next call.
  void Show(const BoardEntry& what) { board_->Show(member_, what); }
  const BoardEntry& shown(int member) const { return board_->shown(member); }
  Board& board() const { return *board_; }

  // Work that follows on the current stream runs after all work that any member has asked for before. A collective
  // meets two or three times, in phases 0, 1 and 2: a phase's events are recorded again only when all have waited for
  // them.
  void Meet(int phase);

 private:
  static constexpr int kPhases = 3;

  const std::shared_ptr<Board> board_;
  const int member_;
  std::vector<std::vector<cudaEvent_t>> events_;  // By phase and member; this member's are its own to destroy.
};

class LocalDeviceTransport : public Transport {
 public:
  LocalDeviceTransport(std::unique_ptr<Transport> control, std::shared_ptr<LocalRanks> ranks, Comm::Impl& job);

  Problem CreateGroup(const Group& group, const std::vector<int>& members) override;
  Problem AllReduce(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) override;
  Problem AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                    const Group& group) override;
  Problem ReduceScatter(ElementType type, const void* whole, void* piece, const std::vector<int64_t>& counts,
                        Reduction reduction, const Group& group) override;
  // As NCCL, whose memory is predicted.
  bool NeedsEqualCounts() const override { return true; }
  Problem AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts, void* received,
                   const std::vector<int64_t>& received_counts, const Group& group) override;
  Problem SendReceive(ElementType type, const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                      const Group& group) override;
  Problem BeginSend(ElementType type, const Parcel& parcel, const Outbox& outbox, const Group& group) override;
  Problem AwaitTaken(const Outbox& outbox, const Group& group) override;
  Problem Receive(ElementType type, const Parcel& parcel, const Group& group) override;
  Problem Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) override;
  Problem Barrier(const Group& group) override;
  void BeginWork(CollectiveKind kind) override { marks_.Begin(kind); }
  void EndWork() override { marks_.End(); }
  bool IsRecordable() const override { return false; }
  Problem GatherText(const std::string& text, std::vector<std::string>& texts, const Group& group) override;
  void Leave() override;

 private:
  void AddGroup(const Group& group, const std::vector<int>& members);
  StreamMeeting& Of(const Group& group) { return *meetings_[static_cast<size_t>(group.id)]; }

  std::unique_ptr<Transport> control_;
  const std::shared_ptr<LocalRanks> ranks_;
  std::vector<std::unique_ptr<StreamMeeting>> meetings_;  // By Group::id; null for a group of one rank.
  ProgressMarks marks_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_LOCAL_CUDA_TRANSPORT_H_
