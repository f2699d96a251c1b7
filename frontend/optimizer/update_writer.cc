#include "frontend/optimizer/update_writer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "frontend/optimizer/turns.h"

namespace cleave::frontend {

void UpdateWriter::Begin(const ir::Op& parameter) {
  ops().MakeOf(&parameter);
  parts_.push_back({.first = ops().size(), .parameter = parameter.name, .line = parameter.line});
}

void UpdateWriter::BeginForAll(const std::string& path) {
  ops().MakeOf(nullptr);
  parts_.push_back({.first = ops().size(), .parameter = path, .line = 0});
}

Value UpdateWriter::CallPrelude(const std::string& function, const PreludeCall& call, std::vector<Value> tensors) {
  const dsl::syntax::Expression callee{.span = call.span, .kind = dsl::syntax::Name{function}};
  return evaluator_.Call({.callee = callee, .arguments = call.arguments}, call.span,
                         {.function = functions_.InPrelude(function),
                          .first = std::move(tensors),
                          .named = call.named,
                          .path = call.path});
}

std::optional<ir::OpId> UpdateWriter::SumOverGradients(const std::string& function, const PreludeCall& call,
                                                       const std::vector<Trained>& all) {
  std::vector<ir::OpId> terms;
  for (const Trained& trained : all) {
    Begin(trained.parameter);
    PreludeCall own = call;
    own.path = absl::StrCat(trained.parameter.name, ".", call.path);
    const Value value = CallPrelude(function, own, {Value{TensorValue{trained.gradient}}});
    if (!value.is_tensor()) return std::nullopt;
    ir::OpId term = value.as_tensor();
    if (trained.turns.has_value()) {  // Out of its turn a gradient counts nothing.
      const ir::OpId nothing = ops().AddConstant(ir::DType::kF32, 0, {.span = {}, .path = own.path});
      term = ops().AddValid(ir::OpKind::kWhere, {AddTurn(*trained.turns, own.path), term, nothing}, {},
                            absl::StrCat(own.path, ".of_turn"), Span());
    }
    terms.push_back(term);
  }
  ir::OpId sum = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) {
    Begin(all[i].parameter);
    sum = ops().AddValid(ir::OpKind::kAdd, {sum, terms[i]}, {},
                         absl::StrCat(all[i].parameter.name, ".", call.path, ".add"), Span());
  }
  BeginForAll(call.path);
  return sum;
}

namespace {

// That of the copy of an op, which the optimizer made of `old` and now makes of `parameter`. `number`: among those that
// it made of `old`; a place of the text is only known of what is repeated.
ir::Repetition RepetitionOf(const ir::Op& op, int64_t number, const ir::Op& old, const ir::Op& parameter) {
  ir::Repetition copy{.place = op.repetition.place, .passes = parameter.repetition.passes};
  if (!op.repetition.is_repeated()) copy.place = ir::Within(ir::Within(0, "update"), static_cast<uint64_t>(number));
  const bool is_alike = old.repetition.is_repeated() && old.repetition.place == parameter.repetition.place;
  const ir::TextPlace own = parameter.repetition.is_repeated()
                                ? parameter.repetition.place
                                : ir::Within(0, static_cast<uint64_t>(parameter.id.value()));
  if (!is_alike) copy.place = ir::Within(copy.place, own);
  const size_t around = old.repetition.passes.size();
  for (size_t i = around; i < op.repetition.passes.size(); ++i) {
    ir::LoopPass pass = op.repetition.passes[i];
    if (!is_alike) pass.loop = ir::Within(pass.loop, own);
    copy.passes.push_back(pass);
  }
  if (!copy.is_repeated()) copy.place = 0;
  return copy;
}

}  // namespace

void UpdateWriter::Copy(const ExpandedUpdate& expanded, const Trained& other) {
  const std::string &old_name = expanded.of.parameter.name, &new_name = other.parameter.name;
  const int moved = ops().size() - expanded.first.value();
  const auto place_of = [&](ir::OpId op) {
    if (op == expanded.of.own) return other.own;
    if (op == expanded.of.gradient) return other.gradient;
    return expanded.first <= op && op < expanded.end ? ir::OpId(op.value() + moved) : op;
  };
  for (ir::OpId id = expanded.first; id < expanded.end; id = ir::OpId(id.value() + 1)) {
    const ir::Op& op = ops().graph().op(id);
    std::vector<ir::OpId> inputs;
    inputs.reserve(op.inputs.size());
    for (const ir::OpId input : op.inputs) inputs.push_back(place_of(input));
    ir::Repetition repetition =
        RepetitionOf(op, id.value() - expanded.first.value(), expanded.of.parameter, other.parameter);
    const ir::OpId copy = ops().builder().AddLike(
        op, std::move(inputs), absl::StrCat(new_name, absl::string_view(op.name).substr(old_name.size())));
    ops().builder().mutable_graph().ops[copy].repetition = std::move(repetition);
  }
  std::vector<ir::StateUpdate>& updates = ops().builder().mutable_graph().updates;
  for (const ir::StateUpdate& update : expanded.updates) {
    updates.push_back({.state = place_of(update.state), .value = place_of(update.value)});
  }
}

void UpdateWriter::KeepWhere(ir::OpId condition, size_t first, bool keeps) {
  for (size_t i = first; i < evaluator_.graph().updates.size(); ++i) {
    const ir::StateUpdate update = evaluator_.graph().updates[i];
    const std::vector<ir::OpId> inputs =
        keeps ? std::vector{condition, update.state, update.value} : std::vector{condition, update.value, update.state};
    const ir::OpId kept = ops().AddValid(ir::OpKind::kWhere, inputs, {},
                                         absl::StrCat(evaluator_.graph().op(update.state).name, ".kept"), Span());
    ops().builder().mutable_graph().updates[i].value = kept;
  }
}

ir::OpId UpdateWriter::AddTurn(const Turns& turns, const std::string& path) {
  return ops().AddStepScalar(IsTurn(turns), {.span = {}, .path = path});
}

}  // namespace cleave::frontend
