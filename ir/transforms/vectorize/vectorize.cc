#include "ir/transforms/vectorize/vectorize.h"

#include "base/check/check.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

class Vectorization {
 public:
  Vectorization(GraphBuilder& builder, absl::Span<const MappedInput> inputs, int64_t size)
      : builder_(builder), size_(size) {
    for (const MappedInput& input : inputs) wholes_[input.element] = input.whole;
  }

  void Run(const Op& op) {
    if (const auto whole = wholes_.find(op.id); whole != wholes_.end()) {
      result_[op.id] = {.value = whole->second, .mapped = true, .made = {}, .main = {}};
      return;
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
    GraphBuilder::Source source = builder_.SetSource(op);
    Lift lift(builder_, op, std::move(inputs), size_);
    BatchedOp batched{.value = {}, .mapped = mapped, .made = {}, .main = {}};
    if (mapped) {
      CLEAVE_CHECK(DefinitionOf(op).batch != nullptr) << "`" << OpKindName(op.kind) << "` cannot be mapped";
      batched.value = DefinitionOf(op).batch(lift);
    } else {
      batched.value = lift.Main(lift.Inputs());
    }
    builder_.SetLine(line);
    builder_.SetSource(std::move(source));
    batched.main = lift.main();
    for (int id = first.value(); id < static_cast<int>(builder_.graph().ops.size()); ++id) {
      batched.made.push_back(OpId(id));
    }
    result_[op.id] = std::move(batched);
  }

  Vectorized Result() && { return std::move(result_); }

 private:
  GraphBuilder& builder_;
  int64_t size_;
  std::map<OpId, OpId> wholes_;
  Vectorized result_;
};

}  // namespace

Vectorized Vectorize(GraphBuilder& builder, absl::Span<const Op> ops, absl::Span<const MappedInput> inputs,
                     int64_t size) {
  Vectorization vectorization(builder, inputs, size);
  for (const Op& op : ops) vectorization.Run(op);
  return std::move(vectorization).Result();
}

}  // namespace cleave::ir
