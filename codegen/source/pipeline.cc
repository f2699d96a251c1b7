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

// How many micro-batches the forward passes of the stage are ahead of its passes of a kind.
int64_t AheadOf(const Emission& emission, ir::PassKind kind) {
  return ir::MicroBatchesBetween(emission.program, *emission.program.stage, ir::PassKind::kForward, kind) - 1;
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

std::string TurnText(const Emission& emission) {
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

void EmitTurns(const Emission& emission, const std::function<void(ir::PassKind)>& calls, SourceWriter& writer) {
  const int64_t count = ir::MicroBatches(emission.program);
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
    writer.Line(absl::StrCat("Begin(turn", own > 0 ? absl::StrCat(" - ", ahead) : "", ");"));
    calls(kind);
    writer.Close("}");
  }
  writer.Close("}");
}

}  // namespace cleave::codegen
