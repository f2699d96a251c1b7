// The collectives. Each packs what is not contiguous, lets the transport send it, and unpacks.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/job.h"
#include "runtime/comm/packed_parts.h"
#include "runtime/comm/packing.h"
#include "runtime/comm/transport.h"
#include "runtime/device/memory.h"
#include "runtime/device/recorded.h"
#include "runtime/device/streams.h"

namespace cleave::runtime {
namespace {

// The transport writes only to memory that receives, so memory that is sent may lose its const here.
std::byte* Bytes(const void* memory) { return static_cast<std::byte*>(const_cast<void*>(memory)); }

int64_t ElementsOf(const std::vector<Parcel>& parcels) {
  int64_t elements = 0;
  for (const Parcel& parcel : parcels) elements += parcel.count;
  return elements;
}

// take(the tensors that the transport takes where they lie). Returns the others, which are put into `rest` where it
// takes any.
template <typename Take>
const std::vector<Comm::Part>& LeftToPack(Comm::Impl& job, CollectiveKind kind, const Group& group,
                                          const std::vector<Comm::Part>& tensors, std::vector<Comm::Part>& rest,
                                          const Take& take) {
  if (!job.transport->NeedsEqualCounts()) return tensors;
  std::vector<EvenPart> apart;
  for (const Comm::Part& part : tensors) {
    if (!IsEven(part)) {
      rest.push_back(part);
    } else if (const int64_t count = ElementCount(part.shape) / group.size; count > 0) {
      job.CheckCount(count * group.size, kind);
      apart.push_back({part.source, part.target, count});
    }
  }
  if (!apart.empty()) job.Check(take(apart), kind);
  return rest;
}

// Whether the transport takes a tensor that is alone in its message as it lies, with pieces of any sizes.
bool IsTakenAsItLies(const Comm::Impl& job, const std::vector<Comm::Part>& parts) {
  return parts.size() == 1 && IsContiguous(parts.front()) && !job.transport->NeedsEqualCounts();
}

// The elements of each member's piece of a tensor whose pieces lie one behind another.
std::vector<int64_t> CountsOf(const Comm::Part& part) {
  std::vector<int64_t> counts;
  for (const int64_t size : part.cut.sizes) counts.push_back(size * OneDimension(part.shape, part.cut.dimension).inner);
  return counts;
}

int64_t ElementsOf(const std::vector<Comm::Part>& parts) {
  int64_t elements = 0;
  for (const Comm::Part& part : parts) elements += ElementCount(part.shape);
  return elements;
}

}  // namespace

void Comm::AllReduceOf(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) {
  if (group.size == 1 || count == 0) return;
  constexpr CollectiveKind kKind = CollectiveKind::kAllReduce;
  if (impl_->LeavesToThread()) return impl_->OnThread(kKind, [=] { AllReduceOf(type, data, count, reduction, group); });
  const Collective collective(*impl_, kKind, group, count * SizeOf(type), 2);
  impl_->CheckCount(count, kKind);
  impl_->Check(impl_->transport->AllReduce(type, data, count, reduction, group), kKind);
}

void Comm::BeginOverlap() {
  impl_->overlaps = true;
  BeginCommunication();
}

Pending Comm::EndOverlap() {
  impl_->overlaps = false;
  return {EndCommunication()};
}

void Comm::Finish(Pending& pending) {
  if (pending.id < 0) return;
  impl_->Await(pending.id);
  pending.id = -1;
}

void Comm::CommunicateOnThread() {
  if (impl_->transport != nullptr && impl_->transport->MayChangeThreads()) cleave::runtime::CommunicateOnThread();
}

bool Comm::GainsByThread() const { return impl_->transport != nullptr && impl_->transport->GainsByThread(); }

void Comm::AllGatherOf(ElementType type, const std::vector<Part>& tensors, const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kAllGather;
  if (impl_->LeavesToThread()) return impl_->OnThread(kKind, [=] { AllGatherOf(type, tensors, group); });
  if (group.size == 1) {
    for (const Part& part : tensors) CopyBytes(part.source, part.target, ElementCount(part.shape) * SizeOf(type));
    return;
  }
  const int64_t elements = ElementsOf(tensors);
  if (elements == 0) return;
  const Collective collective(*impl_, kKind, group, elements * SizeOf(type), 1);
  std::vector<Part> rest;
  const auto take = [&](const std::vector<EvenPart>& apart) {
    return impl_->transport->AllGatherEach(type, apart, group);
  };
  const std::vector<Part>& parts = LeftToPack(*impl_, kKind, group, tensors, rest, take);
  if (ElementsOf(parts) == 0) return;
  if (IsTakenAsItLies(*impl_, parts)) {
    const Part& part = parts.front();
    const std::vector<int64_t> counts = CountsOf(part);
    impl_->CheckCounts(counts, kKind);
    return impl_->Check(impl_->transport->AllGather(type, part.source, part.target, counts, group), kKind);
  }
  const PackedParts packed(parts, SizeOf(type), group);
  impl_->CheckCounts(packed.counts(), kKind);
  std::byte* const sent = impl_->send.AtLeast(packed.part_bytes());
  std::byte* const received = impl_->receive.AtLeast(packed.bytes());
  PackPieces(packed.OwnPieces([](const Part& part) { return Bytes(part.source); }, sent));
  impl_->Check(impl_->transport->AllGather(type, sent, received, packed.counts(), group), kKind);
  UnpackPieces(packed.AllPieces([](const Part& part) { return part.target; }, received));
}

void Comm::ReduceScatterOf(ElementType type, const std::vector<Part>& tensors, Reduction reduction,
                           const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kReduceScatter;
  if (impl_->LeavesToThread()) {
    return impl_->OnThread(kKind, [=] { ReduceScatterOf(type, tensors, reduction, group); });
  }
  if (group.size == 1) {
    for (const Part& part : tensors) CopyBytes(part.source, part.target, ElementCount(part.shape) * SizeOf(type));
    return;
  }
  const int64_t elements = ElementsOf(tensors);
  if (elements == 0) return;
  const Collective collective(*impl_, kKind, group, elements * SizeOf(type), 1);
  std::vector<Part> rest;
  const auto take = [&](const std::vector<EvenPart>& apart) {
    return impl_->transport->ReduceScatterEach(type, apart, reduction, group);
  };
  const std::vector<Part>& parts = LeftToPack(*impl_, kKind, group, tensors, rest, take);
  if (ElementsOf(parts) == 0) return;
  if (IsTakenAsItLies(*impl_, parts)) {
    const Part& part = parts.front();
    const std::vector<int64_t> counts = CountsOf(part);
    impl_->CheckCounts(counts, kKind);
    return impl_->Check(impl_->transport->ReduceScatter(type, part.source, part.target, counts, reduction, group),
                        kKind);
  }
  const PackedParts packed(parts, SizeOf(type), group);
  impl_->CheckCounts(packed.counts(), kKind);
  std::byte* const sent = impl_->send.AtLeast(packed.bytes());
  std::byte* const received = impl_->receive.AtLeast(packed.part_bytes());
  PackPieces(packed.AllPieces([](const Part& part) { return Bytes(part.source); }, sent));
  impl_->Check(impl_->transport->ReduceScatter(type, sent, received, packed.counts(), reduction, group), kKind);
  UnpackPieces(packed.OwnPieces([](const Part& part) { return part.target; }, received));
}

void Comm::AllToAllOf(ElementType type, const void* source, void* target, const std::vector<int64_t>& shape,
                      const Cut& from, const Cut& to, const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kAllToAll;
  if (impl_->LeavesToThread())
    return impl_->OnThread(kKind, [=] { AllToAllOf(type, source, target, shape, from, to, group); });
  const int64_t size = SizeOf(type);
  if (group.size == 1) return CopyBytes(source, target, ElementCount(shape) * size);
  const size_t me = static_cast<size_t>(group.index);
  std::vector<int64_t> source_shape = shape;
  std::vector<int64_t> target_shape = shape;
  source_shape[static_cast<size_t>(from.dimension)] = from.sizes[me];
  target_shape[static_cast<size_t>(to.dimension)] = to.sizes[me];
  const Collective collective(*impl_, kKind, group, ElementCount(source_shape) * size, 1);

  const bool from_is_first = from.dimension < to.dimension;
  const int first = std::min(from.dimension, to.dimension);
  const int second = std::max(from.dimension, to.dimension);
  const TwoDimensions source_view(source_shape, first, second);
  const TwoDimensions target_view(target_shape, first, second);
  const std::vector<int64_t> from_begins = Begins(from.sizes);
  const std::vector<int64_t> to_begins = Begins(to.sizes);
  // The part of my source that member i gets, and the part of my target that holds what member i sends.
  const auto sent_box = [&](size_t i) {
    const Range all = {0, from.sizes[me]};
    const Range part = {to_begins[i], to.sizes[i]};
    return from_is_first ? Box{all, part} : Box{part, all};
  };
  const auto received_box = [&](size_t i) {
    const Range part = {from_begins[i], from.sizes[i]};
    const Range all = {0, to.sizes[me]};
    return from_is_first ? Box{part, all} : Box{all, part};
  };

  const size_t members = from.sizes.size();
  std::vector<int64_t> send_counts;
  std::vector<int64_t> receive_counts;
  for (size_t i = 0; i < members; ++i) {
    send_counts.push_back(source_view.Elements(sent_box(i)));
    receive_counts.push_back(target_view.Elements(received_box(i)));
  }
  const std::vector<int64_t> send_places = Begins(send_counts);
  const std::vector<int64_t> receive_places = Begins(receive_counts);
  impl_->CheckCounts(send_counts, kKind);
  impl_->CheckCounts(receive_counts, kKind);
  std::byte* const send = impl_->send.AtLeast(send_places.back() * size);
  std::byte* const receive = impl_->receive.AtLeast(receive_places.back() * size);
  for (size_t i = 0; i < members; ++i) {
    source_view.Pack(static_cast<const std::byte*>(source), sent_box(i), size, send + send_places[i] * size);
  }
  impl_->Check(impl_->transport->AllToAll(type, send, send_counts, receive, receive_counts, group), kKind);
  for (size_t i = 0; i < members; ++i) {
    target_view.Unpack(receive + receive_places[i] * size, received_box(i), size, static_cast<std::byte*>(target));
  }
}

void Comm::PermuteOf(ElementType type, const void* source, int64_t source_count, int destination, void* target,
                     int64_t target_count, int origin, const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kPermute;
  if (impl_->LeavesToThread())
    return impl_->OnThread(
        kKind, [=] { PermuteOf(type, source, source_count, destination, target, target_count, origin, group); });
  if (origin == group.index) CopyBytes(source, target, target_count * SizeOf(type));
  if (group.size == 1) return;
  const int64_t bytes = source_count * SizeOf(type);
  const Collective collective(*impl_, kKind, group, bytes, 0);
  const bool sends = destination >= 0 && destination != group.index;
  const bool receives = origin >= 0 && origin != group.index;
  if (sends) impl_->CountSent(kKind, bytes);
  impl_->CheckCount(std::max(source_count, target_count), kKind);
  std::vector<Parcel> sent;
  std::vector<Parcel> received;
  if (sends && source_count > 0) sent.push_back({destination, Bytes(source), source_count});
  if (receives && target_count > 0) received.push_back({origin, Bytes(target), target_count});
  impl_->Check(impl_->transport->SendReceive(type, sent, received, group), kKind);
}

void Comm::NeighborExchangeOf(ElementType type, const void* source, void* target, const Exchange& exchange,
                              const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kNeighborExchange;
  if (impl_->LeavesToThread())
    return impl_->OnThread(kKind, [=] { NeighborExchangeOf(type, source, target, exchange, group); });
  const int64_t size = SizeOf(type);
  const size_t me = static_cast<size_t>(group.index);
  const std::byte* const from = static_cast<const std::byte*>(source);
  std::byte* const to = static_cast<std::byte*>(target);
  CopyRegion(from, exchange.sends[me], size, exchange.receives[me], to);
  if (group.size == 1) return;
  std::vector<int64_t> send_counts;
  std::vector<int64_t> receive_counts;
  for (size_t i = 0; i < exchange.sends.size(); ++i) {
    send_counts.push_back(i == me ? 0 : ElementCount(exchange.sends[i].size));
    receive_counts.push_back(i == me ? 0 : ElementCount(exchange.receives[i].size));
  }
  const std::vector<int64_t> send_places = Begins(send_counts);
  const std::vector<int64_t> receive_places = Begins(receive_counts);
  const Collective collective(*impl_, kKind, group, receive_places.back() * size, 0);
  impl_->CountSent(kKind, send_places.back() * size);
  impl_->CheckCounts(send_counts, kKind);
  impl_->CheckCounts(receive_counts, kKind);
  std::byte* const send = impl_->send.AtLeast(send_places.back() * size);
  std::byte* const receive = impl_->receive.AtLeast(receive_places.back() * size);
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  for (size_t i = 0; i < send_counts.size(); ++i) {
    const int member = static_cast<int>(i);
    if (receive_counts[i] > 0) receives.push_back({member, receive + receive_places[i] * size, receive_counts[i]});
    if (send_counts[i] == 0) continue;
    sends.push_back({member, send + send_places[i] * size, send_counts[i]});
    Pack(from, exchange.sends[i], size, sends.back().data);
  }
  impl_->Check(impl_->transport->SendReceive(type, sends, receives, group), kKind);
  for (const Parcel& parcel : receives) {
    Unpack(parcel.data, exchange.receives[static_cast<size_t>(parcel.member)], size, to);
  }
}

void Comm::SendReceiveOf(ElementType type, CollectiveKind kind, const void* source, const std::vector<Message>& sends,
                         void* target, const std::vector<Message>& receives, const Group& group) {
  if (impl_->LeavesToThread())
    return impl_->OnThread(kind, [=] { SendReceiveOf(type, kind, source, sends, target, receives, group); });
  const int64_t size = SizeOf(type);
  const std::byte* from = static_cast<const std::byte*>(source);
  std::byte* to = static_cast<std::byte*>(target);
  std::vector<Parcel> sent;
  std::vector<Parcel> received;
  std::vector<std::pair<std::byte*, int64_t>> own;  // Targets of the parts from this member itself, and their bytes.
  for (const Message& message : receives) {
    const int64_t bytes = message.count * size;
    if (message.member == group.index) {
      own.emplace_back(to, bytes);
    } else if (message.member < 0) {
      ZeroBytes(to, bytes);
    } else if (bytes > 0) {
      received.push_back({message.member, to, message.count});
    }
    to += bytes;
  }
  size_t copied = 0;
  for (const Message& message : sends) {
    const int64_t bytes = message.count * size;
    if (message.member == group.index) {
      CopyBytes(from, own[copied].first, own[copied].second);
      ++copied;
    } else if (message.member >= 0 && bytes > 0) {
      sent.push_back({message.member, Bytes(from), message.count});
    }
    from += bytes;
  }
  if (group.size == 1) return;  // Nothing is communicated, and nothing counted.
  const Collective collective(*impl_, kind, group, ElementsOf(received) * size, 0);
  impl_->CountSent(kind, ElementsOf(sent) * size);
  impl_->CheckCount(std::max(ElementsOf(sent), ElementsOf(received)), kind);
  impl_->Check(impl_->transport->SendReceive(type, sent, received, group), kind);
}

void Comm::SendOf(ElementType type, const void* data, int64_t count, const Outbox& outbox, const Group& group) {
  if (count == 0 && !impl_->ExchangesMessages()) return;
  constexpr CollectiveKind kKind = CollectiveKind::kSendReceive;
  if (impl_->LeavesToThread()) return impl_->OnThread(kKind, [=] { SendOf(type, data, count, outbox, group); });
  const int64_t bytes = count * SizeOf(type);
  impl_->CheckCount(count, kKind);
  const auto send = [=] {
    impl_->Check(impl_->transport->AwaitTaken(outbox, group), kKind);
    std::byte* const kept = impl_->outboxes[outbox].AtLeast(bytes);
    CopyBytes(data, kept, bytes);
    impl_->Check(impl_->transport->BeginSend(type, {outbox.member, kept, count}, outbox, group), kKind);
  };
  impl_->CountSent(kKind, bytes);
  if (impl_->ExchangesMessages()) {
    impl_->Count(kKind, group, bytes, 0);
    return Recorded::Between([=] {
      const Running running(*impl_, kKind);
      // Of the memory of communication: what kernels give back must be there when they are recorded.
      BeginCommunication();
      impl_->outboxes[outbox].AtLeast(bytes);
      LeaveCommunication();
      send();
    });
  }
  const Collective collective(*impl_, kKind, group, bytes, 0);
  send();
}

void Comm::ReceiveOf(ElementType type, void* data, int64_t count, int member, const Group& group) {
  if (count == 0 && !impl_->ExchangesMessages()) return;
  constexpr CollectiveKind kKind = CollectiveKind::kSendReceive;
  if (impl_->LeavesToThread()) return impl_->OnThread(kKind, [=] { ReceiveOf(type, data, count, member, group); });
  impl_->CheckCount(count, kKind);
  const auto receive = [=] {
    impl_->Check(impl_->transport->Receive(type, {member, static_cast<std::byte*>(data), count}, group), kKind);
  };
  if (impl_->ExchangesMessages()) {
    return Recorded::Between([this, receive] {
      const Running running(*impl_, kKind);
      receive();
    });
  }
  const Communicating communicating(*impl_, kKind);
  receive();
}

void Comm::BroadcastOf(ElementType type, void* data, int64_t count, int root, const Group& group) {
  if (group.size == 1 || count == 0) return;
  constexpr CollectiveKind kKind = CollectiveKind::kBroadcast;
  if (impl_->LeavesToThread()) return impl_->OnThread(kKind, [=] { BroadcastOf(type, data, count, root, group); });
  const Collective collective(*impl_, kKind, group, count * SizeOf(type), 1);
  impl_->CheckCount(count, kKind);
  impl_->Check(impl_->transport->Broadcast(type, data, count, root, group), kKind);
}

void Comm::Barrier(const Group& group) {
  if (group.size == 1) return;
  const Collective collective(*impl_, CollectiveKind::kBarrier, group, 0, 0);
  impl_->Check(impl_->transport->Barrier(group), CollectiveKind::kBarrier);
}

std::vector<std::string> Comm::GatherText(const std::string& text) {
  const Group& group = world();
  if (group.size == 1) return {text};
  constexpr CollectiveKind kKind = CollectiveKind::kAllGather;
  const bool counting = impl_->counting;
  impl_->counting = false;  // A message to the user is not part of the program's communication.
  std::vector<std::string> texts;
  {
    const Running running(*impl_, kKind);
    impl_->CheckCount(static_cast<int64_t>(text.size()), kKind);
    impl_->Check(impl_->transport->GatherText(text, texts, group), kKind);
  }
  impl_->counting = counting;
  return texts;
}

}  // namespace cleave::runtime
