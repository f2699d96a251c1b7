#include <algorithm>
#include <cinttypes>
#include <numeric>
#include <set>
#include <utility>

#include "runtime/comm/nccl/extremes.h"
#include "runtime/comm/nccl/transport.h"
#include "runtime/comm/packing.h"
#include "runtime/device/cuda/arena_memory.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/waiting.h"
#include "runtime/device/memory.h"
#include "runtime/device/recorded.h"
#include "runtime/device/streams.h"
#include "runtime/error/error.h"
#include "runtime/error/warning.h"

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

NcclTransport::NcclTransport(std::unique_ptr<Transport> control, Communicator world, std::vector<std::string> hosts,
                             double seconds, Comm::Impl& job)
    : control_(std::move(control)), hosts_(std::move(hosts)), seconds_(seconds), job_(job), marks_(job.watch) {
  communicators_.push_back(std::move(world));  // The group of all ranks is the first.
  members_.emplace_back(job.groups[0].group.size);
  std::iota(members_[0].begin(), members_[0].end(), 0);
  number_.AtLeast(sizeof(int32_t));
  WhileWaiting([this] { LookForFailures(); });
  TakeArenasFrom({[this](int64_t bytes) { return TakeArena(bytes); }, [this](void* memory) { GiveArena(memory); }});
}

NcclTransport::~NcclTransport() {
  WhileWaiting(nullptr);
  TakeArenasFrom({});
  for (const auto& [outbox, event] : taken_) cudaEventDestroy(event);
  if (exchanged_ != nullptr) cudaEventDestroy(exchanged_);
}

Problem NcclTransport::CreateGroup(const Group& group, const std::vector<int>& members) {
  if (Problem problem = control_->CreateGroup(group, members)) return problem;
  communicators_.resize(static_cast<size_t>(group.id) + 1);
  members_.resize(communicators_.size());
  members_[static_cast<size_t>(group.id)] = members;
  // The colour that all members of one group share: the rank of member 0.
  if (Problem problem = communicators_[0].Split(members[0], group.index, seconds_, communicators_.back())) {
    return problem;
  }
  if (has_arenas_) RegisterArenas({group.id}, std::nullopt);
  return std::nullopt;
}

bool NcclTransport::IsOnOneHost(size_t group) const {
  const std::vector<int>& members = members_[group];
  return members.size() > 1 && std::all_of(members.begin(), members.end(), [&](int rank) {
           return hosts_[static_cast<size_t>(rank)] == hosts_[static_cast<size_t>(members[0])];
         });
}

bool NcclTransport::RegisterArenas(const std::vector<int>& groups, Problem problem) {
  for (const int group : groups) {
    if (!IsOnOneHost(static_cast<size_t>(group))) continue;
    for (const auto& [memory, bytes] : arenas_) {
      if (!problem) problem = communicators_[static_cast<size_t>(group)].Register(memory, bytes);
    }
  }
  std::vector<std::string> problems;
  if (const Problem gathered = GatherText(problem.value_or(""), problems, job_.groups[0].group)) {
    Die(ExitCode::kFailed, Format("rank %d: %s", job_.rank, gathered->c_str()));
  }
  const auto found =
      std::find_if(problems.begin(), problems.end(), [](const std::string& text) { return !text.empty(); });
  if (found == problems.end()) return true;
  for (const int group : groups) {
    for (const auto& [memory, bytes] : arenas_) communicators_[static_cast<size_t>(group)].Deregister(memory);
  }
  FallBack(
      "tensors_in_place",
      [&] {
        return Format("NCCL does not take tensors where they lie (rank %d: %s)",
                      static_cast<int>(found - problems.begin()), found->c_str());
      },
      "it copies them to buffers of its own");
  return false;
}

void* NcclTransport::TakeArena(int64_t bytes) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
  const std::set<std::string> names(hosts_.begin(), hosts_.end());
  if (names.size() == hosts_.size()) return nullptr;  // No two ranks share a host.
  void* memory = nullptr;
  Problem problem;
  if (bytes > 0) {
    const ncclResult_t result = ncclMemAlloc(&memory, static_cast<size_t>(bytes));
    if (result != ncclSuccess) {
      cudaGetLastError();
      memory = nullptr;
      problem = Format("ncclMemAlloc of %" PRId64 " bytes: %s", bytes, ncclGetErrorString(result));
    }
  }
  if (memory != nullptr) arenas_[memory] = bytes;
  std::vector<int> groups(communicators_.size());
  std::iota(groups.begin(), groups.end(), 0);
  if (RegisterArenas(groups, std::move(problem))) {
    has_arenas_ = true;
    return memory;
  }
  if (memory != nullptr) GiveArena(memory);
  return nullptr;
#else
  return nullptr;
#endif
}

void NcclTransport::GiveArena(void* memory) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
  for (Communicator& communicator : communicators_) communicator.Deregister(memory);
  arenas_.erase(memory);
  ncclMemFree(memory);
#endif
}

Problem NcclTransport::AllReduce(ElementType type, void* data, int64_t count, Reduction reduction, const Group& group) {
  if (IsByKeys(type, reduction)) {
    const Keys keys(type, data, count, reduction);
    Problem problem = Taken(ncclAllReduce(keys.get(), keys.get(), static_cast<size_t>(count), KeyType(keys),
                                          NcclOperation(reduction), ForCollective(group).get(), CurrentStream()),
                            group);
    if (!problem) keys.ToNumbers(0, count, data);
    return problem;
  }
  return Taken(ncclAllReduce(data, data, static_cast<size_t>(count), NcclType(type), NcclOperation(reduction),
                             ForCollective(group).get(), CurrentStream()),
               group);
}

Problem NcclTransport::AllGather(ElementType type, const void* piece, void* whole, const std::vector<int64_t>& counts,
                                 const Group& group) {
  if (!AllTheSame(counts)) return "pieces of different sizes";
  return Taken(ncclAllGather(piece, whole, static_cast<size_t>(counts[0]), NcclType(type), ForCollective(group).get(),
                             CurrentStream()),
               group);
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
  if (!AllTheSame(counts)) return "pieces of different sizes";
  return Taken(ncclReduceScatter(whole, piece, static_cast<size_t>(counts[0]), reduced.type, reduced.operation,
                                 ForCollective(group).get(), CurrentStream()),
               group);
}

Problem NcclTransport::AllGatherEach(ElementType type, const std::vector<EvenPart>& parts, const Group& group) {
  const ncclComm_t communicator = ForCollective(group).get();
  const cudaStream_t stream = CurrentStream();
  NcclGroup calls;
  for (const EvenPart& part : parts) {
    calls.Add(
        ncclAllGather(part.source, part.target, static_cast<size_t>(part.count), NcclType(type), communicator, stream));
  }
  return Taken(calls.End(), group);
}

Problem NcclTransport::ReduceScatterEach(ElementType type, const std::vector<EvenPart>& parts, Reduction reduction,
                                         const Group& group) {
  if (IsByKeys(type, reduction)) return Transport::ReduceScatterEach(type, parts, reduction, group);
  const ncclComm_t communicator = ForCollective(group).get();
  const cudaStream_t stream = CurrentStream();
  NcclGroup calls;
  for (const EvenPart& part : parts) {
    calls.Add(ncclReduceScatter(part.source, part.target, static_cast<size_t>(part.count), NcclType(type),
                                NcclOperation(reduction), communicator, stream));
  }
  return Taken(calls.End(), group);
}

Problem NcclTransport::AllToAll(ElementType type, const void* sent, const std::vector<int64_t>& sent_counts,
                                void* received, const std::vector<int64_t>& received_counts, const Group& group) {
  const ncclComm_t communicator = ForCollective(group).get();
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
  const ncclComm_t communicator = ForCollective(group).get();
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

// NCCL connects two ranks when the first of them asks for a message, and then both hosts wait for each other. Messages
// go by the communicator of all ranks, so that they are in one order.
Problem NcclTransport::Open(const Way& way, const Group& group) {
  const bool sends = group.index == way.from;
  if (!sends && group.index != way.to) return std::nullopt;
  std::byte* const number = number_.AtLeast(sizeof(int32_t));
  const ncclComm_t world = communicators_[0].get();
  const cudaStream_t stream = CommunicationStream();
  const int peer = RankOf(group, sends ? way.to : way.from);
  const ncclResult_t result =
      sends ? ncclSend(number, 1, ncclInt32, peer, world, stream) : ncclRecv(number, 1, ncclInt32, peer, world, stream);
  if (Problem problem = communicators_[0].Settle(result)) return problem;
  WaitForStream(stream);
  return std::nullopt;
}

void NcclTransport::BeginMessages(std::shared_ptr<const MessagePlan> plan) {
  plan_ = std::move(plan);
  next_event_ = 0;
}

size_t NcclTransport::NextEvent() {
  MarkOf(next_event_);
  return next_event_++;
}

int32_t NcclTransport::MarkOf(size_t event) {
  std::vector<int32_t>& marks = marks_of_events_[plan_];
  if (marks.size() == event) marks.push_back(marks_.NumberOf(CollectiveKind::kSendReceive));
  return marks[event];
}

Problem NcclTransport::BeginPass() {
  if (plan_ == nullptr) return "what the ranks send each other has not been rehearsed";
  const size_t event = NextEvent();
  return plan_->exchanges[event].exists ? Exchange(plan_->exchanges[event], MarkOf(event)) : std::nullopt;
}

Problem NcclTransport::AwaitTaken(const Outbox& outbox, const Group&) {
  // At the end of the job no phase is under way, and all messages have been exchanged.
  if (plan_ != nullptr && next_event_ < plan_->events.size()) {
    const MessagePlan::Exchange& exchange = plan_->exchanges[next_event_];
    if (exchange.exists) {
      if (Problem problem = Exchange(exchange, MarkOf(next_event_))) return problem;
    }
  }
  const auto taken = taken_.find(outbox);
  if (taken == taken_.end()) return std::nullopt;
  CheckCuda(cudaStreamWaitEvent(ComputeStream(), taken->second, 0), "cudaStreamWaitEvent");
  return std::nullopt;
}

Problem NcclTransport::BeginSend(ElementType type, const Parcel& parcel, const Outbox& outbox, const Group& group) {
  const size_t event = NextEvent();
  sent_[static_cast<int>(event)] = {type, {RankOf(group, parcel.member), parcel.data, parcel.count}, outbox};
  return std::nullopt;
}

Problem NcclTransport::Receive(ElementType type, const Parcel& parcel, const Group& group) {
  const size_t event = NextEvent();
  wanted_.push_back({type, {RankOf(group, parcel.member), parcel.data, parcel.count}, {}});
  return plan_->exchanges[event].exists ? Exchange(plan_->exchanges[event], MarkOf(event)) : std::nullopt;
}

Problem NcclTransport::EndMessages() {
  if (plan_ == nullptr) return std::nullopt;
  Problem problem;
  if (plan_->last.exists) problem = Exchange(plan_->last, MarkOf(plan_->events.size() - 1));
  plan_ = nullptr;
  return problem;
}

Problem NcclTransport::Exchange(const MessagePlan::Exchange& exchange, int32_t mark) {
  if (exchange.sends.empty() && wanted_.empty()) return std::nullopt;
  const cudaStream_t stream = CommunicationStream();
  const ncclComm_t world = communicators_[0].get();
  BeginCommunication();
  marks_.Begin(mark);
  NcclGroup calls;
  for (const int event : exchange.sends) {
    const PlannedMessage& message = sent_.at(event);
    if (message.parcel.count == 0) continue;
    calls.Add(ncclSend(message.parcel.data, static_cast<size_t>(message.parcel.count), NcclType(message.type),
                       message.parcel.member, world, stream));
  }
  for (const PlannedMessage& message : wanted_) {
    if (message.parcel.count == 0) continue;
    calls.Add(ncclRecv(message.parcel.data, static_cast<size_t>(message.parcel.count), NcclType(message.type),
                       message.parcel.member, world, stream));
  }
  Problem problem = communicators_[0].Settle(calls.End());
  marks_.End();
  for (const int event : exchange.sends) {
    cudaEvent_t& taken = taken_[sent_.at(event).outbox];
    if (taken == nullptr) taken = NewEvent();
    CheckCuda(cudaEventRecord(taken, stream), "cudaEventRecord");
    sent_.erase(event);
  }
  if (exchanged_ == nullptr) exchanged_ = NewEvent();
  CheckCuda(cudaEventRecord(exchanged_, stream), "cudaEventRecord");
  // Who only sends goes on meanwhile.
  if (wanted_.empty()) {
    LeaveCommunication();
  } else {
    AwaitCommunication(EndCommunication());
  }
  wanted_.clear();
  return problem;
}

// Work of a graph is not in the order of the stream from which it was recorded.
Communicator& NcclTransport::ForCollective(const Group& group) {
  if (exchanged_ != nullptr) {
    Recorded::BeforeGraph(
        [this] { CheckCuda(cudaStreamWaitEvent(ComputeStream(), exchanged_, 0), "cudaStreamWaitEvent"); });
  }
  return Of(group);
}

Problem NcclTransport::Broadcast(ElementType type, void* data, int64_t count, int root, const Group& group) {
  return Taken(ncclBroadcast(data, data, static_cast<size_t>(count), NcclType(type), root, ForCollective(group).get(),
                             CurrentStream()),
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
  WhileWaiting(nullptr);
  // Communicators that were split off are closed before that of all ranks.
  for (size_t i = communicators_.size(); i-- > 0;) communicators_[i].Close(seconds_);
  control_->Leave();
}

Problem NcclTransport::Taken(ncclResult_t result, const Group& group) { return Of(group).Settle(result); }

void NcclTransport::LookForFailures() {
  std::vector<const Communicator*> communicators;
  for (const Communicator& communicator : communicators_) communicators.push_back(&communicator);
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
