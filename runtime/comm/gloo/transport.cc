// A Transport by Gloo's collectives.
//
// Each group has its own connections, between its members only. The messages of a call carry the call's number within
// its group, so that they are not taken for those of another call.
//
//   all_reduce, broadcast, barrier     Gloo's of that name: ring, binomial tree, dissemination
//   all_gather, all_to_all             gloo::allgatherv (ring), gloo::alltoallv (each to each)
//   reduce_scatter                     gloo::alltoallv of the pieces, then the sum in the order of members. Gloo's own
//                                      class for it has to be built anew for every pointer, overwrites its input, and
//                                      takes memory twice the size of that input
//   send_receive                       messages by Gloo's unbound buffers
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/transport/unbound_buffer.h>
#include <gloo/types.h>
#include <poll.h>

#include <csignal>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "runtime/comm/gloo/connections.h"
#include "runtime/comm/gloo/reductions.h"
#include "runtime/comm/meeting/connect.h"  // IWYU pragma: associated
#include "runtime/comm/packing.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {
namespace {

using ElementType = Transport::ElementType;
using UnboundBuffers = std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>>;

// How long a rank that has lost a connection waits to be told which rank is gone.
constexpr int kGraceMilliseconds = 5000;

// Tells messages between two members from those of Gloo's collectives, whose prefixes are 1 to 8.
constexpr uint8_t kMessagePrefix = 0x10;
constexpr uint8_t kOneWayPrefix = 0x11;  // Of messages that one member sends and the other takes when it wants to.

// Turns an exception of Gloo into a value.
template <typename Action>
Problem Guarded(const Action& action) {
  try {
    action();
    return std::nullopt;
  } catch (const std::exception& error) {
    // Most often a rank is gone, and the meeting point is about to end this process and to say which.
    poll(nullptr, 0, kGraceMilliseconds);
    return error.what();
  }
}

// Where nothing is reduced, Gloo moves bytes. It does not write to memory that is sent.
std::byte* Bytes(const void* memory) { return static_cast<std::byte*>(const_cast<void*>(memory)); }

std::vector<int64_t> InBytes(ElementType type, std::vector<int64_t> counts) {
  for (int64_t& count : counts) count *= Comm::SizeOf(type);
  return counts;
}

void SetBuffer(ElementType type, void* data, int64_t count, gloo::AllreduceOptions& options) {
  const size_t elements = static_cast<size_t>(count);
  switch (type) {
    case ElementType::kFloat:
      return options.setOutput(static_cast<float*>(data), elements);
    case ElementType::kDouble:
      return options.setOutput(static_cast<double*>(data), elements);
    case ElementType::kInt32:
      return options.setOutput(static_cast<int32_t*>(data), elements);
    case ElementType::kInt8:
      return options.setOutput(static_cast<int8_t*>(data), elements);
    case ElementType::kBFloat16:
      return options.setOutput(static_cast<BFloat16*>(data), elements);
    case ElementType::kFloat16:
      return options.setOutput(static_cast<Float16*>(data), elements);
  }
}

// The other ranks, at the meeting point.
class AskedOthers : public Others {
 public:
  explicit AskedOthers(Membership& membership) : membership_(membership) {}

  void Show(const std::string&) override {}  // They ask where this rank is.

  MissingRanks Missing() override {
    std::vector<SeenRank> seen;
    for (std::string& where : membership_.AskWhere()) {
      seen.push_back({static_cast<int>(seen.size()), !where.empty(), std::move(where)});
    }
    const int own = membership_.rank();
    if (!seen.empty()) return FindMissing(seen, own);
    if (membership_.meets_at_rank_0()) return {"; rank 0 is missing: it does not answer", /*is_for_another=*/own > 1};
    return {"; the scheduler does not answer", /*is_for_another=*/own > 0};
  }

 private:
  Membership& membership_;
};

class GlooTransport : public Transport {
 public:
  GlooTransport(std::unique_ptr<Membership> membership, Connections connections, Watch& watch)
      : membership_(std::move(membership)), connections_(std::move(connections)), others_(*membership_), watch_(watch) {
    watch_.SetOthers(&others_);
  }
  ~GlooTransport() override { watch_.SetOthers(nullptr); }

  Problem CreateGroup(const Group& group, const std::vector<int>& members) override {
    return Guarded([&] {
      groups_.resize(static_cast<size_t>(group.id) + 1);
      groups_.back().context = connections_.Connect(members, group.index);
    });
  }

  Problem AllReduce(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) override {
    return Guarded([&] {
      gloo::AllreduceOptions options = OptionsFor<gloo::AllreduceOptions>(group);
      SetBuffer(type, data, count, options);
      options.setReduceFunction(FunctionOf(type, reduction));
      gloo::allreduce(options);
    });
  }

  Problem AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                    const Group& group) override {
    return Guarded([&] { Gather(Bytes(piece), Bytes(whole), InBytes(type, counts), group); });
  }

  Problem ReduceScatter(ElementType type, const void* whole, void* piece, const std::vector<int64_t>& counts,
                        Reduction reduction, const Group& group) override {
    return Guarded([&] {
      const int64_t count = counts[static_cast<size_t>(group.index)];
      const int64_t bytes = count * Comm::SizeOf(type);
      std::byte* const received = scratch_.AtLeast(bytes * group.size);
      Exchange(Bytes(whole), InBytes(type, counts), received,
               std::vector<int64_t>(static_cast<size_t>(group.size), bytes), group);
      const ReduceFunction reduce = FunctionOf(type, reduction);
      for (int member = 1; member < group.size; ++member) {
        reduce(piece, member == 1 ? received : piece, received + member * bytes, static_cast<size_t>(count));
      }
    });
  }

  Problem AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts, void* received,
                   const std::vector<int64_t>& received_counts, const Group& group) override {
    return Guarded([&] {
      Exchange(Bytes(sent), InBytes(type, sent_counts), Bytes(received), InBytes(type, received_counts), group);
    });
  }

  Problem SendReceive(ElementType type, const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                      const Group& group) override {
    return Guarded([&] {
      GroupState& state = Of(group);
      // Between two members, messages with one slot arrive in the order in which they are sent.
      const uint64_t slot = gloo::Slot::build(kMessagePrefix, state.calls++);
      const auto buffers_of = [&](const std::vector<Parcel>& parcels) {
        UnboundBuffers buffers;
        for (const Parcel& parcel : parcels) buffers.push_back(BufferOf(type, parcel, group));
        return buffers;
      };
      const UnboundBuffers received = buffers_of(receives);
      const UnboundBuffers sent = buffers_of(sends);
      for (size_t i = 0; i < receives.size(); ++i) received[i]->recv(receives[i].member, slot);
      for (size_t i = 0; i < sends.size(); ++i) sent[i]->send(sends[i].member, slot);
      for (const auto& buffer : received) buffer->waitRecv(kForever);
      for (const auto& buffer : sent) buffer->waitSend(kForever);
    });
  }

  Problem BeginSend(ElementType type, const Parcel& parcel, const Outbox& outbox, const Group& group) override {
    return Guarded([&] {
      auto& buffer = Of(group).sent[outbox];
      buffer = BufferOf(type, parcel, group);
      buffer->send(parcel.member, gloo::Slot::build(kOneWayPrefix, 0));
    });
  }

  Problem AwaitTaken(const Outbox& outbox, const Group& group) override {
    return Guarded([&] {
      const auto sent = Of(group).sent.find(outbox);
      if (sent == Of(group).sent.end()) return;
      sent->second->waitSend(kForever);
      Of(group).sent.erase(sent);
    });
  }

  Problem Receive(ElementType type, const Parcel& parcel, const Group& group) override {
    return Guarded([&] {
      const auto buffer = BufferOf(type, parcel, group);
      buffer->recv(parcel.member, gloo::Slot::build(kOneWayPrefix, 0));
      buffer->waitRecv(kForever);
    });
  }

  Problem Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) override {
    return Guarded([&] {
      gloo::BroadcastOptions options = OptionsFor<gloo::BroadcastOptions>(group);
      options.setRoot(root);
      options.setOutput(Bytes(data), static_cast<size_t>(count * Comm::SizeOf(type)));
      gloo::broadcast(options);
    });
  }

  Problem Barrier(const Group& group) override {
    return Guarded([&] {
      gloo::BarrierOptions options = OptionsFor<gloo::BarrierOptions>(group);
      gloo::barrier(options);
    });
  }

  Problem GatherText(const std::string& text, std::vector<std::string>& texts, const Group& group) override {
    return Guarded([&] {
      const int64_t length = static_cast<int64_t>(text.size());
      std::vector<int64_t> lengths(static_cast<size_t>(group.size));
      Gather(Bytes(&length), Bytes(lengths.data()), std::vector<int64_t>(lengths.size(), sizeof length), group);
      const std::vector<int64_t> places = Begins(lengths);
      std::string all(static_cast<size_t>(places.back()), '\0');
      Gather(Bytes(text.data()), Bytes(all.data()), lengths, group);
      for (size_t i = 0; i < lengths.size(); ++i) {
        texts.push_back(all.substr(static_cast<size_t>(places[i]), static_cast<size_t>(lengths[i])));
      }
    });
  }

  // Gloo sends and receives on a thread of its own, for which its callers sleep.
  bool GainsByThread() const override { return true; }

  void Leave() override {
    membership_->Leave();
    watch_.SetOthers(nullptr);
    // Nobody sends any more: the connections may close in any order.
    Guarded([&] {
      for (const GroupState& state : groups_) {
        if (state.context != nullptr) state.context->closeConnections();
      }
    });
    membership_.reset();
  }

 private:
  struct GroupState {
    std::shared_ptr<gloo::Context> context;  // Null for a group of one rank.
    // All members call the collectives of a group in the same order, so their counts are the same.
    uint32_t calls = 0;
    std::map<Outbox, std::unique_ptr<gloo::transport::UnboundBuffer>> sent = {};  // The last message from each.
  };

  GroupState& Of(const Group& group) { return groups_[static_cast<size_t>(group.id)]; }

  std::unique_ptr<gloo::transport::UnboundBuffer> BufferOf(ElementType type, const Parcel& parcel, const Group& group) {
    const auto bytes = static_cast<size_t>(parcel.count * Comm::SizeOf(type));
    return Of(group).context->createUnboundBuffer(parcel.data, bytes);
  }

  template <typename Options>
  Options OptionsFor(const Group& group) {
    Options options(Of(group).context);
    options.setTag(Of(group).calls++);
    return options;
  }

  // Gathers the pieces of all members, one after another.
  void Gather(std::byte* piece, std::byte* whole, const std::vector<int64_t>& bytes, const Group& group) {
    auto options = OptionsFor<gloo::AllgathervOptions>(group);
    options.setInput(piece, static_cast<size_t>(bytes[static_cast<size_t>(group.index)]));
    options.setOutput(whole, std::vector<size_t>(bytes.begin(), bytes.end()));
    gloo::allgatherv(options);
  }

  // Sends a part to each member and receives one from each.
  void Exchange(std::byte* sent, const std::vector<int64_t>& sent_bytes, std::byte* received,
                const std::vector<int64_t>& received_bytes, const Group& group) {
    auto options = OptionsFor<gloo::AlltoallvOptions>(group);
    options.setInput(sent, sent_bytes);
    options.setOutput(received, received_bytes);
    gloo::alltoallv(options);
  }

  std::unique_ptr<Membership> membership_;
  Connections connections_;
  AskedOthers others_;
  Watch& watch_;
  std::vector<GroupState> groups_;  // By Group::id.
  Scratch scratch_;
};

}  // namespace

Result<std::unique_ptr<Transport>> ConnectMembers(std::unique_ptr<Membership> membership, double timeout, Watch& watch,
                                                  std::function<void(const Error&)> end) {
  std::unique_ptr<Transport> transport;
  // Sending to a rank that is gone must be an error, which Gloo sees, and not a signal that ends this rank too.
  std::signal(SIGPIPE, SIG_IGN);
  const Problem problem = Guarded([&] {
    Connections connections(*membership, timeout);
    membership->Watch(std::move(end), [&watch] { return watch.Where(); });
    transport = std::make_unique<GlooTransport>(std::move(membership), std::move(connections), watch);
  });
  if (problem.has_value()) return Error{ExitCode::kFailed, *problem};
  return transport;
}

}  // namespace cleave::runtime
