// What all implementations of runtime/comm share: groups, errors, leaving.
#include "runtime/comm/job.h"

#include <limits.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <utility>

#include "runtime/device/recorded.h"

namespace cleave::runtime {

std::string MeshText(const Mesh& mesh) {
  std::string text;
  for (const MeshAxis& axis : mesh) {
    text += Format("%s%s=%" PRId64, text.empty() ? "" : ", ", axis.name.c_str(), axis.size);
  }
  return text;
}

std::string PlanText(const Mesh& mesh) {
  const int64_t planned = MeshSize(mesh);
  return Format("the plan has %" PRId64 " rank%s (%s)", planned, planned == 1 ? "" : "s",
                mesh.empty() ? "one device" : MeshText(mesh).c_str());
}

Error RefuseToJoin(std::string message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::fflush(stderr);
  return {ExitCode::kInput, std::move(message)};
}

namespace {

thread_local int32_t collective_beside = -1;

// The op that the calling thread communicates for.
std::string OpOfThread(const Watch& watch) {
  return collective_beside < 0 ? watch.CurrentOp() : watch.OpOfCollective(collective_beside);
}

}  // namespace

int32_t CollectiveBeside() { return collective_beside; }

void Comm::Impl::OnThread(CollectiveKind kind, std::function<void()> collective) {
  const int32_t number = watch.NumberOfCollective(CollectiveKindName(kind));
  Communicate([number, collective = std::move(collective)] {
    collective_beside = number;
    collective();
  });
  left_to_thread[EndCommunication()] = kind;
}

void Comm::Impl::Await(int64_t number) {
  const auto last = left_to_thread.find(number);
  if (last == left_to_thread.end()) return AwaitCommunication(number);
  const double start = Now();
  watch.BeginAwait();
  AwaitCommunication(number);
  watch.EndAwait();
  if (counting) traffic[static_cast<size_t>(last->second)].seconds += Now() - start;
  left_to_thread.erase(left_to_thread.begin(), std::next(last));
}

void Comm::Impl::AwaitThread() {
  if (!left_to_thread.empty()) Await(left_to_thread.rbegin()->first);
}

Running::Running(Comm::Impl& job, CollectiveKind kind) : job_(job), kind_(kind) {
  if (collective_beside >= 0) {
    job_.watch.EnterBeside(collective_beside);
  } else {
    job_.AwaitThread();
    job_.watch.EnterCollective(CollectiveKindName(kind));
  }
  start_ = Now();
}

Running::~Running() {
  if (collective_beside >= 0) {
    job_.watch.LeaveBeside();
    return;
  }
  job_.watch.LeaveCollective();
  if (job_.counting) job_.traffic[static_cast<size_t>(kind_)].seconds += Now() - start_;
}

void Comm::Impl::Check(const Problem& problem, CollectiveKind kind) const {
  if (!problem.has_value()) return;
  Die(ExitCode::kFailed, Format("rank %d: %s for %s failed: %s", rank, CollectiveKindName(kind),
                                OpOfThread(watch).c_str(), problem->c_str()));
}

void Comm::Impl::CheckCount(int64_t count, CollectiveKind kind) const {
  if (count <= INT_MAX) return;
  Die(ExitCode::kFailed, Format("rank %d: %s for %s has %" PRId64 " elements; counts of messages end at %d", rank,
                                CollectiveKindName(kind), OpOfThread(watch).c_str(), count, INT_MAX));
}

void Comm::Impl::CheckCounts(const std::vector<int64_t>& counts, CollectiveKind kind) const {
  int64_t sum = 0;  // Counts, and so also places within a message, must fit an int.
  for (const int64_t count : counts) sum += count;
  CheckCount(sum, kind);
}

Comm::Comm(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  std::vector<int> all_axes;
  for (size_t i = 0; i < impl_->mesh.size(); ++i) all_axes.push_back(static_cast<int>(i));
  CreateGroup(all_axes);
}

Result<std::unique_ptr<Comm>> Comm::OfJob(std::unique_ptr<Impl> impl) {
  std::unique_ptr<Comm> comm(new Comm(std::move(impl)));
  comm->impl_->watch.EnterCollective("the start of the job");
  const std::optional<Error> error = OnDevice(*comm->impl_);
  comm->impl_->watch.LeaveCollective();
  if (!error.has_value()) return comm;
  if (comm->rank() == 0) RefuseToJoin(error->message);
  // Printed before any rank ends: the others may be ended with it. What has joined the job is still in place.
  if (comm->world().size > 1) comm->impl_->transport->Barrier(comm->world());
  return *error;
}

Comm::~Comm() {
  if (impl_->transport == nullptr) return;
  impl_->AwaitThread();
  impl_->watch.EnterCollective("the end of the job");
  // Until it is taken, others may read what this rank has sent.
  for (const auto& [outbox, memory] : impl_->outboxes) {
    impl_->Check(impl_->transport->AwaitTaken(outbox, impl_->groups[static_cast<size_t>(outbox.group)].group),
                 CollectiveKind::kSendReceive);
  }
  impl_->transport->Leave();
  impl_->watch.LeaveCollective();
}

int Comm::rank() const { return impl_->rank; }
const Mesh& Comm::mesh() const { return impl_->mesh; }
int Comm::ranks_on_this_host() const { return impl_->local_ranks; }
int Comm::ranks_in_this_process() const { return impl_->process_ranks; }
const Group& Comm::world() const { return impl_->groups[0].group; }

Comm::Impl::GroupState& Comm::Impl::GroupOn(const std::vector<int>& axes, int lane) {
  for (GroupState& state : groups) {
    if (state.axes == axes && state.lane == lane) return state;
  }
  GroupState state;
  state.axes = axes;
  state.lane = lane;
  state.group.id = static_cast<int>(groups.size());
  state.group.index = static_cast<int>(IndexOnAxes(mesh, rank, axes));
  for (int axis : axes) state.group.size *= static_cast<int>(mesh[static_cast<size_t>(axis)].size);
  if (state.group.size > 1) {
    std::vector<int> members;
    for (int i = 0; i < state.group.size; ++i) {
      members.push_back(static_cast<int>(RankAt(mesh, rank, axes, i)));
    }
    Check(transport->CreateGroup(state.group, members), CollectiveKind::kBarrier);
  }
  return groups.emplace_back(std::move(state));
}

Group Comm::CreateGroup(const std::vector<int>& axes, const std::vector<Way>& ways, int lane) {
  impl_->AwaitThread();
  Impl::GroupState& state = impl_->GroupOn(axes, lane);
  for (const Way& way : ways) {
    if (std::find(state.ways.begin(), state.ways.end(), way) != state.ways.end()) continue;
    impl_->Check(impl_->transport->Open(way, state.group), CollectiveKind::kBarrier);
    state.ways.push_back(way);
  }
  return state.group;
}

bool Comm::Impl::ExchangesMessages() const { return transport != nullptr && transport->ExchangesMessages(); }

std::shared_ptr<const MessagePlan> Comm::Rehearse(const std::function<void()>& phase) {
  const bool has_messages = std::any_of(impl_->groups.begin(), impl_->groups.end(),
                                        [](const Impl::GroupState& state) { return !state.ways.empty(); });
  if (!has_messages || !impl_->ExchangesMessages()) return nullptr;
  impl_->rehearsed.emplace();
  phase();
  const std::vector<std::string> texts = GatherText(EventsText(*impl_->rehearsed));
  impl_->rehearsed.reset();
  std::vector<std::vector<PhaseEvent>> events;
  for (const std::string& text : texts) events.push_back(EventsOf(text));
  Result<MessagePlan> plan = PlanMessages(events, impl_->rank);
  if (!plan.ok()) Die(plan.error().code, plan.error().message);
  return std::make_shared<const MessagePlan>(std::move(plan.value()));
}

bool Comm::BeginPass(const std::vector<MessageEvent>& messages) {
  if (!impl_->ExchangesMessages()) return true;
  if (!impl_->rehearsed.has_value()) {
    Recorded::Between([this] {
      const Running running(*impl_, CollectiveKind::kSendReceive);
      impl_->Check(impl_->transport->BeginPass(), CollectiveKind::kSendReceive);
    });
    return true;
  }
  impl_->rehearsed->push_back({PhaseEvent::Kind::kPass});
  for (const MessageEvent& message : messages) {
    const std::vector<int>& axes = impl_->groups[static_cast<size_t>(message.group)].axes;
    impl_->rehearsed->push_back({message.is_sent ? PhaseEvent::Kind::kSend : PhaseEvent::Kind::kTake, message.group,
                                 static_cast<int>(RankAt(impl_->mesh, impl_->rank, axes, message.member)),
                                 message.is_sent ? message.box : message.is_behind});
  }
  return false;
}

void Comm::BeginMessages(std::shared_ptr<const MessagePlan> plan) {
  if (plan != nullptr) impl_->transport->BeginMessages(std::move(plan));
}

void Comm::EndMessages() {
  if (!impl_->ExchangesMessages()) return;
  Recorded::Between([this] {
    const Running running(*impl_, CollectiveKind::kSendReceive);
    impl_->Check(impl_->transport->EndMessages(), CollectiveKind::kSendReceive);
  });
}

bool Comm::IsRecordable() const { return impl_->transport == nullptr || impl_->transport->IsRecordable(); }

void Comm::CountReplay(const std::array<Traffic, kCollectiveKinds>& recorded) {
  if (!impl_->counting) return;
  for (size_t kind = 0; kind < recorded.size(); ++kind) {
    Traffic& traffic = impl_->traffic[kind];
    traffic.count += recorded[kind].count;
    traffic.bytes += recorded[kind].bytes;
    traffic.sent_bytes += recorded[kind].sent_bytes;
  }
}

void Comm::CountTraffic(bool on) {
  impl_->AwaitThread();
  impl_->counting = on;
}
const std::array<Traffic, kCollectiveKinds>& Comm::traffic() const {
  impl_->AwaitThread();
  return impl_->traffic;
}

}  // namespace cleave::runtime
