#include "ir/transforms/differentiate/update.h"

#include "absl/strings/str_cat.h"

namespace cleave::ir {

void UpdateBuilder::Add(OpId parameter, OpId gradient) {
  const std::string name = builder_.graph().op(parameter).name;
  builder_.SetLine(builder_.graph().op(parameter).line);
  const bool decoupled = optimizer_.kind == Optimizer::Kind::kAdamW;
  if (optimizer_.weight_decay != 0 && !decoupled) {
    const OpId decay = Scaled(parameter, optimizer_.weight_decay, absl::StrCat(name, ".decay"));
    gradient = builder_.Add(OpKind::kAdd, {gradient, decay}, {}, absl::StrCat(name, ".decayed_grad"));
  }
  OpId direction = gradient;
  switch (optimizer_.kind) {
    case Optimizer::Kind::kSgd:
      break;
    case Optimizer::Kind::kMomentum:
      direction = MomentumDirection(parameter, gradient);
      break;
    case Optimizer::Kind::kAdam:
    case Optimizer::Kind::kAdamW:
      direction = AdamDirection(parameter, gradient);
      break;
  }
  if (optimizer_.weight_decay != 0 && decoupled) {
    const OpId decay = Scaled(parameter, optimizer_.weight_decay, absl::StrCat(name, ".decay"));
    direction = builder_.Add(OpKind::kAdd, {direction, decay}, {}, absl::StrCat(name, ".direction"));
  }
  const OpId step = builder_.Add(OpKind::kMul, {direction, LearningRate()}, {}, absl::StrCat(name, ".step"));
  Update(parameter, builder_.Add(OpKind::kSub, {parameter, step}, {}, absl::StrCat(name, ".new")));
}

OpId UpdateBuilder::LearningRate() {
  const Schedule& schedule = optimizer_.learning_rate;
  if (!learning_rate_.has_value()) {
    const int line = builder_.SetLine(0);
    learning_rate_ = builder_.Add(OpKind::kStepScalar, {},
                                  {{attribute::kForm, "learning_rate"},
                                   {attribute::kSchedule, std::string(ScheduleFormName(schedule.form))},
                                   {attribute::kRate, schedule.rate},
                                   {attribute::kWarmupSteps, schedule.warmup_steps},
                                   {attribute::kTotalSteps, schedule.total_steps},
                                   {attribute::kFinalRate, schedule.final_rate}},
                                  "learning_rate");
    builder_.SetLine(line);
  }
  return *learning_rate_;
}

OpId UpdateBuilder::BiasCorrection(std::optional<OpId>& shared, double beta, const std::string& name) {
  if (!shared.has_value()) {
    const int line = builder_.SetLine(0);
    shared =
        builder_.Add(OpKind::kStepScalar, {}, {{attribute::kForm, "bias_correction"}, {attribute::kBeta, beta}}, name);
    builder_.SetLine(line);
  }
  return *shared;
}

OpId UpdateBuilder::Slot(OpId parameter, const std::string& name) {
  const bool local = builder_.graph().op(parameter).attributes.Get(attribute::kLocal);
  return builder_.Add(OpKind::kState, {},
                      {{attribute::kShape, builder_.type(parameter).shape}, {attribute::kLocal, local}}, name);
}

OpId UpdateBuilder::Scaled(OpId value, double factor, const std::string& name) {
  return builder_.Add(OpKind::kScale, {value}, {{attribute::kFactor, factor}}, name);
}

OpId UpdateBuilder::Decayed(OpId slot, double decay, OpId addend, const std::string& name) {
  const OpId old = Scaled(slot, decay, absl::StrCat(name, ".decayed"));
  const OpId value = builder_.Add(OpKind::kAdd, {old, addend}, {}, absl::StrCat(name, ".new"));
  Update(slot, value);
  return value;
}

OpId UpdateBuilder::MomentumDirection(OpId parameter, OpId gradient) {
  const std::string name = builder_.graph().op(parameter).name;
  const std::string slot_name = absl::StrCat(name, ".momentum");
  const OpId velocity = Decayed(Slot(parameter, slot_name), optimizer_.momentum, gradient, slot_name);
  if (!optimizer_.nesterov) return velocity;
  const OpId ahead = Scaled(velocity, optimizer_.momentum, absl::StrCat(name, ".ahead"));
  return builder_.Add(OpKind::kAdd, {gradient, ahead}, {}, absl::StrCat(name, ".direction"));
}

OpId UpdateBuilder::AdamDirection(OpId parameter, OpId gradient) {
  const std::string name = builder_.graph().op(parameter).name;
  const std::string m_name = absl::StrCat(name, ".adam_m");
  const std::string v_name = absl::StrCat(name, ".adam_v");
  const double beta1 = optimizer_.beta1;
  const double beta2 = optimizer_.beta2;
  const OpId m =
      Decayed(Slot(parameter, m_name), beta1, Scaled(gradient, 1 - beta1, absl::StrCat(m_name, ".addend")), m_name);
  const OpId squared = builder_.Add(OpKind::kSquare, {gradient}, {}, absl::StrCat(v_name, ".square"));
  const OpId v =
      Decayed(Slot(parameter, v_name), beta2, Scaled(squared, 1 - beta2, absl::StrCat(v_name, ".addend")), v_name);
  const OpId m_hat = builder_.Add(OpKind::kMul, {m, BiasCorrection(correction_m_, beta1, "adam_m.correction")}, {},
                                  absl::StrCat(m_name, ".corrected"));
  const OpId v_hat = builder_.Add(OpKind::kMul, {v, BiasCorrection(correction_v_, beta2, "adam_v.correction")}, {},
                                  absl::StrCat(v_name, ".corrected"));
  const OpId root = builder_.Add(OpKind::kSqrt, {v_hat}, {}, absl::StrCat(v_name, ".root"));
  if (!epsilon_.has_value()) {
    const int line = builder_.SetLine(0);
    epsilon_ = builder_.Add(OpKind::kConstant, {}, {{attribute::kValue, optimizer_.epsilon}}, "adam.epsilon");
    builder_.SetLine(line);
  }
  const OpId deviation = builder_.Add(OpKind::kAdd, {root, *epsilon_}, {}, absl::StrCat(name, ".deviation"));
  return builder_.Add(OpKind::kDiv, {m_hat, deviation}, {}, absl::StrCat(name, ".direction"));
}

void UpdateBuilder::Update(OpId state, OpId value) {
  builder_.mutable_graph().updates.push_back({.state = state, .value = value});
}

}  // namespace cleave::ir
