// Ops of manual models that do on each rank something else.
#include "absl/strings/str_join.h"
#include "codegen/source/kernel.h"

namespace cleave {
namespace {

// "{0, rank * 32}": zeros, but for the dimension in which the ranks differ.
std::string StartList(const Kernel& kernel) {
  std::vector<std::string> starts(kernel.output().type.shape.size(), "0");
  starts[kernel.Axis(kernel.output())] = kernel.emission.rank_numbers.Text(
      kernel.compute.attributes.Get(attribute::kStarts), absl::StrCat(kernel.Output(), "_start"));
  return absl::StrCat("{", absl::StrJoin(starts, ", "), "}");
}

void RankSlice(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  kernel.Call("CopyBox", {kernel.Input(0), sizes.ShapeList(kernel.compute.inputs[0]), StartList(kernel),
                          sizes.ShapeList(kernel.compute.output), kernel.Output()});
}

void RankPad(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  kernel.Call("Fill", {ElementLiteral(kernel.output().type.dtype, 0), kernel.OutputCount(), kernel.Output()});
  kernel.Call("PasteBox", {kernel.Input(0), sizes.ShapeList(kernel.compute.inputs[0]), StartList(kernel),
                           sizes.ShapeList(kernel.compute.output), kernel.Output()});
}

}  // namespace

void AddRankKernels(Emitters& emitters) {
  emitters[OpKind::kRankPad] = RankPad;
  emitters[OpKind::kRankSlice] = RankSlice;
}

}  // namespace cleave
