// What a message-passing library does for runtime/comm: collectives on contiguous memory between the members of a
// group. Packing, counting and watching stand above it, in collectives.cc, and are the same for every library.
//
// Where tensors lie on GPUs there are two transports, one above the other. The lower one joined the job: it passes
// texts, and in it ranks wait for each other. The upper one is the device's: it only adds work to the current stream.
//
// Groups have two members at least. Counts are in elements; those by member are as long as the group is large. One
// thread at a time.
#ifndef CLEAVE_RUNTIME_COMM_TRANSPORT_H_
#define CLEAVE_RUNTIME_COMM_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/comm.h"

namespace cleave::runtime {

// What went wrong, in the words of the library; nullopt: nothing.
using Problem = std::optional<std::string>;

// Memory that is sent to a member, or received from it.
struct Parcel {
  int member = 0;
  std::byte* data = nullptr;  // Not written to when it is sent.
  int64_t count = 0;
};

// A tensor of a collective of several: what this member gives, and what it gets. `count`: the elements that each member
// has of it, one member's behind another's.
struct EvenPart {
  const void* source = nullptr;
  void* target = nullptr;
  int64_t count = 0;
};

class Transport {
 public:
  using ElementType = Comm::ElementType;

  virtual ~Transport() = default;

  // `members`: ranks of the world, by member. Called by all ranks, with the same ids in the same order.
  virtual Problem CreateGroup(const Group& group, const std::vector<int>& members) = 0;

  virtual Problem AllReduce(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) = 0;

  // `whole`: the pieces of all members, one after another.
  virtual Problem AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                            const Group& group) = 0;
  virtual Problem ReduceScatter(ElementType type, const void* whole, void* piece, const std::vector<int64_t>& counts,
                                Reduction reduction, const Group& group) = 0;

  // Whether the counts by member must be equal in these two. Then tensors that members share evenly are taken where
  // they lie, several at once, and others are packed into a message of equal parts. Else a tensor that is alone is
  // taken as it lies, and several are packed.
  virtual bool NeedsEqualCounts() const { return false; }
  virtual Problem AllGatherEach(ElementType type, const std::vector<EvenPart>& parts, const Group& group) {
    return ForEach(parts, group, [&](const EvenPart& part, const std::vector<int64_t>& counts) {
      return AllGather(type, part.source, part.target, counts, group);
    });
  }
  virtual Problem ReduceScatterEach(ElementType type, const std::vector<EvenPart>& parts, Reduction reduction,
                                    const Group& group) {
    return ForEach(parts, group, [&](const EvenPart& part, const std::vector<int64_t>& counts) {
      return ReduceScatter(type, part.source, part.target, counts, reduction, group);
    });
  }

  // `sent` has the parts for all members, one after another, and `received` the parts from them.
  virtual Problem AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts, void* received,
                           const std::vector<int64_t>& received_counts, const Group& group) = 0;

  // Between two members the i-th parcel that one sends is the i-th that the other receives. None goes to this member
  // itself, none is empty.
  virtual Problem SendReceive(ElementType type, const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                              const Group& group) = 0;

  // Whether messages are exchanged as a plan says (message_plan.h): BeginMessages, then for each event of the plan
  // BeginPass, AwaitTaken and BeginSend, or Receive, also with no elements, then EndMessages. What is received is there
  // for work that is asked for behind the exchange that takes it. Their work is not part of recorded work.
  virtual bool ExchangesMessages() const { return false; }
  virtual void BeginMessages(std::shared_ptr<const MessagePlan>) {}
  virtual Problem BeginPass() { return std::nullopt; }
  virtual Problem EndMessages() { return std::nullopt; }

  // Prepares for sends from a member to another one. Called by all ranks, with the same ways in the same order.
  virtual Problem Open(const Way&, const Group&) { return std::nullopt; }
  // Begins to send a parcel, which is not written to until AwaitTaken returns for its outbox. Called when what was sent
  // from there before has been taken.
  virtual Problem BeginSend(ElementType type, const Parcel& parcel, const Outbox& outbox, const Group& group) = 0;
  // Waits until what was sent last from the outbox has been taken; returns at once where nothing was.
  virtual Problem AwaitTaken(const Outbox& outbox, const Group& group) = 0;
  // Waits for what a member sends.
  virtual Problem Receive(ElementType type, const Parcel& parcel, const Group& group) = 0;

  virtual Problem Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) = 0;
  virtual Problem Barrier(const Group& group) = 0;

  // These mark where, on the device's stream, the work for a collective begins or has ended. Reports use the marks to
  // say how far a device has come. They do nothing where the host waits for collectives.
  virtual void BeginWork(CollectiveKind) {}
  virtual void EndWork() {}

  // Whether another thread than the one that made it may call it.
  virtual bool MayChangeThreads() const { return true; }

  // Whether it is called best by a thread that needs no core of its own, as most of the time is spent asleep.
  virtual bool GainsByThread() const { return false; }

  // Whether its calls may be recorded and replayed.
  virtual bool IsRecordable() const { return true; }

  // One text per member, by member.
  virtual Problem GatherText(const std::string& text, std::vector<std::string>& texts, const Group& group) = 0;

  // Ends the connection to the others, who do the same.
  virtual void Leave() = 0;

 protected:
  // call(part, its counts by member) for each of them, until one fails.
  template <typename Call>
  static Problem ForEach(const std::vector<EvenPart>& parts, const Group& group, const Call& call) {
    for (const EvenPart& part : parts) {
      if (Problem problem = call(part, std::vector<int64_t>(static_cast<size_t>(group.size), part.count))) {
        return problem;
      }
    }
    return std::nullopt;
  }
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_TRANSPORT_H_
