#include "frontend/evaluate/pins/pin_recorder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/evaluate/pins/agreement.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {
namespace {

// The slices of one element as those of all elements: the elements' dimension is not cut.
ir::CountsPin WithElements(const ir::CountsPin& counts, Span place) {
  if (!counts) return counts;
  std::vector<ir::Placed<int64_t>> longer = *counts;
  longer.insert(longer.begin(), {1, place});
  return longer;
}

}  // namespace

void PinRecorder::Record(ir::Pin pin) {
  for (const ir::Pin& other : pins_) {
    if (other.op != pin.op) continue;
    if (other == pin) return;  // The same pin, for a value that another pass or call uses again.
    if (region_parameters_.count(pin.op) > 0) {
      reporter_.Report(Error(Code::kE0321, absl::StrCat("`", graph_.op(pin.op).name, "` has two pins"))
                           .At(pin.span, "the second")
                           .At(other.span, "the first")
                           .Note("a parameter that a region pins can have no other pin")
                           .Help("remove one of them"));
      return;
    }
    if (Agree(other.demand, pin.demand)) continue;
    reporter_.Report(
        Error(Code::kE0307, absl::StrCat("two pins on `", graph_.op(pin.op).name, "` contradict each other"))
            .At(pin.span, "the second")
            .At(other.span, "the first")
            .Help("remove one of them"));
    return;
  }
  pins_.push_back(std::move(pin));
}

void PinRecorder::RecordOfRegion(ir::Pin pin) {
  region_parameters_.insert(pin.op);
  Record(std::move(pin));
}

const ir::Pin* PinRecorder::OtherThan(const ir::Pin& pin) const {
  for (const ir::Pin& other : pins_) {
    if (other.op == pin.op && !(other == pin)) return &other;
  }
  return nullptr;
}

void PinRecorder::RecordDefault(ir::OpId op, Span span) {
  defaults_.push_back(pins_.size());
  pins_.push_back({op, ir::ReplicatePin(), span});
}

void PinRecorder::ReplaceDefaults(const ir::DataParallelPin& demand) {
  for (const size_t pin : defaults_) pins_[pin].demand = demand;
}

std::set<ir::OpId> PinRecorder::Defaults() const {
  std::set<ir::OpId> ops;
  for (const size_t pin : defaults_) ops.insert(pins_[pin].op);
  return ops;
}

std::set<ir::OpId> PinRecorder::Prioritized() const {
  std::set<ir::OpId> ops;
  for (const ir::Priority& priority : priorities_) ops.insert(priority.op);
  return ops;
}

std::vector<ir::StagePin> PinRecorder::Stages() const {
  std::vector<ir::StagePin> stages;
  for (const auto& [op, pin] : stages_) stages.push_back(pin);
  return stages;
}

void PinRecorder::MoveToBatched(const std::vector<ir::Op>& removed, const ir::Vectorized& batched) {
  std::map<ir::OpId, const ir::Op*> by_id;
  for (const ir::Op& op : removed) by_id[op.id] = &op;
  std::vector<ir::Priority> priorities;
  for (const ir::Priority& priority : priorities_) {
    if (by_id.count(priority.op) == 0) {
      priorities.push_back(priority);
      continue;
    }
    for (ir::OpId made : batched.at(priority.op).made) priorities.push_back({made, priority.value});
  }
  priorities_ = std::move(priorities);
  for (const ir::Op& op : removed) {
    const auto pin = stages_.find(op.id);
    if (pin == stages_.end()) continue;
    for (const ir::OpId made : ComputedFor(op.id, batched, graph_)) {
      RecordStage({made, pin->second.stage, pin->second.span});
    }
    stages_.erase(op.id);
  }
  retentions_.MoveToBatched(removed, batched, graph_);
  const size_t pins = pins_.size();
  for (size_t i = 0; i < pins; ++i) {
    if (by_id.count(pins_[i].op) > 0) MovePin(i, *by_id[pins_[i].op], batched);
  }
}

void PinRecorder::MovePin(size_t index, const ir::Op& op, const ir::Vectorized& batched) {
  ir::Pin pin = pins_[index];
  const ir::BatchedOp& now = batched.at(op.id);
  pin.op = now.value;
  if (auto* layout = std::get_if<ir::LayoutPin>(&pin.demand); layout != nullptr && now.mapped) {
    layout->dimensions.insert(layout->dimensions.begin(), std::vector<ir::Placed<std::string>>());
  }
  if (auto* shard = std::get_if<ir::ShardPin>(&pin.demand); shard != nullptr && now.mapped) {
    if (!shard->in.empty() && !IsTheSameOp(op, batched)) {
      reporter_.Report(
          Error(Code::kE0305, absl::StrCat("`shard` on `", op.name, "`, which `vmap` computes in another way"))
              .At(pin.span, absl::StrCat("says how the inputs of `", ir::OpKindName(op.kind), "` are cut"))
              .Help("`#[layout(…)]` says how its value lies"));
      return;
    }
    for (size_t i = 0; i < shard->in.size(); ++i) {
      const auto input = batched.find(op.inputs[i]);
      if (input != batched.end() && input->second.mapped) shard->in[i] = WithElements(shard->in[i], pin.span);
    }
    shard->out = WithElements(shard->out, pin.span);
  }
  pins_[index] = pin;
  if (!std::holds_alternative<ir::ReplicatePin>(pin.demand)) return;
  for (const ir::OpId made : ComputedFor(op.id, batched, graph_)) {
    if (made == now.value) continue;
    pin.op = made;
    pins_.push_back(pin);
  }
}

// Whether the op was made once, on its own inputs, which have at most the elements' dimension before the others.
bool PinRecorder::IsTheSameOp(const ir::Op& op, const ir::Vectorized& batched) const {
  const ir::BatchedOp& now = batched.at(op.id);
  if (now.main.size() != 1 || now.main.front() != now.value) return false;
  const ir::Op& made = graph_.op(now.value);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const auto input = batched.find(op.inputs[i]);
    if (made.inputs[i] != (input == batched.end() ? op.inputs[i] : input->second.value)) return false;
  }
  return true;
}

}  // namespace cleave::frontend
