// The collectives. Each packs what is not contiguous, calls MPI, and unpacks.
#include <algorithm>
#include <cstring>

#include "runtime/comm/comm.h"
#include "runtime/comm/mpi/job.h"
#include "runtime/comm/packing.h"

namespace cleave::runtime {
namespace {

void Copy(const void* source, void* target, int64_t bytes) {
  if (bytes > 0 && source != target) std::memmove(target, source, static_cast<size_t>(bytes));
}

// An element type as MPI knows it, and its size.
struct Element {
  MPI_Datatype type;
  int64_t size;
};

template <typename ElementType>
Element ElementOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
      return {MPI_FLOAT, sizeof(float)};
    case ElementType::kDouble:
      return {MPI_DOUBLE, sizeof(double)};
    case ElementType::kInt32:
      return {MPI_INT32_T, sizeof(int32_t)};
  }
  return {MPI_DATATYPE_NULL, 0};
}

// Several tensors as a message has them: member after member, for each its pieces of all tensors.
class PackedParts {
 public:
  // `size`: of an element.
  PackedParts(const std::vector<Comm::Part>& parts, int64_t size, const Group& group)
      : parts_(parts), size_(size), index_(static_cast<size_t>(group.index)), counts_(static_cast<size_t>(group.size)) {
    for (const Comm::Part& part : parts) {
      views_.emplace_back(*part.shape, part.cut->dimension);
      const OneDimension& view = views_.back();
      elements_ += view.outer * view.size * view.inner;
      for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += view.outer * part.cut->sizes[i] * view.inner;
    }
  }

  int64_t elements() const { return elements_; }
  const std::vector<int64_t>& counts() const { return counts_; }  // Elements, by member.
  int64_t own_bytes() const { return counts_[index_] * size_; }
  // The message is the tensor as it lies.
  bool is_contiguous() const { return parts_.size() == 1 && views_[0].outer == 1; }

  // visit(part, place among this member's pieces, size), in bytes.
  template <typename Visit>
  void ForEachOwnPiece(const Visit& visit) const {
    int64_t at = 0;
    for (size_t p = 0; p < parts_.size(); ++p) {
      const int64_t bytes = views_[p].outer * parts_[p].cut->sizes[index_] * views_[p].inner * size_;
      visit(parts_[p], at, bytes);
      at += bytes;
    }
  }

  // visit(part, place in its tensor, place in the message, size), in bytes, for all that is contiguous in both.
  template <typename Visit>
  void ForEachRun(const Visit& visit) const {
    int64_t at = 0;
    std::vector<int64_t> begins(parts_.size(), 0);  // Of the member's pieces, in their dimensions.
    for (size_t member = 0; member < counts_.size(); ++member) {
      for (size_t p = 0; p < parts_.size(); ++p) {
        const OneDimension& view = views_[p];
        const int64_t piece = parts_[p].cut->sizes[member];
        const int64_t run = piece * view.inner * size_;
        for (int64_t outer = 0; outer < view.outer; ++outer, at += run) {
          visit(parts_[p], (outer * view.size + begins[p]) * view.inner * size_, at, run);
        }
        begins[p] += piece;
      }
    }
  }

 private:
  const std::vector<Comm::Part>& parts_;
  int64_t size_;
  size_t index_;
  int64_t elements_ = 0;
  std::vector<int64_t> counts_;
  std::vector<OneDimension> views_;
};

}  // namespace

void Comm::AllReduceOf(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) {
  if (group.size == 1 || count == 0) return;
  constexpr CollectiveKind kKind = CollectiveKind::kAllReduce;
  const Element element = ElementOf(type);
  const Running running(*impl_, kKind, group, count * element.size, 2);
  impl_->Check(MPI_Allreduce(MPI_IN_PLACE, data, impl_->Count(count, kKind), element.type, MpiOp(reduction),
                             impl_->communicator(group)),
               kKind);
}

Pending Comm::StartAllReduceOf(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) {
  if (group.size == 1 || count == 0) return {};
  constexpr CollectiveKind kKind = CollectiveKind::kAllReduce;
  const Element element = ElementOf(type);
  const Running running(*impl_, kKind, group, count * element.size, 2);
  std::vector<MPI_Request>& requests = impl_->requests;
  const auto free = std::find(requests.begin(), requests.end(), MPI_REQUEST_NULL);
  const Pending pending{static_cast<int>(free - requests.begin())};
  if (free == requests.end()) requests.push_back(MPI_REQUEST_NULL);
  impl_->Check(MPI_Iallreduce(MPI_IN_PLACE, data, impl_->Count(count, kKind), element.type, MpiOp(reduction),
                              impl_->communicator(group), &requests[static_cast<size_t>(pending.id)]),
               kKind);
  return pending;
}

void Comm::Finish(Pending& pending) {
  if (pending.id < 0) return;
  const Running running(*impl_, CollectiveKind::kAllReduce);
  impl_->Check(MPI_Wait(&impl_->requests[static_cast<size_t>(pending.id)], MPI_STATUS_IGNORE),
               CollectiveKind::kAllReduce);
  pending.id = -1;
}

void Comm::AllGatherOf(ElementType type, const std::vector<Part>& parts, const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kAllGather;
  const Element element = ElementOf(type);
  const PackedParts packed(parts, element.size, group);
  if (group.size == 1) {
    for (const Part& part : parts) Copy(part.source, part.target, ElementCount(*part.shape) * element.size);
    return;
  }
  if (packed.elements() == 0) return;
  const int64_t bytes = packed.elements() * element.size;
  const Running running(*impl_, kKind, group, bytes, 1);
  const void* piece = parts.front().source;
  if (parts.size() > 1) {
    std::byte* const sent = impl_->send.AtLeast(packed.own_bytes());
    packed.ForEachOwnPiece([&](const Part& part, int64_t at, int64_t size) { Copy(part.source, sent + at, size); });
    piece = sent;
  }
  void* const received = packed.is_contiguous() ? parts.front().target : impl_->receive.AtLeast(bytes);
  const std::vector<int> counts = impl_->Counts(packed.counts(), kKind);
  const std::vector<int> places = impl_->Counts(Begins(packed.counts()), kKind);
  impl_->Check(MPI_Allgatherv(piece, counts[static_cast<size_t>(group.index)], element.type, received, counts.data(),
                              places.data(), element.type, impl_->communicator(group)),
               kKind);
  if (packed.is_contiguous()) return;
  packed.ForEachRun([&](const Part& part, int64_t in_tensor, int64_t at, int64_t size) {
    Copy(static_cast<const std::byte*>(received) + at, static_cast<std::byte*>(part.target) + in_tensor, size);
  });
}

void Comm::ReduceScatterOf(ElementType type, const std::vector<Part>& parts, Reduction reduction, const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kReduceScatter;
  const Element element = ElementOf(type);
  const PackedParts packed(parts, element.size, group);
  if (group.size == 1) {
    for (const Part& part : parts) Copy(part.source, part.target, ElementCount(*part.shape) * element.size);
    return;
  }
  if (packed.elements() == 0) return;
  const int64_t bytes = packed.elements() * element.size;
  const Running running(*impl_, kKind, group, bytes, 1);
  impl_->Count(packed.elements(), kKind);
  const void* whole = parts.front().source;
  if (!packed.is_contiguous()) {
    std::byte* const sent = impl_->send.AtLeast(bytes);
    packed.ForEachRun([&](const Part& part, int64_t in_tensor, int64_t at, int64_t size) {
      Copy(static_cast<const std::byte*>(part.source) + in_tensor, sent + at, size);
    });
    whole = sent;
  }
  void* const piece = parts.size() == 1 ? parts.front().target : impl_->receive.AtLeast(packed.own_bytes());
  impl_->Check(MPI_Reduce_scatter(whole, piece, impl_->Counts(packed.counts(), kKind).data(), element.type,
                                  MpiOp(reduction), impl_->communicator(group)),
               kKind);
  if (parts.size() == 1) return;
  packed.ForEachOwnPiece([&](const Part& part, int64_t at, int64_t size) {
    Copy(static_cast<const std::byte*>(piece) + at, part.target, size);
  });
}

void Comm::AllToAllOf(ElementType type, const void* source, void* target, const std::vector<int64_t>& shape,
                      const Cut& from, const Cut& to, const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kAllToAll;
  const Element element = ElementOf(type);
  if (group.size == 1) return Copy(source, target, ElementCount(shape) * element.size);
  const size_t me = static_cast<size_t>(group.index);
  std::vector<int64_t> source_shape = shape;
  std::vector<int64_t> target_shape = shape;
  source_shape[static_cast<size_t>(from.dimension)] = from.sizes[me];
  target_shape[static_cast<size_t>(to.dimension)] = to.sizes[me];
  const Running running(*impl_, kKind, group, ElementCount(source_shape) * element.size, 1);

  const bool from_is_first = from.dimension < to.dimension;
  const int first = std::min(from.dimension, to.dimension);
  const int second = std::max(from.dimension, to.dimension);
  const TwoDimensions source_view(source_shape, first, second);
  const TwoDimensions target_view(target_shape, first, second);
  const std::vector<int64_t> from_begins = Begins(from.sizes);
  const std::vector<int64_t> to_begins = Begins(to.sizes);
  // What member i gets of my source, and where what it sends belongs in my target.
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
  std::byte* const send = impl_->send.AtLeast(send_places.back() * element.size);
  std::byte* const receive = impl_->receive.AtLeast(receive_places.back() * element.size);
  for (size_t i = 0; i < members; ++i) {
    source_view.Pack(static_cast<const std::byte*>(source), sent_box(i), element.size,
                     send + send_places[i] * element.size);
  }
  impl_->Check(MPI_Alltoallv(send, impl_->Counts(send_counts, kKind).data(), impl_->Counts(send_places, kKind).data(),
                             element.type, receive, impl_->Counts(receive_counts, kKind).data(),
                             impl_->Counts(receive_places, kKind).data(), element.type, impl_->communicator(group)),
               kKind);
  for (size_t i = 0; i < members; ++i) {
    target_view.Unpack(receive + receive_places[i] * element.size, received_box(i), element.size,
                       static_cast<std::byte*>(target));
  }
}

void Comm::PermuteOf(ElementType type, const void* source, int64_t source_count, int destination, void* target,
                     int64_t target_count, int origin, const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kPermute;
  const Element element = ElementOf(type);
  if (origin == group.index) Copy(source, target, target_count * element.size);
  if (group.size == 1) return;
  const int64_t bytes = source_count * element.size;
  const Running running(*impl_, kKind, group, bytes, 0);
  const int receiver = destination < 0 || destination == group.index ? MPI_PROC_NULL : destination;
  const int sender = origin < 0 || origin == group.index ? MPI_PROC_NULL : origin;
  if (receiver != MPI_PROC_NULL && impl_->counting) {
    impl_->traffic[static_cast<size_t>(kKind)].sent_bytes += static_cast<double>(bytes);
  }
  constexpr int kTag = 0;
  impl_->Check(MPI_Sendrecv(source, impl_->Count(source_count, kKind), element.type, receiver, kTag, target,
                            impl_->Count(target_count, kKind), element.type, sender, kTag, impl_->communicator(group),
                            MPI_STATUS_IGNORE),
               kKind);
}

void Comm::NeighborExchangeOf(ElementType type, const void* source, void* target, const Exchange& exchange,
                              const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kNeighborExchange;
  const Element element = ElementOf(type);
  const size_t me = static_cast<size_t>(group.index);
  const std::byte* const from = static_cast<const std::byte*>(source);
  std::byte* const to = static_cast<std::byte*>(target);
  CopyRegion(from, exchange.sends[me], element.size, exchange.receives[me], to);
  if (group.size == 1) return;
  std::vector<int64_t> send_counts;
  std::vector<int64_t> receive_counts;
  for (size_t i = 0; i < exchange.sends.size(); ++i) {
    send_counts.push_back(i == me ? 0 : ElementCount(exchange.sends[i].size));
    receive_counts.push_back(i == me ? 0 : ElementCount(exchange.receives[i].size));
  }
  const std::vector<int64_t> send_places = Begins(send_counts);
  const std::vector<int64_t> receive_places = Begins(receive_counts);
  const Running running(*impl_, kKind, group, receive_places.back() * element.size, 0);
  std::byte* const send = impl_->send.AtLeast(send_places.back() * element.size);
  std::byte* const receive = impl_->receive.AtLeast(receive_places.back() * element.size);

  constexpr int kTag = 0;
  std::vector<MPI_Request> requests;
  for (size_t i = 0; i < receive_counts.size(); ++i) {
    if (receive_counts[i] == 0) continue;
    impl_->Check(MPI_Irecv(receive + receive_places[i] * element.size, impl_->Count(receive_counts[i], kKind),
                           element.type, static_cast<int>(i), kTag, impl_->communicator(group),
                           &requests.emplace_back()),
                 kKind);
  }
  for (size_t i = 0; i < send_counts.size(); ++i) {
    if (send_counts[i] == 0) continue;
    std::byte* const packed = send + send_places[i] * element.size;
    Pack(from, exchange.sends[i], element.size, packed);
    impl_->Check(MPI_Isend(packed, impl_->Count(send_counts[i], kKind), element.type, static_cast<int>(i), kTag,
                           impl_->communicator(group), &requests.emplace_back()),
                 kKind);
  }
  if (impl_->counting) {
    impl_->traffic[static_cast<size_t>(kKind)].sent_bytes += static_cast<double>(send_places.back() * element.size);
  }
  impl_->Check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), kKind);
  for (size_t i = 0; i < receive_counts.size(); ++i) {
    if (receive_counts[i] > 0) Unpack(receive + receive_places[i] * element.size, exchange.receives[i], element.size, to);
  }
}

void Comm::BroadcastOf(ElementType type, void* data, int64_t count, int root, const Group& group) {
  if (group.size == 1 || count == 0) return;
  constexpr CollectiveKind kKind = CollectiveKind::kBroadcast;
  const Element element = ElementOf(type);
  const Running running(*impl_, kKind, group, count * element.size, 1);
  impl_->Check(MPI_Bcast(data, impl_->Count(count, kKind), element.type, root, impl_->communicator(group)), kKind);
}

void Comm::Barrier(const Group& group) {
  if (group.size == 1) return;
  const Running running(*impl_, CollectiveKind::kBarrier, group, 0, 0);
  impl_->Check(MPI_Barrier(impl_->communicator(group)), CollectiveKind::kBarrier);
}

std::vector<std::string> Comm::GatherText(const std::string& text) {
  const Group& group = world();
  if (group.size == 1) return {text};
  constexpr CollectiveKind kKind = CollectiveKind::kAllGather;
  const bool counting = impl_->counting;
  impl_->counting = false;  // A message to the user is no part of the program's communication.
  std::vector<std::string> texts;
  {
    const Running running(*impl_, kKind);
    const int length = impl_->Count(static_cast<int64_t>(text.size()), kKind);
    std::vector<int> lengths(static_cast<size_t>(group.size));
    impl_->Check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, impl_->communicator(group)), kKind);
    const std::vector<int64_t> begins = Begins({lengths.begin(), lengths.end()});
    std::string all(static_cast<size_t>(begins.back()), '\0');
    impl_->Check(MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(),
                                impl_->Counts(begins, kKind).data(), MPI_CHAR, impl_->communicator(group)),
                 kKind);
    for (size_t i = 0; i < lengths.size(); ++i) {
      texts.push_back(all.substr(static_cast<size_t>(begins[i]), static_cast<size_t>(lengths[i])));
    }
  }
  impl_->counting = counting;
  return texts;
}

}  // namespace cleave::runtime
