// For runtime/comm/local and its subfolder: a Transport between ranks that are threads of one process. Each reads what
// the others have where it lies.
//
//   all_reduce        each member reduces its part of the elements, in the order of members, then takes the
//                     parts of the others
//   reduce_scatter    each member reduces its piece, in the order of members
//   all others        each member copies what it receives
//
// So results do not depend on which thread is faster; bf16 and f16 are summed up in float and rounded once.
#ifndef CLEAVE_RUNTIME_COMM_LOCAL_TRANSPORT_H_
#define CLEAVE_RUNTIME_COMM_LOCAL_TRANSPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/local/board.h"
#include "runtime/comm/transport.h"

namespace cleave::runtime {

class LocalTransport : public Transport {
 public:
  explicit LocalTransport(std::shared_ptr<LocalRanks> ranks) : ranks_(std::move(ranks)) {}

  Problem CreateGroup(const Group& group, const std::vector<int>& members) override;
  Problem AllReduce(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) override;
  Problem AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                    const Group& group) override;
  Problem ReduceScatter(ElementType type, const void* whole, void* piece, const std::vector<int64_t>& counts,
                        Reduction reduction, const Group& group) override;
  Problem AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts, void* received,
                   const std::vector<int64_t>& received_counts, const Group& group) override;
  Problem SendReceive(ElementType type, const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                      const Group& group) override;
  Problem BeginSend(ElementType type, const Parcel& parcel, const Outbox& outbox, const Group& group) override;
  Problem AwaitTaken(const Outbox& outbox, const Group& group) override;
  Problem Receive(ElementType type, const Parcel& parcel, const Group& group) override;
  Problem Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) override;
  Problem Barrier(const Group& group) override;
  Problem GatherText(const std::string& text, std::vector<std::string>& texts, const Group& group) override;
  void Leave() override {}

  const std::shared_ptr<LocalRanks>& ranks() const { return ranks_; }

 private:
  Board& Of(const Group& group) { return *boards_[static_cast<size_t>(group.id)]; }

  const std::shared_ptr<LocalRanks> ranks_;
  std::vector<std::shared_ptr<Board>> boards_;  // By Group::id; null for a group of one rank.
};

// The parcels that members send to this one, taken for each member in the order in which they are sent.
class ParcelsForMe {
 public:
  ParcelsForMe(const Board& board, const Group& group)
      : board_(board), me_(group.index), next_(static_cast<size_t>(group.size)) {}

  // REQUIRES: the member has sent one more.
  const Parcel& From(int member);

 private:
  const Board& board_;
  const int me_;
  std::vector<size_t> next_;  // By member: where among its parcels to look.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_LOCAL_TRANSPORT_H_
