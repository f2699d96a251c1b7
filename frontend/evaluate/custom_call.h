// Calls of ops that the model file defines.
#ifndef CLEAVE_FRONTEND_EVALUATE_CUSTOM_CALL_H_
#define CLEAVE_FRONTEND_EVALUATE_CUSTOM_CALL_H_

#include <map>

#include "frontend/custom_ops/backward.h"
#include "frontend/custom_ops/custom_ops.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/pins/regions.h"
#include "ir/transforms/vectorize/vectorize.h"

namespace cleave::frontend {

class CustomCalls {
 public:
  Value Call(const CustomOp& op, const CallSite& site, Regions& regions, const Context& context);

  // `batched`: ops that were removed, and the ops that replace them.
  void MoveToBatched(const ir::Vectorized& batched);

  // By the op that each call has made.
  const std::map<ir::OpId, CustomCall>& calls() const { return calls_; }

 private:
  std::map<ir::OpId, CustomCall> calls_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_CUSTOM_CALL_H_
