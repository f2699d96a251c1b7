#include "codegen/program/passes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/program/facts.h"
#include "ir/sharding/stages/stages.h"

namespace cleave::codegen {
namespace {

// Writes the calls of a pass.
using PassCalls = std::function<void(const ir::StagePass& pass, cpp::Code& code)>;

// How many turns the forward passes of the ranks are ahead of their passes of a kind.
int64_t AheadOf(const Emission& emission, ir::PassKind kind) {
  return ir::TimetableOf(emission.program).TurnsAhead(*emission.program.part, kind);
}

// What happens in a turn to the passes of a kind of ranks with several stages: `number` says which of them it is.
void EmitRound(const Emission& emission, ir::PassKind kind, const cpp::Expr& number, const PassCalls& calls,
               cpp::Code& code) {
  const ir::Timetable timetable = ir::TimetableOf(emission.program);
  const int64_t parts = timetable.parts();
  const auto stages = static_cast<int64_t>(ir::OwnStages(emission.program).size());
  const cpp::Expr pass = cpp::Name("pass"), own_round = cpp::Name("round");
  code.Declare({cpp::Name("const int64_t"), "pass"}, number);
  code.Declare({cpp::Name("const int64_t"), "round"}, pass / parts % stages);
  code.Do(cpp::Call("Begin", {pass / (parts * stages) * parts + pass % parts}));
  for (int64_t round = 0; round < stages; ++round) {
    const ir::Pass first = timetable.PassAt(*emission.program.part, kind, round * parts);
    calls({first.stage, kind}, code.Open(cpp::If{cpp::Infix(own_round, "==", round)}));
  }
}

// What a stage that has several micro-batches under way does in a turn: "In turn t this stage does the forward pass of
// micro-batch t and the backward pass of micro-batch t - 1."
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

// The loop over the turns of a stage.
void EmitTurns(const Emission& emission, const PassCalls& calls, cpp::Code& code) {
  const ir::Timetable timetable = ir::TimetableOf(emission.program);
  const int64_t count = timetable.PassesOfAKind();
  const ir::PassKind last = ir::LastPassOf(emission.program);
  const cpp::Expr turn = cpp::Name("turn"), most_ahead = cpp::Name("ahead"), gradients = cpp::Name("gradients");
  code.Declare({cpp::Name("const int64_t"), "ahead"}, cpp::Choice(gradients, AheadOf(emission, last), 0));
  cpp::Code& turns =
      code.Open(cpp::For{"turn", 0, cpp::Infix(turn, "<", cpp::Expr(count) + most_ahead), cpp::Prefix("++", turn)});
  for (const ir::PassKind kind : ir::kPassKinds) {
    if (kind > last) break;
    const bool is_last = kind == last;
    const int64_t own = AheadOf(emission, kind);
    const cpp::Expr ahead = is_last ? most_ahead : own;
    std::optional<cpp::Expr> condition;
    const auto require = [&](const cpp::Expr& also) {
      condition = condition.has_value() ? cpp::Infix(*condition, "&&", also) : also;
    };
    if (kind != ir::PassKind::kForward) require(gradients);
    if (own > 0) require(cpp::Infix(turn, ">=", ahead));
    if (!is_last) require(cpp::Infix(turn, "<", own + count));
    cpp::Code& pass = condition.has_value() ? turns.Open(cpp::If{*condition}) : turns;
    const cpp::Expr number = own > 0 ? turn - ahead : turn;
    if (count > ir::MicroBatches(emission.program)) {
      EmitRound(emission, kind, number, calls, pass);
    } else {
      pass.Do(cpp::Call("Begin", {number}));
      calls({*emission.program.part, kind}, pass);
    }
  }
}

bool HasStages(const PhaseFunction& function, const std::vector<OrderedStage>& order) {
  return std::any_of(order.begin(), order.end(), [&](const OrderedStage& ordered) { return function.Has(ordered); });
}

void EmitCall(const PhaseFunction& function, cpp::Code& code) {
  const cpp::Expr call = cpp::Call(function.name, {});
  if (function.condition.empty()) return code.Do(call);
  code.OnLine(cpp::If{cpp::Name(function.condition)}).Do(call);
}

}  // namespace

void EmitRunPhases(const Emission& emission, const std::vector<PhaseFunction>& functions,
                   const std::vector<OrderedStage>& order, cpp::Code& code) {
  const ir::Program& program = emission.program;
  const auto call_all = [&](ir::Repeat repeat, cpp::Code& calls) {
    for (const PhaseFunction& function : functions) {
      if (function.repeat == repeat && !function.IsUpdate() && HasStages(function, order)) EmitCall(function, calls);
    }
  };
  const auto call_pass = [&](const ir::StagePass& pass, cpp::Code& calls) {
    for (PhaseFunction function : functions) {
      if (!function.IsInPass() || ir::PassOf(function.phase) != pass.kind || !HasStages(function, order)) continue;
      if (function.stage.has_value() && *function.stage != pass.stage) continue;
      // Other passes are only begun where gradients are asked for.
      if (pass.kind != ir::PassKind::kForward) function.condition = "";
      EmitCall(function, calls);
    }
  };
  code.Gap();
  code.Comment(
      absl::StrCat("A step takes its batch in ", ir::MicroBatches(program), " micro-batches, one after another."));
  const bool has_turns = ir::MicroBatchesUnderWay(program) > 1 || HasSeveralStages(program);
  if (has_turns) code.Comment(TurnText(emission));
  const cpp::Expr truth = cpp::Name("bool");
  cpp::Code& body = code.Open(cpp::Function{.result = cpp::Name("void"),
                                            .name = "RunPhases",
                                            .parameters = {{truth, "metrics"}, {truth, "gradients"}},
                                            .suffix = "override"});
  const auto call_for_each = [&](ir::Repeat repeat) {
    cpp::Code& each = body.Open(cpp::Counting("i", ir::MicroBatches(program)));
    each.Do(cpp::Call("Begin", {cpp::Name("i")}));
    call_all(repeat, each);
  };
  const bool has_sums_before = std::any_of(order.begin(), order.end(), [](const OrderedStage& ordered) {
    return ordered.repeat == ir::Repeat::kEachBefore;
  });
  if (has_sums_before) {
    call_for_each(ir::Repeat::kEachBefore);
    if (emission.target.is_device) body.Do(cpp::Call("Recorded::NextGraph", {}));
  }
  call_all(ir::Repeat::kOnceBefore, body);
  if (has_turns) {
    EmitTurns(emission, call_pass, body);
  } else {
    call_for_each(ir::Repeat::kEach);
  }
  // Each micro-batch is a graph of its own.
  if (emission.target.is_device) body.Do(cpp::Call("Recorded::NextGraph", {}));
  call_all(ir::Repeat::kOnceAfter, body);
}

void EmitPassesOfAllStages(const Emission& emission, const std::vector<PhaseFunction>& functions,
                           const std::vector<OrderedStage>& order, cpp::Code& code) {
  if (!HasSeveralStages(emission.program)) return;
  for (const PhaseFunction& phase : Phases()) {
    if (!phase.IsCommon() || phase.IsUpdate()) continue;
    code.Gap();
    cpp::Code& body = code.Open(cpp::Function{.result = cpp::Name("void"), .name = phase.name, .suffix = "override"});
    for (const PhaseFunction& function : functions) {
      const bool is_part = function.stage.has_value() && function.phase == phase.phase;
      if (is_part && HasStages(function, order)) body.Do(cpp::Call(function.name, {}));
    }
  }
}

}  // namespace cleave::codegen
