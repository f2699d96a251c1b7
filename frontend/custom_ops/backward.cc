#include "frontend/custom_ops/backward.h"

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/custom_ops/body.h"
#include "ir/graph/custom/custom.h"
#include "ir/tensor/types/types.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::frontend {
namespace {

// Bytes, because a vector of bools has no references.
using Marks = IdVector<ir::OpId, char>;

// Those of the values that gradients can reach on which the loss depends.
Marks OfLoss(const ir::Graph& graph, const std::set<ir::OpId>& of_parameters) {
  Marks marks(graph.ops.size(), false);
  if (graph.loss) marks[*graph.loss] = of_parameters.count(*graph.loss) > 0;
  for (int i = static_cast<int>(graph.ops.size()) - 1; i >= 0; --i) {
    if (!marks[ir::OpId(i)]) continue;
    for (const ir::OpId input : graph.op(ir::OpId(i)).inputs) marks[input] = of_parameters.count(input) > 0;
  }
  return marks;
}

}  // namespace

void CheckBackward(const ir::Graph& graph, const std::map<ir::OpId, CustomCall>& calls, Reporter& reporter) {
  const std::set<ir::OpId> of_parameters = ir::DependingOn(graph, ir::IsTrained);
  const Marks differentiated = OfLoss(graph, of_parameters);
  std::set<std::string> said;
  for (const auto& [id, call] : calls) {
    if (!differentiated[id]) continue;
    const ir::Op& op = graph.op(id);
    const absl::StatusOr<ir::CustomForm> form = ir::CustomForm::Read(op.attributes);
    std::vector<ir::DType> dtypes;
    for (const ir::OpId input : op.inputs) dtypes.push_back(graph.op(input).type.dtype);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (of_parameters.count(op.inputs[i]) == 0) continue;
      const std::string name = ir::BackwardName(*form, dtypes, i);
      if (DefinesFunction(call.op->body->text, name) || !said.insert(name).second) continue;
      const std::string argument = form->Tensors()[i];
      reporter.Report(Error(Code::kE0521, absl::StrCat("`", call.op->name(), "` has no gradient by `", argument, "`"))
                          .At(call.span, absl::StrCat("the loss depends on parameters through `", argument, "`"))
                          .At(call.op->body_place, absl::StrCat("no function `", name, "` in this file"))
                          .Help(absl::StrCat("define `", BackwardDeclaration(*call.op, name, argument), "` there")));
    }
  }
}

}  // namespace cleave::frontend
