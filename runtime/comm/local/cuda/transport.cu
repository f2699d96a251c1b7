#include <utility>

#include "runtime/comm/local/cuda/transport.h"
#include "runtime/comm/local/transport.h"
#include "runtime/comm/packing.h"
#include "runtime/comm/reduce.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/waiting.h"
#include "runtime/device/memory.h"

namespace cleave::runtime {
namespace {

using ElementType = Transport::ElementType;

// What all members show, as the argument of a kernel.
struct MemberData {
  const void* data[kMostLocalMembers];
  int members;
};

MemberData DataOf(const StreamMeeting& meeting, int members) {
  MemberData data = {};
  data.members = members;
  for (int member = 0; member < members; ++member) data.data[member] = meeting.shown(member).data;
  return data;
}

// result[i] = the reduction of element begin + i of all members, in their order. `result` may be this member's own
// tensor.
template <typename T, Reduction kReduction>
__global__ void ReduceMembers(MemberData members, int64_t begin, int64_t count, T* result) {
  using Type = typename ReducedIn<T>::Type;
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    Type value = static_cast<Type>(static_cast<const T*>(members.data[0])[begin + i]);
    for (int member = 1; member < members.members; ++member) {
      const T other = static_cast<const T*>(members.data[member])[begin + i];
      value = Reduced<Type>(kReduction, value, static_cast<Type>(other));
    }
    result[i] = static_cast<T>(value);
  }
}

template <typename T>
void LaunchReduce(const MemberData& members, const Range& range, Reduction reduction, void* result) {
  const auto launch = [&](void (*kernel)(MemberData, int64_t, int64_t, T*)) {
    Launch(kernel, ForElements(range.size), members, range.begin, range.size, static_cast<T*>(result));
  };
  switch (reduction) {
    case Reduction::kSum:
      return launch(ReduceMembers<T, Reduction::kSum>);
    case Reduction::kMax:
      return launch(ReduceMembers<T, Reduction::kMax>);
    case Reduction::kMin:
      return launch(ReduceMembers<T, Reduction::kMin>);
    case Reduction::kProd:
      return launch(ReduceMembers<T, Reduction::kProd>);
  }
}

void LaunchReduce(ElementType type, const MemberData& members, const Range& range, Reduction reduction, void* result) {
  switch (type) {
    case ElementType::kFloat:
      return LaunchReduce<float>(members, range, reduction, result);
    case ElementType::kDouble:
      return LaunchReduce<double>(members, range, reduction, result);
    case ElementType::kInt32:
      return LaunchReduce<int32_t>(members, range, reduction, result);
    case ElementType::kInt8:
      return LaunchReduce<int8_t>(members, range, reduction, result);
    case ElementType::kBFloat16:
      return LaunchReduce<BFloat16>(members, range, reduction, result);
    case ElementType::kFloat16:
      return LaunchReduce<Float16>(members, range, reduction, result);
  }
}

const std::byte* Data(const StreamMeeting& meeting, int member) {
  return static_cast<const std::byte*>(meeting.shown(member).data);
}

}  // namespace

StreamMeeting::StreamMeeting(std::shared_ptr<Board> board, const Group& group)
    : board_(std::move(board)), member_(group.index) {
  std::vector<cudaEvent_t> mine(kPhases);
  for (cudaEvent_t& event : mine) event = NewEvent();
  Show({mine.data()});
  board_->Meet();
  for (size_t phase = 0; phase < kPhases; ++phase) {
    std::vector<cudaEvent_t>& events = events_.emplace_back();
    for (int member = 0; member < group.size; ++member) {
      events.push_back(static_cast<const cudaEvent_t*>(shown(member).data)[phase]);
    }
  }
  board_->Meet();
}

StreamMeeting::~StreamMeeting() {
  for (const std::vector<cudaEvent_t>& events : events_) cudaEventDestroy(events[static_cast<size_t>(member_)]);
}

void StreamMeeting::Meet(int phase) {
  const std::vector<cudaEvent_t>& events = events_[static_cast<size_t>(phase)];
  CheckCuda(cudaEventRecord(events[static_cast<size_t>(member_)], CurrentStream()), "cudaEventRecord");
  board_->Meet();
  for (const cudaEvent_t event : events) {
    CheckCuda(cudaStreamWaitEvent(CurrentStream(), event, 0), "cudaStreamWaitEvent");
  }
}

LocalDeviceTransport::LocalDeviceTransport(std::unique_ptr<Transport> control, std::shared_ptr<LocalRanks> ranks,
                                           Comm::Impl& job)
    : control_(std::move(control)), ranks_(std::move(ranks)), marks_(job.watch) {
  const Group& world = job.groups[0].group;
  std::vector<int> members;
  for (int rank = 0; rank < world.size; ++rank) members.push_back(rank);
  AddGroup(world, members);
}

void LocalDeviceTransport::AddGroup(const Group& group, const std::vector<int>& members) {
  meetings_.resize(static_cast<size_t>(group.id) + 1);
  // Texts use the same board, too: all members use it in the same order.
  meetings_.back() = std::make_unique<StreamMeeting>(ranks_->BoardOf(group, members), group);
}

Problem LocalDeviceTransport::CreateGroup(const Group& group, const std::vector<int>& members) {
  if (Problem problem = control_->CreateGroup(group, members)) return problem;
  AddGroup(group, members);
  return std::nullopt;
}

Problem LocalDeviceTransport::AllReduce(ElementType type, void* data, int64_t count, Reduction reduction,
                                        const Group& group) {
  StreamMeeting& meeting = Of(group);
  const int64_t size = Comm::SizeOf(type);
  meeting.Show({data});
  meeting.Meet(0);
  // Nobody but this member reads these elements of any member now.
  const Range mine = Piece(count, group.size, group.index);
  LaunchReduce(type, DataOf(meeting, group.size), mine, reduction, static_cast<std::byte*>(data) + mine.begin * size);
  meeting.Meet(1);
  for (int member = 0; member < group.size; ++member) {
    const Range range = Piece(count, group.size, member);
    const int64_t at = range.begin * size;
    CopyBytes(Data(meeting, member) + at, static_cast<std::byte*>(data) + at, range.size * size);
  }
  meeting.Meet(2);
  return std::nullopt;
}

Problem LocalDeviceTransport::AllGather(ElementType type, const void* piece, void* whole,
                                        const std::vector<int64_t>& counts, const Group& group) {
  StreamMeeting& meeting = Of(group);
  const int64_t size = Comm::SizeOf(type);
  const std::vector<int64_t> places = Begins(counts);
  meeting.Show({piece});
  meeting.Meet(0);
  for (size_t member = 0; member < counts.size(); ++member) {
    CopyBytes(Data(meeting, static_cast<int>(member)), static_cast<std::byte*>(whole) + places[member] * size,
              counts[member] * size);
  }
  meeting.Meet(1);
  return std::nullopt;
}

Problem LocalDeviceTransport::ReduceScatter(ElementType type, const void* whole, void* piece,
                                            const std::vector<int64_t>& counts, Reduction reduction,
                                            const Group& group) {
  StreamMeeting& meeting = Of(group);
  const size_t me = static_cast<size_t>(group.index);
  meeting.Show({whole});
  meeting.Meet(0);
  LaunchReduce(type, DataOf(meeting, group.size), {Begins(counts)[me], counts[me]}, reduction, piece);
  meeting.Meet(1);
  return std::nullopt;
}

Problem LocalDeviceTransport::AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts,
                                       void* received, const std::vector<int64_t>& received_counts,
                                       const Group& group) {
  StreamMeeting& meeting = Of(group);
  const int64_t size = Comm::SizeOf(type);
  std::byte* to = static_cast<std::byte*>(received);
  meeting.Show({sent, &sent_counts});
  meeting.Meet(0);
  for (int member = 0; member < group.size; ++member) {
    const int64_t begin = Begins(*meeting.shown(member).counts)[static_cast<size_t>(group.index)];
    const int64_t bytes = received_counts[static_cast<size_t>(member)] * size;
    CopyBytes(Data(meeting, member) + begin * size, to, bytes);
    to += bytes;
  }
  meeting.Meet(1);
  return std::nullopt;
}

Problem LocalDeviceTransport::SendReceive(ElementType type, const std::vector<Parcel>& sends,
                                          const std::vector<Parcel>& receives, const Group& group) {
  StreamMeeting& meeting = Of(group);
  meeting.Show({nullptr, nullptr, &sends});
  meeting.Meet(0);
  ParcelsForMe parcels(meeting.board(), group);
  for (const Parcel& parcel : receives) {
    CopyBytes(parcels.From(parcel.member).data, parcel.data, parcel.count * Comm::SizeOf(type));
  }
  meeting.Meet(1);
  return std::nullopt;
}

Problem LocalDeviceTransport::BeginSend(ElementType, const Parcel& parcel, const Outbox& outbox, const Group& group) {
  WaitForStream(CurrentStream());
  Of(group).board().MailboxOf(group.index, parcel.member).Put(parcel, outbox.box);
  return std::nullopt;
}

Problem LocalDeviceTransport::AwaitTaken(const Outbox& outbox, const Group& group) {
  Of(group).board().MailboxOf(group.index, outbox.member).AwaitTaken(outbox.box);
  return std::nullopt;
}

Problem LocalDeviceTransport::Receive(ElementType type, const Parcel& parcel, const Group& group) {
  Of(group).board().MailboxOf(parcel.member, group.index).Take([&](const Parcel& sent) {
    CopyBytes(sent.data, parcel.data, parcel.count * Comm::SizeOf(type));
    WaitForStream(CurrentStream());
  });
  return std::nullopt;
}

Problem LocalDeviceTransport::Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) {
  StreamMeeting& meeting = Of(group);
  meeting.Show({data});
  meeting.Meet(0);
  CopyBytes(Data(meeting, root), data, count * Comm::SizeOf(type));
  meeting.Meet(1);
  return std::nullopt;
}

Problem LocalDeviceTransport::Barrier(const Group& group) {
  StreamMeeting& meeting = Of(group);
  meeting.Meet(0);
  meeting.Meet(1);
  return std::nullopt;
}

Problem LocalDeviceTransport::GatherText(const std::string& text, std::vector<std::string>& texts, const Group& group) {
  return control_->GatherText(text, texts, group);
}

void LocalDeviceTransport::Leave() {
  // Others may still copy from this rank's memory, and wait for its events.
  WaitForStream(CommunicationStream());
  control_->Barrier({0, ranks_->ranks(), 0});
  control_->Leave();
}

}  // namespace cleave::runtime
