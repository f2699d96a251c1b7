#include "codegen/source/pipeline.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/sharding/stages/stages.h"

namespace cleave::codegen {
namespace {

// "; each rank sends 65536 bytes"
std::string BytesText(Emission& emission, ir::ValueId value) {
  return absl::StrCat("; each rank sends ", emission.sizes.IsEven(value) ? "" : "at most ",
                      ir::LargestLocalBytes(emission.program, value).value(), " bytes");
}

// The box from which a send is taken, among those of all sends to the same ranks: "2", or "2 + micro_batch % 3" where
// several of its messages may wait.
std::string BoxText(Emission& emission, int step, int to) {
  const ir::Timetable timetable = ir::TimetableOf(emission.program);
  int64_t box = 0;
  for (int i = 0; i < step; ++i) {
    const auto* other = std::get_if<ir::Send>(&emission.step(i).action);
    if (other == nullptr || timetable.PartOf(other->to) != timetable.PartOf(to)) continue;
    box += ir::MessagesUnderWay(emission.program, emission.step(i));
  }
  const int64_t messages = ir::MessagesUnderWay(emission.program, emission.step(step));
  if (messages == 1) return absl::StrCat(box);
  return absl::StrCat(box, " + ", emission.sizes.AxisName(*emission.program.time), " % ", messages);
}

// How many turns the forward passes of the ranks are ahead of their passes of a kind.
int64_t AheadOf(const Emission& emission, ir::PassKind kind) {
  return ir::TimetableOf(emission.program).TurnsAhead(*emission.program.part, kind);
}

// The member of the group of a lane with a stage.
std::string MemberText(const Emission& emission, int stage) {
  return absl::StrCat(ir::TimetableOf(emission.program).PartOf(stage));
}

// What happens in a turn to the passes of a kind of ranks with several stages: `number` says which of them it is.
void EmitRound(const Emission& emission, ir::PassKind kind, const std::string& number, const PassCalls& calls,
               SourceWriter& writer) {
  const ir::Timetable timetable = ir::TimetableOf(emission.program);
  const int64_t parts = timetable.parts();
  const auto stages = static_cast<int64_t>(ir::OwnStages(emission.program).size());
  writer.Line(absl::StrCat("const int64_t pass = ", number, ";"));
  writer.Line(absl::StrCat("const int64_t round = pass / ", parts, " % ", stages, ";"));
  writer.Line(absl::StrCat("Begin(pass / ", parts * stages, " * ", parts, " + pass % ", parts, ");"));
  for (int64_t round = 0; round < stages; ++round) {
    const ir::Pass first = timetable.PassAt(*emission.program.part, kind, round * parts);
    writer.Open(absl::StrCat("if (round == ", round, ") {"));
    calls({first.stage, kind}, writer);
    writer.Close("}");
  }
}

}  // namespace

void EmitSend(Emission& emission, int step, const ir::Send& send, SourceWriter& writer) {
  Announce(emission, {step}, absl::StrCat("to stage ", send.to, BytesText(emission, send.input)), writer);
  Watch(emission, step, send.input, writer);
  const int from = *emission.value(send.input).stage;
  writer.Call("comm.Send(",
              {emission.names[send.input], emission.sizes.Count(send.input).Text(), MemberText(emission, send.to),
               BoxText(emission, step, send.to), emission.LaneBetween(from, send.to).group},
              ");");
}

void EmitReceive(Emission& emission, int step, const ir::Receive& receive, SourceWriter& writer) {
  Announce(emission, {step}, absl::StrCat("from stage ", receive.from), writer);
  Watch(emission, step, receive.output, writer);
  const int own = *emission.value(receive.output).stage;
  writer.Call("comm.Receive(",
              {emission.names[receive.output], emission.sizes.Count(receive.output).Text(),
               MemberText(emission, receive.from), emission.LaneBetween(receive.from, own).group},
              ");");
}

std::string TurnText(const Emission& emission) {
  const ir::Timetable timetable = ir::TimetableOf(emission.program);
  if (timetable.PassesOfAKind() > ir::MicroBatches(emission.program)) {
    return absl::StrCat("In turn t this rank does its forward pass t and its backward pass t - ",
                        AheadOf(emission, ir::PassKind::kBackward), ": ", timetable.parts(),
                        " micro-batches go through one of its stages, then through the next one.");
  }
  std::string text = "In turn t this stage does the forward pass of micro-batch t";
  const auto micro_batch = [&](ir::PassKind kind) {
    const int64_t ahead = AheadOf(emission, kind);
    return absl::StrCat("of micro-batch t", ahead == 0 ? "" : absl::StrCat(" - ", ahead));
  };
  const bool has_weights = ir::LastPassOf(emission.program) == ir::PassKind::kWeights;
  absl::StrAppend(&text, has_weights ? ", " : " and ", "the backward pass ", micro_batch(ir::PassKind::kBackward));
  if (has_weights) absl::StrAppend(&text, " and the gradients of weights ", micro_batch(ir::PassKind::kWeights));
  return absl::StrCat(text, ".");
}

void EmitTurns(const Emission& emission, const PassCalls& calls, SourceWriter& writer) {
  const ir::Timetable timetable = ir::TimetableOf(emission.program);
  const int64_t count = timetable.PassesOfAKind();
  const ir::PassKind last = ir::LastPassOf(emission.program);
  writer.Line(absl::StrCat("const int64_t ahead = gradients ? ", AheadOf(emission, last), " : 0;"));
  writer.Open(absl::StrCat("for (int64_t turn = 0; turn < ", count, " + ahead; ++turn) {"));
  for (const ir::PassKind kind : ir::kPassKinds) {
    if (kind > last) break;
    const bool is_last = kind == last;
    const int64_t own = AheadOf(emission, kind);
    const std::string ahead = is_last ? "ahead" : absl::StrCat(own);
    std::vector<std::string> conditions;
    if (kind != ir::PassKind::kForward) conditions.push_back("gradients");
    if (own > 0) conditions.push_back(absl::StrCat("turn >= ", ahead));
    if (!is_last) conditions.push_back(absl::StrCat("turn < ", own + count));
    writer.Open(absl::StrCat("if (", absl::StrJoin(conditions, " && "), ") {"));
    const std::string number = absl::StrCat("turn", own > 0 ? absl::StrCat(" - ", ahead) : "");
    if (count > ir::MicroBatches(emission.program)) {
      EmitRound(emission, kind, number, calls, writer);
    } else {
      writer.Line(absl::StrCat("Begin(", number, ");"));
      calls({*emission.program.part, kind}, writer);
    }
    writer.Close("}");
  }
  writer.Close("}");
}

}  // namespace cleave::codegen
