#include "ir/testing/optimizers.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/builder.h"

namespace cleave::ir {
namespace {

std::string LearningRateOf(const TestOptimizer& optimizer) {
  return optimizer.schedule.empty() ? FormatDouble(optimizer.rate) : optimizer.schedule;
}

class UpdateWriter {
 public:
  explicit UpdateWriter(const TestOptimizer& optimizer) : optimizer_(optimizer) {}

  void Add(const Op& parameter) {
    name_ = parameter.name;
    builder_.SetLine(parameter.line);
    builder_.SetSource(parameter);
    state_attributes_ = {{attribute::kShape, parameter.type.shape},
                         {attribute::kLocal, parameter.attributes.Get(attribute::kLocal)}};
    const OpId p = builder_.Add(OpKind::kParameter, {}, parameter.attributes, name_);
    OpId gradient = Gradient(parameter);
    if (factor_.has_value()) gradient = builder_.Add(OpKind::kMul, {gradient, *factor_}, {}, Name("clipped"));
    OpId direction = Direction(gradient);
    if (optimizer_.weight_decay != 0) {
      const OpId decay = Scaled(p, optimizer_.weight_decay, Name("decay"));
      direction = builder_.Add(OpKind::kAdd, {direction, decay}, {}, Name("direction"));
    }
    const OpId rate = StepScalar(LearningRateOf(optimizer_), "learning_rate");
    const OpId step = builder_.Add(OpKind::kMul, {direction, rate}, {}, Name("step"));
    Update(p, builder_.Add(OpKind::kSub, {p, step}, {}, Name("new")));
  }

  // The factor by which all gradients are made shorter: one over the root of 1 and all their squares.
  void Clip(const Graph& forward, const std::vector<OpId>& parameters) {
    const OpId one = Shared(OpKind::kConstant, {{attribute::kValue, 1.0}}, "clip.one");
    OpId sum = one;
    for (const OpId id : parameters) {
      const Op& parameter = forward.op(id);
      name_ = parameter.name;
      builder_.SetSource(parameter);
      const OpId square = builder_.Add(OpKind::kSquare, {Gradient(parameter)}, {}, Name("square"));
      const OpId squares = builder_.Add(OpKind::kReduceSum, {square}, {}, Name("squares"));
      sum = builder_.Add(OpKind::kAdd, {sum, squares}, {}, Name("so_far"));
    }
    builder_.SetSource(GraphBuilder::Source());
    const OpId root = builder_.Add(OpKind::kSqrt, {sum}, {}, "clip.root");
    factor_ = builder_.Add(OpKind::kDiv, {one, root}, {}, "clip.factor");
  }

  Updates Finish() && { return {std::move(builder_).Build()}; }

 private:
  std::string Name(const std::string& part) const { return absl::StrCat(name_, ".", part); }

  OpId Gradient(const Op& parameter) {
    const auto [found, is_new] = gradients_.try_emplace(parameter.name);
    if (is_new) {
      found->second = builder_.Add(
          OpKind::kInput, {}, {{attribute::kShape, parameter.type.shape}, {attribute::kData, name_}}, Name("grad"));
    }
    return found->second;
  }

  OpId Scaled(OpId value, double factor, const std::string& name) {
    return builder_.Add(OpKind::kScale, {value}, {{attribute::kFactor, factor}}, name);
  }

  void Update(OpId state, OpId value) { builder_.mutable_graph().updates.push_back({.state = state, .value = value}); }

  // A scalar without inputs, which all parameters share.
  OpId Shared(OpKind kind, Attributes attributes, const std::string& name) {
    const auto [found, is_new] = shared_.try_emplace(name);
    if (!is_new) return found->second;
    const int line = builder_.SetLine(0);
    GraphBuilder::Source source = builder_.SetSource(GraphBuilder::Source());
    found->second = builder_.Add(kind, {}, std::move(attributes), name);
    builder_.SetLine(line);
    builder_.SetSource(std::move(source));
    return found->second;
  }

  OpId StepScalar(const std::string& formula, const std::string& name) {
    return Shared(OpKind::kStepScalar, {{attribute::kFormula, formula}}, name);
  }

  // The new value of a state: decay * state + addend.
  OpId Decayed(const std::string& state, double decay, OpId addend) {
    const OpId slot = builder_.Add(OpKind::kState, {}, state_attributes_, state);
    const OpId old = Scaled(slot, decay, absl::StrCat(state, ".decayed"));
    const OpId value = builder_.Add(OpKind::kAdd, {old, addend}, {}, absl::StrCat(state, ".new"));
    Update(slot, value);
    return value;
  }

  OpId Moment(const std::string& state, double beta, OpId sample) {
    return Decayed(Name(state), beta, Scaled(sample, 1 - beta, absl::StrCat(Name(state), ".addend")));
  }

  // A moment of Adam, corrected for its start at zero.
  OpId Corrected(OpId moment, const std::string& state, double beta) {
    const OpId correction = StepScalar(absl::StrCat("div(1.0, sub(1.0, pow(", FormatDouble(beta), ", step)))"),
                                       absl::StrCat(state, ".correction"));
    return builder_.Add(OpKind::kMul, {moment, correction}, {}, absl::StrCat(Name(state), ".corrected"));
  }

  OpId Direction(OpId gradient) {
    switch (optimizer_.kind) {
      case TestOptimizer::Kind::kSgd:
        return gradient;
      case TestOptimizer::Kind::kMomentum:
        return Decayed(Name("momentum"), 0.9, gradient);
      case TestOptimizer::Kind::kAdam:
        break;
    }
    const OpId moment = Moment("adam_m", 0.9, gradient);
    const OpId squares = Moment("adam_v", 0.999, builder_.Add(OpKind::kSquare, {gradient}, {}, Name("adam_v.square")));
    const OpId m = Corrected(moment, "adam_m", 0.9);
    const OpId v = Corrected(squares, "adam_v", 0.999);
    const OpId root = builder_.Add(OpKind::kSqrt, {v}, {}, Name("adam_v.root"));
    const OpId epsilon = Shared(OpKind::kConstant, {{attribute::kValue, optimizer_.epsilon}}, "adam.epsilon");
    const OpId deviation = builder_.Add(OpKind::kAdd, {root, epsilon}, {}, Name("deviation"));
    return builder_.Add(OpKind::kDiv, {m, deviation}, {}, Name("direction"));
  }

  const TestOptimizer& optimizer_;
  GraphBuilder builder_;
  std::string name_;  // Of the parameter.
  Attributes state_attributes_;
  std::map<std::string, OpId> shared_, gradients_;
  std::optional<OpId> factor_;  // Of all gradients.
};

std::string NameOf(const TestOptimizer& optimizer) {
  switch (optimizer.kind) {
    case TestOptimizer::Kind::kSgd:
      return "sgd";
    case TestOptimizer::Kind::kMomentum:
      return "momentum";
    case TestOptimizer::Kind::kAdam:
      return optimizer.weight_decay == 0 ? "adam" : "adamw";
  }
  return "";
}

}  // namespace

Updates UpdatesBy(const TestOptimizer& optimizer, const Graph& forward) {
  UpdateWriter writer(optimizer);
  const std::vector<OpId> parameters = TrainedParameters(forward);
  if (optimizer.clips) writer.Clip(forward, parameters);
  for (const OpId parameter : parameters) writer.Add(forward.op(parameter));
  return std::move(writer).Finish();
}

absl::StatusOr<Graph> Differentiate(Graph forward, const TestOptimizer& optimizer) {
  const Updates updates = UpdatesBy(optimizer, forward);
  return Differentiate(std::move(forward), updates);
}

void SetOptimizer(const TestOptimizer& optimizer, Training& training) {
  training.optimizer = NameOf(optimizer);
  training.learning_rate = LearningRateOf(optimizer);
  training.schedule = training.learning_rate;
}

}  // namespace cleave::ir
