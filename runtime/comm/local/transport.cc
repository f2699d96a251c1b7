#include "runtime/comm/local/transport.h"

#include <algorithm>
#include <utility>

#include "runtime/comm/packing.h"
#include "runtime/comm/reduce.h"
#include "runtime/device/memory.h"

namespace cleave::runtime {
namespace {

using ElementType = Transport::ElementType;

template <typename T>
const T* Data(const Board& board, int member) {
  return static_cast<const T*>(board.shown(member).data);
}

const std::byte* Bytes(const Board& board, int member) { return Data<std::byte>(board, member); }

// result[i] = the reduction of element begin + i of what all members show. `result` may be this member's own.
template <typename T, Reduction kReduction>
void ReduceShown(const Board& board, int members, const Range& range, T* result) {
  using Type = typename ReducedIn<T>::Type;
  constexpr int64_t kBlock = 1024;  // This many elements stay in the nearest cache.
  Type block[kBlock];
  for (int64_t begin = 0; begin < range.size; begin += kBlock) {
    const int64_t count = std::min(kBlock, range.size - begin);
    const int64_t at = range.begin + begin;
    for (int64_t i = 0; i < count; ++i) block[i] = static_cast<Type>(Data<T>(board, 0)[at + i]);
    for (int member = 1; member < members; ++member) {
      const T* const other = Data<T>(board, member) + at;
      for (int64_t i = 0; i < count; ++i) block[i] = Reduced<Type>(kReduction, block[i], static_cast<Type>(other[i]));
    }
    for (int64_t i = 0; i < count; ++i) result[begin + i] = static_cast<T>(block[i]);
  }
}

template <typename T>
void ReduceShown(const Board& board, const Group& group, const Range& range, Reduction reduction, T* result) {
  switch (reduction) {
    case Reduction::kSum:
      return ReduceShown<T, Reduction::kSum>(board, group.size, range, result);
    case Reduction::kMax:
      return ReduceShown<T, Reduction::kMax>(board, group.size, range, result);
    case Reduction::kMin:
      return ReduceShown<T, Reduction::kMin>(board, group.size, range, result);
    case Reduction::kProd:
      return ReduceShown<T, Reduction::kProd>(board, group.size, range, result);
  }
}

void ReduceShown(ElementType type, const Board& board, const Group& group, const Range& range, Reduction reduction,
                 void* result) {
  switch (type) {
    case ElementType::kFloat:
      return ReduceShown(board, group, range, reduction, static_cast<float*>(result));
    case ElementType::kDouble:
      return ReduceShown(board, group, range, reduction, static_cast<double*>(result));
    case ElementType::kInt32:
      return ReduceShown(board, group, range, reduction, static_cast<int32_t*>(result));
    case ElementType::kInt8:
      return ReduceShown(board, group, range, reduction, static_cast<int8_t*>(result));
    case ElementType::kBFloat16:
      return ReduceShown(board, group, range, reduction, static_cast<BFloat16*>(result));
    case ElementType::kFloat16:
      return ReduceShown(board, group, range, reduction, static_cast<Float16*>(result));
  }
}

}  // namespace

Problem LocalTransport::CreateGroup(const Group& group, const std::vector<int>& members) {
  boards_.resize(static_cast<size_t>(group.id) + 1);
  boards_.back() = ranks_->BoardOf(group, members);
  return std::nullopt;
}

Problem LocalTransport::AllReduce(ElementType type, void* data, int64_t count, Reduction reduction,
                                  const Group& group) {
  Board& board = Of(group);
  const int64_t size = Comm::SizeOf(type);
  board.Show(group.index, {data});
  board.Meet();
  // Nobody but this member reads these elements of any member now.
  const Range mine = Piece(count, group.size, group.index);
  ReduceShown(type, board, group, mine, reduction, static_cast<std::byte*>(data) + mine.begin * size);
  board.Meet();
  for (int member = 0; member < group.size; ++member) {
    const Range range = Piece(count, group.size, member);
    const int64_t at = range.begin * size;
    CopyBytes(Bytes(board, member) + at, static_cast<std::byte*>(data) + at, range.size * size);
  }
  board.Meet();
  return std::nullopt;
}

Problem LocalTransport::AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                                  const Group& group) {
  Board& board = Of(group);
  const int64_t size = Comm::SizeOf(type);
  const std::vector<int64_t> places = Begins(counts);
  board.Show(group.index, {piece});
  board.Meet();
  for (size_t member = 0; member < counts.size(); ++member) {
    CopyBytes(Bytes(board, static_cast<int>(member)), static_cast<std::byte*>(whole) + places[member] * size,
              counts[member] * size);
  }
  board.Meet();
  return std::nullopt;
}

Problem LocalTransport::ReduceScatter(ElementType type, const void* whole, void* piece,
                                      const std::vector<int64_t>& counts, Reduction reduction, const Group& group) {
  Board& board = Of(group);
  const size_t me = static_cast<size_t>(group.index);
  board.Show(group.index, {whole});
  board.Meet();
  ReduceShown(type, board, group, {Begins(counts)[me], counts[me]}, reduction, piece);
  board.Meet();
  return std::nullopt;
}

Problem LocalTransport::AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts,
                                 void* received, const std::vector<int64_t>& received_counts, const Group& group) {
  Board& board = Of(group);
  const int64_t size = Comm::SizeOf(type);
  std::byte* to = static_cast<std::byte*>(received);
  board.Show(group.index, {sent, &sent_counts});
  board.Meet();
  for (int member = 0; member < group.size; ++member) {
    const int64_t begin = Begins(*board.shown(member).counts)[static_cast<size_t>(group.index)];
    const int64_t bytes = received_counts[static_cast<size_t>(member)] * size;
    CopyBytes(Bytes(board, member) + begin * size, to, bytes);
    to += bytes;
  }
  board.Meet();
  return std::nullopt;
}

Problem LocalTransport::SendReceive(ElementType type, const std::vector<Parcel>& sends,
                                    const std::vector<Parcel>& receives, const Group& group) {
  Board& board = Of(group);
  board.Show(group.index, {nullptr, nullptr, &sends});
  board.Meet();
  ParcelsForMe parcels(board, group);
  for (const Parcel& parcel : receives) {
    CopyBytes(parcels.From(parcel.member).data, parcel.data, parcel.count * Comm::SizeOf(type));
  }
  board.Meet();
  return std::nullopt;
}

Problem LocalTransport::BeginSend(ElementType, const Parcel& parcel, const Outbox& outbox, const Group& group) {
  Of(group).MailboxOf(group.index, parcel.member).Put(parcel, outbox.box);
  return std::nullopt;
}

Problem LocalTransport::AwaitTaken(const Outbox& outbox, const Group& group) {
  Of(group).MailboxOf(group.index, outbox.member).AwaitTaken(outbox.box);
  return std::nullopt;
}

Problem LocalTransport::Receive(ElementType type, const Parcel& parcel, const Group& group) {
  Of(group).MailboxOf(parcel.member, group.index).Take([&](const Parcel& sent) {
    CopyBytes(sent.data, parcel.data, parcel.count * Comm::SizeOf(type));
  });
  return std::nullopt;
}

Problem LocalTransport::Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) {
  Board& board = Of(group);
  board.Show(group.index, {data});
  board.Meet();
  CopyBytes(Bytes(board, root), data, count * Comm::SizeOf(type));
  board.Meet();
  return std::nullopt;
}

Problem LocalTransport::Barrier(const Group& group) {
  Of(group).Meet();
  return std::nullopt;
}

Problem LocalTransport::GatherText(const std::string& text, std::vector<std::string>& texts, const Group& group) {
  Board& board = Of(group);
  board.Show(group.index, {nullptr, nullptr, nullptr, &text});
  board.Meet();
  for (int member = 0; member < group.size; ++member) texts.push_back(*board.shown(member).text);
  board.Meet();
  return std::nullopt;
}

const Parcel& ParcelsForMe::From(int member) {
  size_t& next = next_[static_cast<size_t>(member)];
  const std::vector<Parcel>& sends = *board_.shown(member).sends;
  while (sends[next].member != me_) ++next;
  return sends[next++];
}

}  // namespace cleave::runtime
