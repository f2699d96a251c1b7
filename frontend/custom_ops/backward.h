// Checks that every op of the model through which the loss is differentiated has its backward functions.
#ifndef CLEAVE_FRONTEND_CUSTOM_OPS_BACKWARD_H_
#define CLEAVE_FRONTEND_CUSTOM_OPS_BACKWARD_H_

#include <map>

#include "frontend/custom_ops/custom_ops.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// A call of an op of the graph.
struct CustomCall {
  const CustomOp* op = nullptr;
  Span span;
};

// Reports each missing function once, with the declaration that it needs. `calls`: the `custom` ops of `graph`.
void CheckBackward(const ir::Graph& graph, const std::map<ir::OpId, CustomCall>& calls, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_CUSTOM_OPS_BACKWARD_H_
