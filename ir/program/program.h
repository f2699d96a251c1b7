// What a rank executes: ops on local shapes, collectives over groups of mesh axes, slices, glances at values, copies to
// the host's memory and back.
//
// All ranks run the same steps; what differs (piece sizes, offsets, group members) follows in closed form from a
// value's layout and the rank's mesh coordinates. Values are SSA: each is written by exactly one step. Made by
// Partition (ir/program/partition), checked by Check (ir/proof/check), run on simulated ranks by Interpret
// (ir/proof/interpret), turned into text by codegen.
#ifndef CLEAVE_IR_PROGRAM_PROGRAM_H_
#define CLEAVE_IR_PROGRAM_PROGRAM_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {

using ValueId = StrongId<struct ValueIdTag>;

struct Value {
  std::string name;  // Unique: the op's name, or "<op>.<kind of the collective or slice>" with a number where needed.
  TensorType type;   // Of the whole tensor.
  Layout layout;     // Of this value; the local shape follows.
  OpId origin;       // The graph op whose value this is, in this layout.
  // The stage of a pipeline whose ranks hold it; nullopt: all ranks do.
  std::optional<int> stage = {};
  Repetition repetition = {};  // The passes of the model's loops to which it belongs: those of the op.

  bool operator==(const Value&) const = default;
};

// A local computation: one op of the graph on its rank's pieces. Sources (parameter, state, input, constant,
// step_scalar) are Computes without inputs, and those that are kept.
struct Compute {
  OpId op;
  OpKind kind{};
  // Those of the graph's op. What depends on the place in the whole tensor comes from the strategy's factor ranges.
  Attributes attributes;
  std::vector<ValueId> inputs;
  ValueId output;
  Strategy strategy;
  // What is made of a source is kept from step to step, as that is: it is computed before the first step, and each step
  // makes it for the next one, of the source's new value (ir/program/partition/kept_copies.h). So it is a source, too,
  // and one of Program::updates.
  bool is_kept = false;

  bool operator==(const Compute&) const = default;
};

enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kPermute,
  kNeighborExchange,
  kSendReceive,         // "send_recv"
  kNeighborExchangeV2,  // "neighbor_exchange_v2"
};

absl::string_view CollectiveKindName(CollectiveKind kind);  // "all_reduce"
std::optional<CollectiveKind> ParseCollectiveKind(absl::string_view name);

// One tensor's part in a collective.
struct Transfer {
  ValueId input;
  ValueId output;
  int from_dimension = -1;  // all_gather: the gathered dimension; all_to_all: the one that was cut and becomes whole.
  int to_dimension = -1;    // reduce_scatter, all_to_all: the dimension that becomes cut.

  bool operator==(const Transfer&) const = default;
};

// What the ranks of a manual model send each other. The input of a rank consists of `send_sizes.size()` parts one after
// another, its output of `receive_sizes.size()` parts. Sizes are numbers of elements, the same on all ranks. Between
// two ranks the i-th part that one sends is the i-th that the other receives.
struct Messages {
  std::vector<int64_t> send_sizes;
  std::vector<int64_t> receive_sizes;
  std::vector<int64_t> send_ranks;     // [rank * send_sizes.size() + part]: to whom; -1: to nobody.
  std::vector<int64_t> receive_ranks;  // [rank * receive_sizes.size() + part]: from whom; -1: zeros.

  bool operator==(const Messages&) const = default;
};

// A communication within the groups of ranks that differ only on `axes`. What it makes of its input:
//   all_reduce      The input is partial over `axes`, the output is not.
//   all_gather      `axes` are the last axes of from_dimension; the output lacks them.
//   reduce_scatter  The input is partial over `axes`; in the output they are the last axes of to_dimension.
//   all_to_all      `axes` are the last axes of from_dimension; in the output they are the last axes of to_dimension.
//   permute         Both layouts have the same number of pieces in every dimension. Each rank sends its piece to
//                   the one rank that needs it; a rank that already holds what it needs keeps it. With a `turn` both
//                   layouts are the same, and the output is the value of an op `turn` of the input: each member gets
//                   the piece of the member so many places behind it.
//   broadcast       Every member gets the input of member `root`.
//   neighbor_exchange without `messages`
//                   The output is the input with windows: each rank gets what its windows have beyond its own piece
//                   from the ranks that hold it. `axes` are all that cut a windowed dimension, in mesh order.
//   send_recv, neighbor_exchange, neighbor_exchange_v2 with `messages`
//                   One-dimensional local tensors are sent in parts between any ranks. `axes` are all of the mesh.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  AxisList axes;  // In the order of the layout, which numbers the group's members; mesh order for all_reduce.
  Reduction reduction = Reduction::kSum;
  // Several only after all_reduces, reduce_scatters or all_gathers were merged; all of one element type.
  std::vector<Transfer> transfers;
  std::string why;  // "partial sums of h1.matmul", "h2.matmul reads h1.relu in rows"
  int root = 0;     // For a broadcast: the member's number in its group.
  int turn = 0;     // For a permute.
  std::optional<Messages> messages = {};

  bool operator==(const Collective&) const = default;
};

// Each rank keeps a part of what it has, without communication: each dimension of the output layout is cut by the axes
// of the input layout and perhaps more, or every rank's windows lie within its pieces.
struct Slice {
  ValueId input;
  ValueId output;

  bool operator==(const Slice&) const = default;
};

// The rank's local tensor under another description: a local tensor of a manual model as a rank's part of a whole one,
// and back. The same elements in the same memory.
struct View {
  ValueId input;
  ValueId output;

  bool operator==(const View&) const = default;
};

// Looks at a value of the program: at what each rank holds, without communication. What is shown of it, the ranks put
// together outside of the step.
struct Glance {
  LookKind kind = LookKind::kPrint;
  ValueId input;
  int number = 0;  // The place of the Look in the graph; the order in which looks are shown.

  bool operator==(const Glance&) const = default;
};

// A copy of what a rank holds between the memory of its device and that of its host: the same elements in the same
// layout. Only a copy back reads what a copy out has written.
struct HostCopy {
  enum class Direction { kOut, kBack };  // To the host's memory, and from it.

  Direction direction = Direction::kOut;
  ValueId input;
  ValueId output;

  bool operator==(const HostCopy&) const = default;
};

// Each rank of the stage that holds the input sends it to the rank in its place of another stage. It waits only until
// that rank has taken what this step sent before.
struct Send {
  ValueId input;
  int to = 0;

  bool operator==(const Send&) const = default;
};

// Each rank of the stage that will hold the output takes what the rank in its place of another stage has sent. Between
// two stages what is sent first is taken first (LaneOf).
struct Receive {
  ValueId output;
  int from = 0;

  bool operator==(const Receive&) const = default;
};

// How often a step runs where the batch is taken in micro-batches.
enum class Repeat {
  kEachBefore,  // For each micro-batch, in a loop before the others (ir/sharding/micro_batches).
  kOnceBefore,  // Before the micro-batches.
  kEach,        // For each micro-batch. Without micro-batches all steps are such.
  kOnceAfter,
};

absl::string_view RepeatName(Repeat repeat);  // "for each micro-batch"

inline bool IsForEach(Repeat repeat) { return repeat == Repeat::kEach || repeat == Repeat::kEachBefore; }

struct Step {
  std::variant<Compute, Collective, Slice, View, Glance, HostCopy, Send, Receive> action;
  std::string name;  // "h1.matmul", "h1.matmul.all_reduce"
  Phase phase = Phase::kForward;
  int line = 0;
  Repeat repeat = Repeat::kEach;

  bool operator==(const Step&) const = default;
};

struct ProgramUpdate {
  ValueId state;  // A source value, which the program keeps from step to step; besides those of the graph kept ones.
  ValueId value;  // In the same layout.

  bool operator==(const ProgramUpdate&) const = default;
};

struct ProgramMetric {
  std::string name;
  ValueId value;                 // Replicated.
  std::vector<ValueId> of = {};  // Of a pipeline of all stages: the value as each stage has it.

  bool operator==(const ProgramMetric&) const = default;
};

struct Program {
  std::string model;
  std::string file;
  Mesh mesh;
  // Where a step takes its batch in micro-batches, the mesh has an axis whose "ranks" are moments, its last
  // (ir/sharding/micro_batches). A rank of the mesh is then a rank at one of these moments. An all_reduce over this
  // axis alone is a sum in place, complete after the last micro-batch; nothing else is sent along it.
  std::optional<AxisId> time = {};
  // Of a pipeline: its axis of stages, along which ranks run different steps (StageOf) and only sends and receives
  // communicate.
  std::optional<Pipeline> pipeline = {};
  // The program of one part of the ranks, which have the same stages (ProgramsOfParts); nullopt: of all ranks.
  std::optional<int> part = {};
  IdVector<ValueId, Value> values;
  // Ordered by `repeat`, and steps of one kind by phase: forward, metric, backward, weights, update.
  std::vector<Step> steps;
  std::optional<ValueId> loss;        // Replicated.
  std::vector<ValueId> loss_of = {};  // Of a pipeline of all stages: the loss as each stage has it.
  std::vector<ProgramMetric> metrics;
  std::vector<ProgramUpdate> updates;
  // The program of a manual model. A value's layout says which part a rank holds, but ranks that are replicas according
  // to the layout may hold different values.
  bool is_manual = false;

  const Value& value(ValueId id) const { return values[id]; }

  bool operator==(const Program&) const = default;
};

// The mesh of the ranks that run the program, without the axis of time, and how many micro-batches there are.
Mesh RankMesh(const Program& program);
int64_t MicroBatches(const Program& program);
// A rank of RankMesh at a moment, as a rank of the program's mesh.
int AtMoment(const Program& program, int rank, int64_t moment = 0);

// When the ranks of a pipeline do which pass. REQUIRES: the program is one.
Timetable TimetableOf(const Program& program);
// The stages of a part of the ranks: of that whose program this is.
std::vector<int> OwnStages(const Program& program);
// The last pass of a micro-batch in the program of a part: that for the weights, if it has steps of this phase.
PassKind LastPassOf(const Program& program);
// How many micro-batches of a stage are at once between their first and their last pass, at most of those of the part
// whose program this is. 1 where the program is no pipeline.
int64_t MicroBatchesUnderWay(const Program& program);

// How many messages of a send wait at most to be taken at once: each has a place in the sender's memory. Between stages
// that are not neighbours, and where ranks have several, it is the micro-batches that the first of them has between
// their forward and backward passes. With fewer places that stage would wait in a forward pass for the other one, which
// may wait in a backward pass for it.
int64_t MessagesUnderWay(const Program& program, const Step& step);

// The stage whose ranks run the step; nullopt: all ranks do.
std::optional<int> StageOf(const Program& program, const Step& step);
// The pass of a pipeline's stage in which the step runs; nullopt where it runs once in a step. Where all stages of a
// part could run it, the first one does.
std::optional<StagePass> PassIn(const Program& program, const Step& step);
// The ranks of the program's mesh that are of a stage; all where `stage` is nullopt.
std::vector<int> RanksOf(const Program& program, std::optional<int> stage);
// Where ranks have several stages, messages between the same ranks in other directions or over other distances may be
// taken in another order than they are sent. Those with equal lanes are not. 0 where each rank has one stage.
int LaneOf(const Program& program, int from, int to);
// The rank in the place of `rank` in another stage.
int PeerOf(const Program& program, int rank, int stage);
// How many stages there are, and into how many parts they divide the ranks. 1 where the program is no pipeline.
int StageCount(const Program& program);
int PartCount(const Program& program);

Shape LocalShape(const Program& program, ValueId value, int rank);
Shape LargestLocalShape(const Program& program, ValueId value);
Bytes LargestLocalBytes(const Program& program, ValueId value);

// What a step reads and writes, in order.
using StepValues = absl::InlinedVector<ValueId, 6>;
StepValues Reads(const Step& step);
StepValues Writes(const Step& step);
// Whether the step computes nothing: its value is that of its only input, element by element.
bool IsReshape(const Step& step);

// The repetition of what the step writes, or of what it reads where it writes nothing.
const Repetition& RepetitionOf(const Program& program, const Step& step);

// Whether the step makes a value that lies in the host's memory.
bool IsCopyOut(const Step& step);

// Whether it is an all_reduce over the axis of time alone: a sum in place.
bool IsSumOverTime(const Program& program, const Collective& collective);
// What ranks send each other in the step, or null. It happens RunsOf(program, step) times in a training step.
const Collective* CommunicationOf(const Program& program, const Step& step);
int64_t RunsOf(const Program& program, const Step& step);

// The rule of a Compute on the whole tensors.
Rule RuleOf(const Program& program, const Compute& compute);
// The same from a table of those that were made.
const Rule& RuleOf(const Program& program, const Compute& compute, RuleTable& rules);

// The rank to which a rank sends its piece in a permute, and the rank from which it gets its new one. Both are in its
// group; they are the rank itself where it keeps what it has. Every member sends once and receives once. REQUIRES: the
// collective is a permute.
struct PermutePartners {
  int destination = 0;
  int origin = 0;

  bool operator==(const PermutePartners&) const = default;
};
PermutePartners PartnersOf(const Program& program, const Collective& collective, int rank);

// Bytes of the full tensors on which one group works (S), and bytes sent by each rank, as plan.json counts them
// (docs/formats/plan.md). With n the size of the group:
//   all_reduce                  S is the largest rank's input; each rank sends 2(n-1)/n * S
//   reduce_scatter, all_to_all,
//   broadcast                   S is the largest rank's input; each rank sends (n-1)/n * S
//   all_gather                  S is the largest rank's output; each rank sends (n-1)/n * S
//   permute                     a rank sends S where its piece moves
//   neighbor_exchange           S is what the rank that receives most gets, and is sent
//   with messages               S is what the rank that receives most gets from other ranks; the bytes sent are
//                               those of the rank that sends most to others
Bytes CollectiveBytes(const Program& program, const Collective& collective);
double SentBytes(const Program& program, const Collective& collective);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PROGRAM_H_
