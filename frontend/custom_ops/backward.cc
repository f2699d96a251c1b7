#include "frontend/custom_ops/backward.h"

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/custom_ops/body.h"
#include "ir/graph/custom/custom.h"
#include "ir/tensor/types/types.h"

namespace cleave::frontend {
namespace {

// Bytes, because a vector of bools has no references.
using Marks = IdVector<OpId, char>;

// What depends on a parameter through reals: there a gradient can arrive.
Marks OfParameters(const Graph& graph) {
  Marks marks(graph.ops.size(), false);
  for (const Op& op : graph.ops) {
    bool depends = op.kind == OpKind::kParameter;
    for (const OpId input : op.inputs) depends |= marks[input] != 0;
    marks[op.id] = depends && op.type.dtype == DType::kF32;
  }
  return marks;
}

// Those of them that the loss depends on.
Marks OfLoss(const Graph& graph, const Marks& of_parameters) {
  Marks marks(graph.ops.size(), false);
  if (graph.loss) marks[*graph.loss] = of_parameters[*graph.loss];
  for (int i = static_cast<int>(graph.ops.size()) - 1; i >= 0; --i) {
    if (!marks[OpId(i)]) continue;
    for (const OpId input : graph.op(OpId(i)).inputs) marks[input] = of_parameters[input];
  }
  return marks;
}

}  // namespace

void CheckBackward(const Graph& graph, const std::map<OpId, CustomCall>& calls, Reporter& reporter) {
  const Marks of_parameters = OfParameters(graph);
  const Marks differentiated = OfLoss(graph, of_parameters);
  std::set<std::string> said;
  for (const auto& [id, call] : calls) {
    if (!differentiated[id]) continue;
    const Op& op = graph.op(id);
    const absl::StatusOr<CustomForm> form = CustomForm::Read(op.attributes);
    std::vector<DType> dtypes;
    for (const OpId input : op.inputs) dtypes.push_back(graph.op(input).type.dtype);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!of_parameters[op.inputs[i]]) continue;
      const std::string name = BackwardName(*form, dtypes, i);
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
