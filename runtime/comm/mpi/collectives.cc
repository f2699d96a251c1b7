// The collectives. Each packs what is not contiguous, calls MPI, and unpacks.
#include <algorithm>
#include <cstring>

#include "runtime/comm/comm.h"
#include "runtime/comm/mpi/job.h"
#include "runtime/comm/packing.h"

namespace cleave::runtime {
namespace {

template <typename T>
int64_t BytesOf(int64_t count) {
  return count * static_cast<int64_t>(sizeof(T));
}

template <typename T>
void Copy(const T* source, T* target, int64_t count) {
  if (count > 0 && source != target) std::memmove(target, source, static_cast<size_t>(count) * sizeof(T));
}

std::vector<int64_t> Scaled(std::vector<int64_t> values, int64_t factor) {
  for (int64_t& value : values) value *= factor;
  return values;
}

}  // namespace

template <typename T>
void Comm::AllReduce(T* data, int64_t count, Reduction reduction, const Group& group) {
  if (group.size == 1 || count == 0) return;
  constexpr CollectiveKind kKind = CollectiveKind::kAllReduce;
  const Running running(*impl_, kKind, group, BytesOf<T>(count), 2);
  impl_->Check(MPI_Allreduce(MPI_IN_PLACE, data, impl_->Count(count, kKind), MpiType<T>(), MpiOp(reduction),
                             impl_->communicator(group)),
               kKind);
}

template <typename T>
Pending Comm::StartAllReduce(T* data, int64_t count, Reduction reduction, const Group& group) {
  if (group.size == 1 || count == 0) return {};
  constexpr CollectiveKind kKind = CollectiveKind::kAllReduce;
  const Running running(*impl_, kKind, group, BytesOf<T>(count), 2);
  std::vector<MPI_Request>& requests = impl_->requests;
  const auto free = std::find(requests.begin(), requests.end(), MPI_REQUEST_NULL);
  const Pending pending{static_cast<int>(free - requests.begin())};
  if (free == requests.end()) requests.push_back(MPI_REQUEST_NULL);
  impl_->Check(MPI_Iallreduce(MPI_IN_PLACE, data, impl_->Count(count, kKind), MpiType<T>(), MpiOp(reduction),
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

template <typename T>
void Comm::AllGather(const T* piece, T* whole, const std::vector<int64_t>& shape, const Cut& cut, const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kAllGather;
  const int64_t elements = ElementCount(shape);
  if (group.size == 1) return Copy(piece, whole, elements);
  if (elements == 0) return;
  const Running running(*impl_, kKind, group, BytesOf<T>(elements), 1);
  const OneDimension view(shape, cut.dimension);
  const std::vector<int64_t> begins = Begins(cut.sizes);
  impl_->Count(elements, kKind);
  const std::vector<int> counts = impl_->Counts(Scaled(cut.sizes, view.outer * view.inner), kKind);
  const std::vector<int> places = impl_->Counts(Scaled(begins, view.outer * view.inner), kKind);
  const int mine = counts[static_cast<size_t>(group.index)];
  T* received = view.outer == 1 ? whole : impl_->receive.Get<T>(elements);
  impl_->Check(MPI_Allgatherv(piece, mine, MpiType<T>(), received, counts.data(), places.data(), MpiType<T>(),
                              impl_->communicator(group)),
               kKind);
  if (view.outer == 1) return;
  for (size_t member = 0; member < cut.sizes.size(); ++member) {
    const int64_t run = cut.sizes[member] * view.inner;
    const T* from = received + places[member];
    for (int64_t outer = 0; outer < view.outer; ++outer) {
      Copy(from + outer * run, whole + (outer * view.size + begins[member]) * view.inner, run);
    }
  }
}

template <typename T>
void Comm::ReduceScatter(const T* whole, T* piece, const std::vector<int64_t>& shape, const Cut& cut,
                         Reduction reduction, const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kReduceScatter;
  const int64_t elements = ElementCount(shape);
  if (group.size == 1) return Copy(whole, piece, elements);
  if (elements == 0) return;
  const Running running(*impl_, kKind, group, BytesOf<T>(elements), 1);
  const OneDimension view(shape, cut.dimension);
  const std::vector<int64_t> begins = Begins(cut.sizes);
  impl_->Count(elements, kKind);
  const std::vector<int> counts = impl_->Counts(Scaled(cut.sizes, view.outer * view.inner), kKind);
  const T* sent = whole;
  if (view.outer > 1) {
    T* packed = impl_->send.Get<T>(elements);
    sent = packed;
    for (size_t member = 0; member < cut.sizes.size(); ++member) {
      const int64_t run = cut.sizes[member] * view.inner;
      for (int64_t outer = 0; outer < view.outer; ++outer, packed += run) {
        Copy(whole + (outer * view.size + begins[member]) * view.inner, packed, run);
      }
    }
  }
  impl_->Check(
      MPI_Reduce_scatter(sent, piece, counts.data(), MpiType<T>(), MpiOp(reduction), impl_->communicator(group)),
      kKind);
}

template <typename T>
void Comm::AllToAll(const T* source, T* target, const std::vector<int64_t>& shape, const Cut& from, const Cut& to,
                    const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kAllToAll;
  if (group.size == 1) return Copy(source, target, ElementCount(shape));
  const size_t me = static_cast<size_t>(group.index);
  std::vector<int64_t> source_shape = shape;
  std::vector<int64_t> target_shape = shape;
  source_shape[static_cast<size_t>(from.dimension)] = from.sizes[me];
  target_shape[static_cast<size_t>(to.dimension)] = to.sizes[me];
  const Running running(*impl_, kKind, group, BytesOf<T>(ElementCount(source_shape)), 1);

  const bool from_is_first = from.dimension < to.dimension;
  const auto [first, second] = std::minmax(from.dimension, to.dimension);
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

  std::vector<int64_t> send_counts;
  std::vector<int64_t> receive_counts;
  for (size_t i = 0; i < from.sizes.size(); ++i) {
    send_counts.push_back(source_view.Elements(sent_box(i)));
    receive_counts.push_back(target_view.Elements(received_box(i)));
  }
  const std::vector<int64_t> send_places = Begins(send_counts);
  const std::vector<int64_t> receive_places = Begins(receive_counts);
  T* const send = impl_->send.Get<T>(send_places.back());
  T* const receive = impl_->receive.Get<T>(receive_places.back());
  for (size_t i = 0; i < send_counts.size(); ++i) source_view.Pack(source, sent_box(i), send + send_places[i]);
  impl_->Check(MPI_Alltoallv(send, impl_->Counts(send_counts, kKind).data(), impl_->Counts(send_places, kKind).data(),
                             MpiType<T>(), receive, impl_->Counts(receive_counts, kKind).data(),
                             impl_->Counts(receive_places, kKind).data(), MpiType<T>(), impl_->communicator(group)),
               kKind);
  for (size_t i = 0; i < receive_counts.size(); ++i) {
    target_view.Unpack(receive + receive_places[i], received_box(i), target);
  }
}

template <typename T>
void Comm::Permute(const T* source, int64_t source_count, int destination, T* target, int64_t target_count, int origin,
                   const Group& group) {
  constexpr CollectiveKind kKind = CollectiveKind::kPermute;
  if (origin == group.index) Copy(source, target, target_count);
  if (group.size == 1) return;
  const Running running(*impl_, kKind, group, BytesOf<T>(source_count), 0);
  const int receiver = destination < 0 || destination == group.index ? MPI_PROC_NULL : destination;
  const int sender = origin < 0 || origin == group.index ? MPI_PROC_NULL : origin;
  if (receiver != MPI_PROC_NULL && impl_->counting) {
    impl_->traffic[static_cast<size_t>(kKind)].sent_bytes += static_cast<double>(BytesOf<T>(source_count));
  }
  constexpr int kTag = 0;
  impl_->Check(MPI_Sendrecv(source, impl_->Count(source_count, kKind), MpiType<T>(), receiver, kTag, target,
                            impl_->Count(target_count, kKind), MpiType<T>(), sender, kTag, impl_->communicator(group),
                            MPI_STATUS_IGNORE),
               kKind);
}

template <typename T>
void Comm::Broadcast(T* data, int64_t count, int root, const Group& group) {
  if (group.size == 1 || count == 0) return;
  constexpr CollectiveKind kKind = CollectiveKind::kBroadcast;
  const Running running(*impl_, kKind, group, BytesOf<T>(count), 1);
  impl_->Check(MPI_Bcast(data, impl_->Count(count, kKind), MpiType<T>(), root, impl_->communicator(group)), kKind);
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

// The element types that programs communicate.
#define CLEAVE_INSTANTIATE(T)                                                                                        \
  template void Comm::AllReduce(T*, int64_t, Reduction, const Group&);                                               \
  template Pending Comm::StartAllReduce(T*, int64_t, Reduction, const Group&);                                       \
  template void Comm::AllGather(const T*, T*, const std::vector<int64_t>&, const Cut&, const Group&);                \
  template void Comm::ReduceScatter(const T*, T*, const std::vector<int64_t>&, const Cut&, Reduction, const Group&); \
  template void Comm::AllToAll(const T*, T*, const std::vector<int64_t>&, const Cut&, const Cut&, const Group&);     \
  template void Comm::Permute(const T*, int64_t, int, T*, int64_t, int, const Group&);                               \
  template void Comm::Broadcast(T*, int64_t, int, const Group&)
CLEAVE_INSTANTIATE(float);
CLEAVE_INSTANTIATE(double);
CLEAVE_INSTANTIATE(int32_t);
#undef CLEAVE_INSTANTIATE

}  // namespace cleave::runtime
