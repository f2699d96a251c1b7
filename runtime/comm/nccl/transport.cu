#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/comm/nccl/extremes.h"
#include "runtime/comm/nccl/transport.h"
#include "runtime/comm/packing.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/waiting.h"
#include "runtime/device/memory.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

using ElementType = Transport::ElementType;

ncclDataType_t NcclType(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
      return ncclFloat32;
    case ElementType::kDouble:
      return ncclFloat64;
    case ElementType::kInt32:
      return ncclInt32;
    case ElementType::kInt8:
      return ncclInt8;
    case ElementType::kBFloat16:
      return ncclBfloat16;
    case ElementType::kFloat16:
      return ncclFloat16;
  }
  return ncclNumTypes;
}

ncclRedOp_t NcclOperation(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return ncclSum;
    case Reduction::kMax:
      return ncclMax;
    case Reduction::kMin:
      return ncclMin;
    case Reduction::kProd:
      return ncclProd;
  }
  return ncclNumOps;
}

ncclDataType_t KeyType(const Keys& keys) { return keys.size() == 8 ? ncclInt64 : ncclInt32; }

// The calls between its construction and End are one call for NCCL, which sees all of them before it begins any. The
// result is that of the first one that is refused.
class NcclGroup {
 public:
  NcclGroup() { Add(ncclGroupStart()); }
  void Add(ncclResult_t result) {
    if (result_ == ncclSuccess && result != ncclInProgress) result_ = result;
  }
  ncclResult_t End() {
    const ncclResult_t ended = ncclGroupEnd();
    return result_ == ncclSuccess ? ended : result_;
  }

 private:
  ncclResult_t result_ = ncclSuccess;
};

bool AllTheSame(const std::vector<int64_t>& counts) {
  return std::all_of(counts.begin(), counts.end(), [&](int64_t count) { return count == counts[0]; });
}

const std::byte* At(const void* memory, int64_t elements, ElementType type) {
  return static_cast<const std::byte*>(memory) + elements * Comm::SizeOf(type);
}
std::byte* At(void* memory, int64_t elements, ElementType type) {
  return static_cast<std::byte*>(memory) + elements * Comm::SizeOf(type);
}

}  // namespace

NcclTransport::NcclTransport(std::unique_ptr<Transport> control, Communicator world, double seconds, Comm::Impl& job)
    : control_(std::move(control)), seconds_(seconds), job_(job), marks_(job.watch) {
  communicators_.push_back(std::move(world));  // The group of all ranks is the first.
  number_.AtLeast(sizeof(int32_t));
  order_ = NewEvent();
  WhileWaiting([this] { LookForFailures(); });
}

NcclTransport::~NcclTransport() {
  WhileWaiting(nullptr);
  for (const auto& [key, way] : ways_) cudaStreamDestroy(way.stream);
  for (const auto& [outbox, event] : taken_) cudaEventDestroy(event);
  cudaEventDestroy(order_);
}

Problem NcclTransport::CreateGroup(const Group& group, const std::vector<int>& members) {
  if (Problem problem = control_->CreateGroup(group, members)) return problem;
  communicators_.resize(static_cast<size_t>(group.id) + 1);
  // The colour that all members of one group share: the rank of member 0.
  return communicators_[0].Split(members[0], group.index, seconds_, communicators_.back());
}

Problem NcclTransport::AllReduce(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) {
  if (IsByKeys(type, reduction)) {
    const Keys keys(type, data, count, reduction);
    Problem problem = Taken(ncclAllReduce(keys.get(), keys.get(), static_cast<size_t>(count), KeyType(keys),
                                          NcclOperation(reduction), Of(group).get(), CurrentStream()),
                            group);
    if (!problem) keys.ToNumbers(0, count, data);
    return problem;
  }
  return Taken(ncclAllReduce(data, data, static_cast<size_t>(count), NcclType(type), NcclOperation(reduction),
                             Of(group).get(), CurrentStream()),
               group);
}

Problem NcclTransport::AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                                 const Group& group) {
  const ncclComm_t communicator = Of(group).get();
  const cudaStream_t stream = CurrentStream();
  if (AllTheSame(counts)) {
    return Taken(ncclAllGather(piece, whole, static_cast<size_t>(counts[0]), NcclType(type), communicator, stream),
                 group);
  }
  const std::vector<int64_t> places = Begins(counts);
  NcclGroup calls;
  for (int member = 0; member < group.size; ++member) {
    const size_t i = static_cast<size_t>(member);
    if (counts[i] == 0) continue;
    void* const place = At(whole, places[i], type);
    calls.Add(ncclBroadcast(member == group.index ? piece : place, place, static_cast<size_t>(counts[i]),
                            NcclType(type), member, communicator, stream));
  }
  return Taken(calls.End(), group);
}

Problem NcclTransport::ReduceScatter(ElementType type, const void* whole, void* piece,
                                     const std::vector<int64_t>& counts, Reduction reduction, const Group& group) {
  if (!IsByKeys(type, reduction)) {
    return ReduceScatter({NcclType(type), NcclOperation(reduction), Comm::SizeOf(type)}, whole, piece, counts, group);
  }
  const std::vector<int64_t> places = Begins(counts);
  const size_t me = static_cast<size_t>(group.index);
  const Keys keys(type, whole, places.back(), reduction);
  std::byte* const own = keys.get() + places[me] * keys.size();
  Problem problem =
      ReduceScatter({KeyType(keys), NcclOperation(reduction), keys.size()}, keys.get(), own, counts, group);
  if (!problem) keys.ToNumbers(places[me], counts[me], piece);
  return problem;
}

Problem NcclTransport::ReduceScatter(const Reduced& reduced, const void* whole, void* piece,
                                     const std::vector<int64_t>& counts, const Group& group) {
  const ncclComm_t communicator = Of(group).get();
  const cudaStream_t stream = CurrentStream();
  if (AllTheSame(counts)) {
    return Taken(ncclReduceScatter(whole, piece, static_cast<size_t>(counts[0]), reduced.type, reduced.operation,
                                   communicator, stream),
                 group);
  }
  const std::vector<int64_t> places = Begins(counts);
  NcclGroup calls;
  for (int member = 0; member < group.size; ++member) {
    const size_t i = static_cast<size_t>(member);
    if (counts[i] == 0) continue;
    // Only the root receives.
    calls.Add(ncclReduce(static_cast<const std::byte*>(whole) + places[i] * reduced.bytes,
                         member == group.index ? piece : nullptr, static_cast<size_t>(counts[i]), reduced.type,
                         reduced.operation, member, communicator, stream));
  }
  return Taken(calls.End(), group);
}

Problem NcclTransport::AllGatherEach(ElementType type, const std::vector<EvenPart>& parts, const Group& group) {
  NcclGroup calls;
  for (const EvenPart& part : parts) {
    calls.Add(ncclAllGather(part.source, part.target, static_cast<size_t>(part.count), NcclType(type), Of(group).get(),
                            CurrentStream()));
  }
  return Taken(calls.End(), group);
}

Problem NcclTransport::ReduceScatterEach(ElementType type, const std::vector<EvenPart>& parts, Reduction reduction,
                                         const Group& group) {
  if (IsByKeys(type, reduction)) return Transport::ReduceScatterEach(type, parts, reduction, group);
  NcclGroup calls;
  for (const EvenPart& part : parts) {
    calls.Add(ncclReduceScatter(part.source, part.target, static_cast<size_t>(part.count), NcclType(type),
                                NcclOperation(reduction), Of(group).get(), CurrentStream()));
  }
  return Taken(calls.End(), group);
}

Problem NcclTransport::AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts,
                                void* received, const std::vector<int64_t>& received_counts, const Group& group) {
  const ncclComm_t communicator = Of(group).get();
  const cudaStream_t stream = CurrentStream();
  const std::vector<int64_t> sent_places = Begins(sent_counts);
  const std::vector<int64_t> received_places = Begins(received_counts);
  const size_t me = static_cast<size_t>(group.index);
  CopyBytes(At(sent, sent_places[me], type), At(received, received_places[me], type),
            sent_counts[me] * Comm::SizeOf(type));
  NcclGroup calls;
  for (int member = 0; member < group.size; ++member) {
    const size_t i = static_cast<size_t>(member);
    if (i == me) continue;
    if (sent_counts[i] > 0) {
      calls.Add(ncclSend(At(sent, sent_places[i], type), static_cast<size_t>(sent_counts[i]), NcclType(type), member,
                         communicator, stream));
    }
    if (received_counts[i] > 0) {
      calls.Add(ncclRecv(At(received, received_places[i], type), static_cast<size_t>(received_counts[i]),
                         NcclType(type), member, communicator, stream));
    }
  }
  return Taken(calls.End(), group);
}

Problem NcclTransport::SendReceive(ElementType type, const std::vector<Parcel>& sends,
                                   const std::vector<Parcel>& receives, const Group& group) {
  const ncclComm_t communicator = Of(group).get();
  const cudaStream_t stream = CurrentStream();
  // Within a group, what one member sends another arrives in the order of the calls.
  NcclGroup calls;
  for (const Parcel& parcel : sends) {
    calls.Add(
        ncclSend(parcel.data, static_cast<size_t>(parcel.count), NcclType(type), parcel.member, communicator, stream));
  }
  for (const Parcel& parcel : receives) {
    calls.Add(
        ncclRecv(parcel.data, static_cast<size_t>(parcel.count), NcclType(type), parcel.member, communicator, stream));
  }
  return Taken(calls.End(), group);
}

void NcclTransport::RunAfter(cudaStream_t first, cudaStream_t second) {
  CheckCuda(cudaEventRecord(order_, first), "cudaEventRecord");
  CheckCuda(cudaStreamWaitEvent(second, order_, 0), "cudaStreamWaitEvent");
}

void NcclTransport::CheckQueues() const {
  constexpr size_t kOthers = 4;  // Of kernels, collectives, copies to the host, and inputs.
  const size_t streams = kOthers + ways_.size();
  const char* const text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const int queues = text == nullptr ? 8 : std::atoi(text);  // As many as CUDA has by default.
  if (queues >= static_cast<int>(streams)) return;
  Die(ExitCode::kEnvironment,
      Format("rank %d: the ranks would stop each other: the work of %zu streams would share %d queues to the GPU, "
             "because CUDA_DEVICE_MAX_CONNECTIONS is %d; unset it",
             job_.rank, streams, queues, queues));
}

Problem NcclTransport::Open(const Way& way, const Group& group) {
  const bool sends = group.index == way.from;
  const bool is_mine = sends || group.index == way.to;
  OneWay own;
  const int colour = is_mine ? 0 : NCCL_SPLIT_NOCOLOR;
  if (Problem problem = Of(group).Split(colour, /*key=*/sends ? 0 : 1, seconds_, own.communicator)) return problem;
  if (!is_mine) return std::nullopt;
  own.stream = NewCommunicationStream();
  // NCCL connects two ranks when the first of them asks for a message, and then both hosts wait for each other.
  std::byte* const number = number_.AtLeast(sizeof(int32_t));
  const ncclComm_t communicator = own.communicator.get();
  const ncclResult_t result = sends ? ncclSend(number, 1, ncclInt32, 1, communicator, own.stream)
                                    : ncclRecv(number, 1, ncclInt32, 0, communicator, own.stream);
  if (Problem problem = own.communicator.Settle(result)) return problem;
  WaitForStream(own.stream);
  ways_.emplace(std::pair(group.id, std::pair(way.from, way.to)), std::move(own));
  CheckQueues();
  return std::nullopt;
}

Problem NcclTransport::BeginSend(ElementType type, const Parcel& parcel, const Outbox& outbox, const Group& group) {
  OneWay& way = Of(Way{group.index, parcel.member}, group);
  RunAfter(CurrentStream(), way.stream);
  Problem problem = way.communicator.Settle(
      ncclSend(parcel.data, static_cast<size_t>(parcel.count), NcclType(type), 1, way.communicator.get(), way.stream));
  cudaEvent_t& taken = taken_[outbox];
  if (taken == nullptr) taken = NewEvent();
  CheckCuda(cudaEventRecord(taken, way.stream), "cudaEventRecord");
  return problem;
}

Problem NcclTransport::AwaitTaken(const Outbox& outbox, const Group&) {
  const auto taken = taken_.find(outbox);
  if (taken == taken_.end()) return std::nullopt;
  CheckCuda(cudaStreamWaitEvent(CurrentStream(), taken->second, 0), "cudaStreamWaitEvent");
  return std::nullopt;
}

Problem NcclTransport::Receive(ElementType type, const Parcel& parcel, const Group& group) {
  OneWay& way = Of(Way{parcel.member, group.index}, group);
  RunAfter(CurrentStream(), way.stream);
  Problem problem = way.communicator.Settle(
      ncclRecv(parcel.data, static_cast<size_t>(parcel.count), NcclType(type), 0, way.communicator.get(), way.stream));
  RunAfter(way.stream, CurrentStream());
  return problem;
}

Problem NcclTransport::Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) {
  return Taken(
      ncclBroadcast(data, data, static_cast<size_t>(count), NcclType(type), root, Of(group).get(), CurrentStream()),
      group);
}

Problem NcclTransport::Barrier(const Group& group) {
  std::byte* const number = number_.AtLeast(sizeof(int32_t));
  ZeroBytes(number, sizeof(int32_t));
  return AllReduce(ElementType::kInt32, number, 1, Reduction::kSum, group);
}

Problem NcclTransport::GatherText(const std::string& text, std::vector<std::string>& texts, const Group& group) {
  return control_->GatherText(text, texts, group);
}

void NcclTransport::Leave() {
  // Recorded collectives run on the compute stream.
  WaitForStream(ComputeStream());
  WaitForStream(CommunicationStream());
  for (const auto& [key, way] : ways_) WaitForStream(way.stream);
  WhileWaiting(nullptr);
  for (auto& [key, way] : ways_) way.communicator.Close(seconds_);
  // Communicators that were split off are closed before that of all ranks.
  for (size_t i = communicators_.size(); i-- > 0;) communicators_[i].Close(seconds_);
  control_->Leave();
}

Problem NcclTransport::Taken(ncclResult_t result, const Group& group) { return Of(group).Settle(result); }

void NcclTransport::LookForFailures() {
  std::vector<const Communicator*> communicators;
  for (const Communicator& communicator : communicators_) communicators.push_back(&communicator);
  for (const auto& [key, way] : ways_) communicators.push_back(&way.communicator);
  for (const Communicator* const communicator : communicators) {
    if (communicator->get() == nullptr) continue;
    const Problem problem = communicator->Failure();
    if (!problem.has_value()) continue;
    const std::string where = job_.watch.CurrentCollective().value_or("a collective");
    // Nothing is aborted: that would wait for recorded work, which lives as long as the program, and the end of the
    // process ends what the GPU is doing.
    WhileWaiting(nullptr);
    Die(ExitCode::kFailed, Format("rank %d: %s failed: %s", job_.rank, where.c_str(), problem->c_str()));
  }
}

}  // namespace cleave::runtime
