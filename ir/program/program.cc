#include "ir/program/program.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/check/check.h"
#include "base/match/match.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/layout/boxes.h"

namespace cleave::ir {
namespace {

constexpr std::pair<CollectiveKind, absl::string_view> kKindNames[] = {
    {CollectiveKind::kAllReduce, "all_reduce"},
    {CollectiveKind::kAllGather, "all_gather"},
    {CollectiveKind::kReduceScatter, "reduce_scatter"},
    {CollectiveKind::kAllToAll, "all_to_all"},
    {CollectiveKind::kBroadcast, "broadcast"},
    {CollectiveKind::kPermute, "permute"},
    {CollectiveKind::kNeighborExchange, "neighbor_exchange"},
    {CollectiveKind::kSendReceive, "send_recv"},
    {CollectiveKind::kNeighborExchangeV2, "neighbor_exchange_v2"},
};

// The value whose size counts: the result of an all_gather, the input of all others.
ValueId CountedValue(const Collective& collective, const Transfer& transfer) {
  return collective.kind == CollectiveKind::kAllGather ? transfer.output : transfer.input;
}

// The most elements that any rank exchanges with others: the `sizes` of the parts whose partner is another rank.
int64_t MostExchanged(int ranks, const std::vector<int64_t>& sizes, const std::vector<int64_t>& partners) {
  int64_t most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int64_t elements = 0;
    for (size_t part = 0; part < sizes.size(); ++part) {
      const int64_t partner = partners[static_cast<size_t>(rank) * sizes.size() + part];
      if (partner >= 0 && partner != rank) elements += sizes[part];
    }
    most = std::max(most, elements);
  }
  return most;
}

int64_t CountedElements(const Program& program, const Collective& collective, const Transfer& transfer) {
  if (collective.messages.has_value()) {
    const Messages& messages = *collective.messages;
    return MostExchanged(program.mesh.rank_count(), messages.receive_sizes, messages.receive_ranks);
  }
  if (collective.kind == CollectiveKind::kNeighborExchange) {
    const Value& output = program.value(transfer.output);
    return LargestReceivedElements(program.value(transfer.input).layout, output.layout, program.mesh,
                                   output.type.shape);
  }
  return ElementCount(LargestLocalShape(program, CountedValue(collective, transfer)));
}

// Which piece of each dimension a rank holds. Pieces without elements are told apart too.
std::vector<int64_t> PieceIndices(const Mesh& mesh, const Layout& layout, int rank) {
  std::vector<int64_t> indices;
  for (const AxisList& axes : layout.dimensions) indices.push_back(mesh.Index(rank, axes));
  return indices;
}

// In a group each piece is held by as many ranks before the permute as after it. A rank that already holds what it
// needs keeps it; the others are paired in the order of their ranks. `from` is the layout of `rank`, `to` the layout of
// its partner.
int Partner(const Mesh& mesh, const std::vector<int>& group, const Layout& from, const Layout& to, int rank) {
  const std::vector<int64_t> piece = PieceIndices(mesh, from, rank);
  if (PieceIndices(mesh, to, rank) == piece) return rank;
  const auto keeps = [&](int member) { return PieceIndices(mesh, from, member) == PieceIndices(mesh, to, member); };
  int position = 0;
  for (int member : group) {
    if (member == rank) break;
    if (!keeps(member) && PieceIndices(mesh, from, member) == piece) ++position;
  }
  for (int member : group) {
    if (!keeps(member) && PieceIndices(mesh, to, member) == piece && position-- == 0) return member;
  }
  CLEAVE_CHECK(false) << "no partner for rank " << rank << " in a permute of " << LayoutText(from, mesh) << " to "
                      << LayoutText(to, mesh);
  return rank;
}

}  // namespace

absl::string_view CollectiveKindName(CollectiveKind kind) {
  for (const auto& [candidate, name] : kKindNames) {
    if (candidate == kind) return name;
  }
  CLEAVE_UNREACHABLE();
}

std::optional<CollectiveKind> ParseCollectiveKind(absl::string_view name) {
  for (const auto& [kind, candidate] : kKindNames) {
    if (candidate == name) return kind;
  }
  return std::nullopt;
}

Shape LocalShape(const Program& program, ValueId value, int rank) {
  return LocalShape(program.value(value).layout, program.mesh, program.value(value).type.shape, rank);
}

bool IsReshape(const Step& step) {
  const auto* const compute = std::get_if<Compute>(&step.action);
  return compute != nullptr && DefinitionOf(compute->kind).is_alias;
}

Shape LargestLocalShape(const Program& program, ValueId value) {
  return LargestLocalShape(program.value(value).layout, program.mesh, program.value(value).type.shape);
}

Bytes LargestLocalBytes(const Program& program, ValueId value) {
  return LargestLocalBytes(program.value(value).layout, program.mesh, program.value(value).type);
}

StepValues Reads(const Step& step) {
  return Match(
      step.action, [](const Compute& compute) { return StepValues(compute.inputs.begin(), compute.inputs.end()); },
      [](const Collective& collective) {
        StepValues values;
        for (const Transfer& transfer : collective.transfers) values.push_back(transfer.input);
        return values;
      },
      [](const Slice& slice) { return StepValues{slice.input}; },
      [](const View& view) { return StepValues{view.input}; },
      [](const Glance& glance) { return StepValues{glance.input}; },
      [](const HostCopy& copy) { return StepValues{copy.input}; },
      [](const Send& send) { return StepValues{send.input}; }, [](const Receive&) { return StepValues(); });
}

StepValues Writes(const Step& step) {
  return Match(
      step.action, [](const Compute& compute) { return StepValues{compute.output}; },
      [](const Collective& collective) {
        StepValues values;
        for (const Transfer& transfer : collective.transfers) values.push_back(transfer.output);
        return values;
      },
      [](const Slice& slice) { return StepValues{slice.output}; },
      [](const View& view) { return StepValues{view.output}; }, [](const Glance&) { return StepValues(); },
      [](const HostCopy& copy) { return StepValues{copy.output}; }, [](const Send&) { return StepValues(); },
      [](const Receive& receive) { return StepValues{receive.output}; });
}

const Repetition& RepetitionOf(const Program& program, const Step& step) {
  const StepValues written = Writes(step);
  return program.value(written.empty() ? Reads(step).front() : written.front()).repetition;
}

bool IsCopyOut(const Step& step) {
  const HostCopy* copy = std::get_if<HostCopy>(&step.action);
  return copy != nullptr && copy->direction == HostCopy::Direction::kOut;
}

absl::string_view RepeatName(Repeat repeat) {
  switch (repeat) {
    case Repeat::kEachBefore:
      return "for each micro-batch before the others";
    case Repeat::kOnceBefore:
      return "once before the micro-batches";
    case Repeat::kEach:
      return "for each micro-batch";
    case Repeat::kOnceAfter:
      return "once after the micro-batches";
  }
  return "";
}

Mesh RankMesh(const Program& program) {
  if (!program.time.has_value()) return program.mesh;
  std::vector<MeshAxis> axes = program.mesh.axes();
  axes.pop_back();
  return *Mesh::Create(std::move(axes));
}

int64_t MicroBatches(const Program& program) {
  return program.time.has_value() ? program.mesh.axis(*program.time).size : 1;
}

int AtMoment(const Program& program, int rank, int64_t moment) {
  return rank * static_cast<int>(MicroBatches(program)) + static_cast<int>(moment);
}

bool IsSumOverTime(const Program& program, const Collective& collective) {
  return program.time.has_value() && collective.axes == AxisList{*program.time};
}

const Collective* CommunicationOf(const Program& program, const Step& step) {
  const Collective* collective = std::get_if<Collective>(&step.action);
  return collective == nullptr || IsSumOverTime(program, *collective) ? nullptr : collective;
}

int64_t RunsOf(const Program& program, const Step& step) { return IsForEach(step.repeat) ? MicroBatches(program) : 1; }

int PartCount(const Program& program) {
  return program.pipeline.has_value() ? static_cast<int>(program.mesh.axis(program.pipeline->axis).size) : 1;
}

int StageCount(const Program& program) { return program.pipeline.has_value() ? TimetableOf(program).stages() : 1; }

Timetable TimetableOf(const Program& program) {
  return Timetable(program.pipeline->schedule, PartCount(program), MicroBatches(program));
}

std::vector<int> OwnStages(const Program& program) {
  std::vector<int> stages;
  for (int stage = *program.part; stage < StageCount(program); stage += PartCount(program)) stages.push_back(stage);
  return stages;
}

PassKind LastPassOf(const Program& program) {
  const bool has_weights = std::any_of(program.steps.begin(), program.steps.end(),
                                       [](const Step& step) { return step.phase == Phase::kWeights; });
  return has_weights ? PassKind::kWeights : PassKind::kBackward;
}

int64_t MicroBatchesUnderWay(const Program& program) {
  if (!program.part.has_value()) return 1;
  const PassKind last = LastPassOf(program);
  const Timetable timetable = TimetableOf(program);
  int64_t most = 1;
  for (const int stage : OwnStages(program)) {
    most = std::max(most, timetable.MicroBatchesBetween({stage, PassKind::kForward}, {stage, last}));
  }
  return most;
}

int64_t MessagesUnderWay(const Program& program, const Step& step) {
  const int from = *StageOf(program, step);
  const int to = std::get<Send>(step.action).to;
  const bool are_neighbours = std::abs(from - to) == 1 && program.pipeline->schedule.stages_per_rank == 1;
  if (step.repeat != Repeat::kEach || are_neighbours) return 1;
  const int first = std::min(from, to);
  return TimetableOf(program).MicroBatchesBetween({first, PassKind::kForward}, {first, PassKind::kBackward});
}

int LaneOf(const Program& program, int from, int to) {
  return program.pipeline->schedule.stages_per_rank > 1 ? to - from : 0;
}

std::optional<int> StageOf(const Program& program, const Step& step) {
  const StepValues writes = Writes(step);
  const StepValues touched = writes.empty() ? Reads(step) : writes;
  return touched.empty() ? std::nullopt : program.value(touched.front()).stage;
}

std::optional<StagePass> PassIn(const Program& program, const Step& step) {
  const bool is_in_pass = program.part.has_value() && step.repeat == Repeat::kEach && step.phase != Phase::kUpdate;
  if (!is_in_pass) return std::nullopt;
  return StagePass{.stage = StageOf(program, step).value_or(*program.part), .kind = PassOf(step.phase)};
}

std::vector<int> RanksOf(const Program& program, std::optional<int> stage) {
  const std::optional<int> part = stage.has_value() ? std::optional(TimetableOf(program).PartOf(*stage)) : std::nullopt;
  std::vector<int> ranks;
  for (int rank = 0; rank < program.mesh.rank_count(); ++rank) {
    if (!part.has_value() || program.mesh.Index(rank, {program.pipeline->axis}) == *part) ranks.push_back(rank);
  }
  return ranks;
}

int PeerOf(const Program& program, int rank, int stage) {
  std::vector<int> coordinates = program.mesh.Coordinates(rank);
  coordinates[static_cast<size_t>(program.pipeline->axis.value())] = TimetableOf(program).PartOf(stage);
  return program.mesh.Rank(coordinates);
}

Rule RuleOf(const Program& program, const Compute& compute) {
  std::vector<TensorType> inputs;
  for (ValueId input : compute.inputs) inputs.push_back(program.value(input).type);
  return DefinitionOf(compute.kind).rule(inputs, program.value(compute.output).type, compute.attributes);
}

const Rule& RuleOf(const Program& program, const Compute& compute, RuleTable& rules) {
  absl::InlinedVector<const TensorType*, 4> inputs;
  for (ValueId input : compute.inputs) inputs.push_back(&program.value(input).type);
  return rules.Of(compute.kind, inputs, program.value(compute.output).type, compute.attributes);
}

PermutePartners PartnersOf(const Program& program, const Collective& collective, int rank) {
  CLEAVE_CHECK(collective.kind == CollectiveKind::kPermute && collective.transfers.size() == 1)
      << CollectiveKindName(collective.kind);
  const Layout& from = program.value(collective.transfers[0].input).layout;
  const Layout& to = program.value(collective.transfers[0].output).layout;
  const std::vector<int> group = program.mesh.Group(rank, collective.axes);
  if (collective.turn != 0) {
    const auto members = static_cast<int64_t>(group.size()), own = program.mesh.Index(rank, collective.axes);
    const auto member = [&](int64_t number) { return group[static_cast<size_t>(number % members)]; };
    return {.destination = member(own + members - collective.turn), .origin = member(own + collective.turn)};
  }
  return {.destination = Partner(program.mesh, group, from, to, rank),
          .origin = Partner(program.mesh, group, to, from, rank)};
}

Bytes CollectiveBytes(const Program& program, const Collective& collective) {
  Bytes bytes;
  for (const Transfer& transfer : collective.transfers) {
    const ValueId value = CountedValue(collective, transfer);
    bytes += ElementSize(program.value(value).type.dtype) * CountedElements(program, collective, transfer);
  }
  return bytes;
}

double SentBytes(const Program& program, const Collective& collective) {
  if (collective.messages.has_value()) {
    const Messages& messages = *collective.messages;
    const DType dtype = program.value(collective.transfers.front().input).type.dtype;
    const int64_t sent = MostExchanged(program.mesh.rank_count(), messages.send_sizes, messages.send_ranks);
    return static_cast<double>((ElementSize(dtype) * sent).value());
  }
  const double bytes = static_cast<double>(CollectiveBytes(program, collective).value());
  const double ranks = static_cast<double>(program.mesh.Size(collective.axes));
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (ranks - 1) / ranks * bytes;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBroadcast:
      return (ranks - 1) / ranks * bytes;
    case CollectiveKind::kPermute:
    case CollectiveKind::kNeighborExchange:
    case CollectiveKind::kSendReceive:
    case CollectiveKind::kNeighborExchangeV2:
      return bytes;
  }
  CLEAVE_UNREACHABLE();
}

}  // namespace cleave::ir
