// Metrics do not count the padding of the last test batch: ops that take a mask get the one of the samples, and
// `sample_mask(x)` is this mask.
#ifndef CLEAVE_FRONTEND_EVALUATE_SAMPLE_MASK_H_
#define CLEAVE_FRONTEND_EVALUATE_SAMPLE_MASK_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/ops/op_writer.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {

class SampleMask {
 public:
  // Called when the expression of a `metric` begins and ends. EndMetric returns whether an op in it had a mask.
  void BeginMetric();
  bool EndMetric();

  // The mask for a call of `op` in a metric; nullopt where it takes none, is given one by the user, or has operands
  // that are not a batch of the model's `inputs`.
  std::optional<ir::OpId> MaskFor(const ir::OpDefinition& op, const std::vector<Operand>& operands,
                                  const std::map<ir::OpId, Span>& inputs, const Origin& origin, OpWriter& ops);

  // `sample_mask(x)`: 1 for each sample of x and 0 for padding, f32[n, 1, …] with as many dimensions as x.
  Value Call(const CallSite& site, bool is_mapped, const std::map<ir::OpId, Span>& inputs, const Context& context);

  // `has_padding(x)`: whether `sample_mask(x)` has a meaning here, so that some of the samples of x may be padding.
  Value HasPadding(const CallSite& site, bool is_mapped, const std::map<ir::OpId, Span>& inputs,
                   const Context& context) const;

  // Whether the expression of a `metric` is expanded; reports that `callee` belongs there if it is not.
  bool CheckInMetric(const std::string& callee, Span span, Reporter& reporter) const;

 private:
  // The slice by rank of the samples, where there is one; nullopt where the first operand is no batch.
  static std::optional<const ir::Op*> FindBatch(const std::vector<Operand>& operands,
                                                const std::map<ir::OpId, Span>& inputs, const OpWriter& ops);

  // The mask for ops that read `operands`; nullopt where the first one is no batch. REQUIRES: there are inputs.
  std::optional<ir::OpId> MaskOf(const std::vector<Operand>& operands, const std::map<ir::OpId, Span>& inputs,
                                 const Origin& origin, OpWriter& ops);

  bool in_metric_ = false;
  bool masked_ = false;
  std::optional<ir::OpId> mask_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_SAMPLE_MASK_H_
