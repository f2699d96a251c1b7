#include "codegen/source/pipeline.h"

#include <string>

#include "absl/strings/str_cat.h"
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
cpp::Expr BoxOf(Emission& emission, int step, int to) {
  const ir::Timetable timetable = ir::TimetableOf(emission.program);
  int64_t box = 0;
  for (int i = 0; i < step; ++i) {
    const auto* other = std::get_if<ir::Send>(&emission.step(i).action);
    if (other == nullptr || timetable.PartOf(other->to) != timetable.PartOf(to)) continue;
    box += ir::MessagesUnderWay(emission.program, emission.step(i));
  }
  const int64_t messages = ir::MessagesUnderWay(emission.program, emission.step(step));
  if (messages == 1) return box;
  return cpp::Expr(box) + cpp::Name(emission.sizes.AxisName(*emission.program.time)) % messages;
}

// The member of the group of a lane with a stage.
int MemberOf(const Emission& emission, int stage) { return ir::TimetableOf(emission.program).PartOf(stage); }

}  // namespace

void EmitBeginPass(Emission& emission, const std::vector<MessageStep>& steps, cpp::Code& code) {
  std::vector<cpp::Expr> messages;
  for (const auto& [step, is_behind] : steps) {
    if (const auto* send = std::get_if<ir::Send>(&emission.step(step).action)) {
      const int from = *emission.value(send->input).stage;
      messages.push_back(cpp::Call("Sends", {MemberOf(emission, send->to), BoxOf(emission, step, send->to),
                                             cpp::Name(emission.GroupBetween(from, send->to))}));
      continue;
    }
    const auto& receive = std::get<ir::Receive>(emission.step(step).action);
    const int own = *emission.value(receive.output).stage;
    messages.push_back(
        cpp::Call(is_behind   ? "TakesBehind"
                  : is_behind ? "TakesBehind"
                              : "Takes",
                  {MemberOf(emission, receive.from), cpp::Name(emission.GroupBetween(receive.from, own))}));
  }
  const cpp::Expr begin = cpp::Call("comm.BeginPass", {cpp::Braces(std::move(messages))});
  code.OnLine(cpp::If{cpp::Prefix("!", begin)}).Do(cpp::Name("return"));
}

void EmitSend(Emission& emission, int step, const ir::Send& send, cpp::Code& code) {
  Announce(emission, {step}, absl::StrCat("to stage ", send.to, BytesText(emission, send.input)), code);
  Watch(emission, step, send.input, code);
  const int from = *emission.value(send.input).stage;
  code.Do(cpp::Call("comm.Send",
                    {emission.names[send.input], emission.sizes.Count(send.input).Value(), MemberOf(emission, send.to),
                     BoxOf(emission, step, send.to), cpp::Name(emission.GroupBetween(from, send.to))}));
}

void EmitReceive(Emission& emission, int step, const ir::Receive& receive, cpp::Code& code) {
  Announce(emission, {step}, absl::StrCat("from stage ", receive.from), code);
  Watch(emission, step, receive.output, code);
  const int own = *emission.value(receive.output).stage;
  code.Do(cpp::Call("comm.Receive",
                    {emission.names[receive.output], emission.sizes.Count(receive.output).Value(),
                     MemberOf(emission, receive.from), cpp::Name(emission.GroupBetween(receive.from, own))}));
}

}  // namespace cleave::codegen
