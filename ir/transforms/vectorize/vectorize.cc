#include "ir/transforms/vectorize/vectorize.h"

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

// Element `index` of `whole`.
OpId ElementOf(Lift& lift, OpId whole, int64_t index) {
  const Shape shape = lift.shape(whole);
  std::vector<int64_t> begin(shape.size(), 0);
  std::vector<int64_t> end = shape;
  begin[0] = index;
  end[0] = index + 1;
  return lift.Reshape(lift.Step(OpKind::kSlice, {whole}, {{attribute::kBegin, begin}, {attribute::kEnd, end}}),
                      Shape(shape.begin() + 1, shape.end()));
}

// Makes the op for each element separately, and joins the results. nullopt: more than `max_ops` would be needed.
std::optional<OpId> Unroll(Lift& lift, size_t max_ops) {
  const Shape one = Before(1, lift.op().type.shape);
  std::vector<OpId> results;
  for (int64_t e = 0; e < lift.size(); ++e) {
    if (lift.graph_size() > max_ops) return std::nullopt;
    std::vector<OpId> inputs;
    for (int i = 0; i < lift.input_count(); ++i) {
      inputs.push_back(lift.mapped(i) ? ElementOf(lift, lift.value(i), e) : lift.value(i));
    }
    results.push_back(lift.Reshape(lift.Main(inputs), one));
  }
  return results.size() == 1 ? results.front() : lift.Step(OpKind::kConcat, results, {{attribute::kAxis, 0}});
}

class Vectorization {
 public:
  Vectorization(GraphBuilder& builder, absl::Span<const MappedInput> inputs, int64_t size, size_t max_ops)
      : builder_(builder), size_(size), max_ops_(max_ops) {
    for (const MappedInput& input : inputs) wholes_[input.element] = input.whole;
  }

  // Returns false if there are too many ops.
  bool Run(const Op& op) {
    if (const auto whole = wholes_.find(op.id); whole != wholes_.end()) {
      result_[op.id] = {.value = whole->second, .mapped = true, .made = {}, .main = {}};
      return true;
    }
    std::vector<LiftedInput> inputs;
    bool mapped = false;
    for (OpId input : op.inputs) {
      const auto batched = result_.find(input);
      inputs.push_back(batched == result_.end() ? LiftedInput{input, false}
                                                : LiftedInput{batched->second.value, batched->second.mapped});
      mapped = mapped || inputs.back().mapped;
    }
    const OpId first(static_cast<int64_t>(builder_.graph().ops.size()));
    const int line = builder_.SetLine(op.line);
    Lift lift(builder_, op, std::move(inputs), size_);
    BatchedOp batched{.value = {}, .mapped = mapped, .made = {}, .main = {}};
    std::optional<OpId> value;
    if (mapped) {
      if (const auto batch = DefinitionOf(op).batch; batch != nullptr) value = batch(lift);
      batched.unrolled = !value.has_value();
      if (batched.unrolled) value = Unroll(lift, max_ops_);
    } else {
      value = lift.Main(lift.Inputs());
    }
    builder_.SetLine(line);
    if (!value.has_value()) return false;
    batched.value = *value;
    batched.main = lift.main();
    for (int id = first.value(); id < static_cast<int>(builder_.graph().ops.size()); ++id) {
      batched.made.push_back(OpId(id));
    }
    result_[op.id] = std::move(batched);
    return true;
  }

  Vectorized Result() && { return std::move(result_); }

 private:
  GraphBuilder& builder_;
  int64_t size_;
  size_t max_ops_;
  std::map<OpId, OpId> wholes_;
  Vectorized result_;
};

}  // namespace

std::optional<Vectorized> Vectorize(GraphBuilder& builder, absl::Span<const Op> ops,
                                    absl::Span<const MappedInput> inputs, int64_t size, size_t max_ops) {
  Vectorization vectorization(builder, inputs, size, max_ops);
  for (const Op& op : ops) {
    if (!vectorization.Run(op)) return std::nullopt;
  }
  return std::move(vectorization).Result();
}

}  // namespace cleave::ir
