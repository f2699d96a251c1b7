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

// The box from which a send is taken, among those of all sends to the same stage: "2", or "2 + micro_batch % 3" where
// several of its messages may wait.
std::string BoxText(Emission& emission, int step, int to) {
  int64_t box = 0;
  for (int i = 0; i < step; ++i) {
    const auto* other = std::get_if<ir::Send>(&emission.step(i).action);
    if (other != nullptr && other->to == to) box += ir::MessagesUnderWay(emission.program, emission.step(i));
  }
  const int64_t messages = ir::MessagesUnderWay(emission.program, emission.step(step));
  if (messages == 1) return absl::StrCat(box);
  return absl::StrCat(box, " + ", emission.sizes.AxisName(*emission.program.time), " % ", messages);
}

const std::string& StageGroup(Emission& emission) { return emission.Group({emission.program.pipeline->axis}); }

}  // namespace

void EmitSend(Emission& emission, int step, const ir::Send& send, SourceWriter& writer) {
  Announce(emission, {step}, absl::StrCat("to stage ", send.to, BytesText(emission, send.input)), writer);
  Watch(emission, step, send.input, writer);
  writer.Call("comm.Send(",
              {emission.names[send.input], emission.sizes.Count(send.input).Text(), absl::StrCat(send.to),
               BoxText(emission, step, send.to), StageGroup(emission)},
              ");");
}

void EmitReceive(Emission& emission, int step, const ir::Receive& receive, SourceWriter& writer) {
  Announce(emission, {step}, absl::StrCat("from stage ", receive.from), writer);
  Watch(emission, step, receive.output, writer);
  writer.Call("comm.Receive(",
              {emission.names[receive.output], emission.sizes.Count(receive.output).Text(), absl::StrCat(receive.from),
               StageGroup(emission)},
              ");");
}

void EmitTurns(const Emission& emission, const std::function<void()>& forward, const std::function<void()>& backward,
               SourceWriter& writer) {
  const int64_t count = ir::MicroBatches(emission.program);
  const auto pass = [&](const std::string& condition, const std::string& number, const std::function<void()>& calls) {
    writer.Open(absl::StrCat("if (", condition, ") {"));
    writer.Line(absl::StrCat("Begin(", number, ");"));
    calls();
    writer.Close("}");
  };
  writer.Line(
      absl::StrCat("const int64_t ahead = gradients ? ", ir::MicroBatchesUnderWay(emission.program) - 1, " : 0;"));
  writer.Open(absl::StrCat("for (int64_t turn = 0; turn < ", count, " + ahead; ++turn) {"));
  pass(absl::StrCat("turn < ", count), "turn", forward);
  pass("gradients && turn >= ahead", "turn - ahead", backward);
  writer.Close("}");
}

}  // namespace cleave::codegen
