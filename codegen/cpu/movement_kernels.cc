#include "codegen/cpu/kernel.h"

namespace cleave {
namespace {

void Transpose(const Kernel& kernel) {
  std::vector<int64_t> permutation = kernel.compute.attributes.GetInts("permutation");
  if (permutation.empty()) {
    for (int64_t d = kernel.input(0).type.rank(); d-- > 0;) permutation.push_back(d);
  }
  for (int64_t& d : permutation) d += d < 0 ? kernel.input(0).type.rank() : 0;
  kernel.Call("Transpose", {kernel.Input(0), kernel.emission.sizes.ShapeList(kernel.compute.inputs[0]),
                            List(permutation), kernel.Output()});
}

// Dimensions that are not cut off are whole in begin and size, and those that are have no axes: the numbers are local
// ones.
void SliceBox(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  kernel.Call("CopyBox", {kernel.Input(0), sizes.ShapeList(kernel.compute.inputs[0]),
                          List(kernel.compute.attributes.GetInts("begin")), sizes.ShapeList(kernel.compute.output),
                          kernel.Output()});
}

void Pad(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const bool is_float = kernel.output().type.dtype == DType::kF32;
  kernel.Call("Fill", {is_float ? "0.0f" : "int32_t{0}", kernel.OutputCount(), kernel.Output()});
  kernel.Call("PasteBox", {kernel.Input(0), sizes.ShapeList(kernel.compute.inputs[0]),
                           List(kernel.compute.attributes.GetInts("begin")), sizes.ShapeList(kernel.compute.output),
                           kernel.Output()});
}

void Concat(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const int64_t rank = kernel.output().type.rank();
  const int64_t given = kernel.compute.attributes.GetInt("axis");
  const size_t axis = static_cast<size_t>(given < 0 ? given + rank : given);
  std::vector<int64_t> begin(static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < kernel.compute.inputs.size(); ++i) {
    kernel.Call("PasteBox", {kernel.Input(i), sizes.ShapeList(kernel.compute.inputs[i]), List(begin),
                             sizes.ShapeList(kernel.compute.output), kernel.Output()});
    begin[axis] += kernel.input(i).type.shape[axis];
  }
}

void Embedding(const Kernel& kernel) {
  kernel.Call("Embedding", {kernel.Input(0), kernel.Input(1), kernel.Count(kernel.compute.inputs[0]),
                            kernel.InputCount(1, 0, 1), kernel.InputCount(1, 1, 2), kernel.Output()});
}

void EmbeddingGradient(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  kernel.Call("EmbeddingGradient", {kernel.Input(0), kernel.Input(1), kernel.Count(kernel.compute.inputs[1]),
                                    sizes.Size(kernel.compute.output, 0).Text(),
                                    sizes.Size(kernel.compute.output, 1).Text(), kernel.Output()});
}

void OneHot(const Kernel& kernel) {
  const int last = kernel.output().type.rank() - 1;
  kernel.Call("OneHot", {kernel.Input(0), kernel.Count(kernel.compute.inputs[0]),
                         kernel.emission.sizes.Size(kernel.compute.output, last).Text(), kernel.Output()});
}

void CausalMask(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const ValueId x = kernel.compute.inputs[0];
  const int rank = kernel.input(0).type.rank();
  kernel.Call("CausalMask", {kernel.Input(0), sizes.CountOf(x, 0, rank - 2).Text(), sizes.Size(x, rank - 2).Text(),
                             sizes.Size(x, rank - 1).Text(), sizes.Begin(x, rank - 2), sizes.Begin(x, rank - 1),
                             kernel.Float("fill"), kernel.Output()});
}

}  // namespace

void AddMovementKernels(Emitters& emitters) {
  emitters["causal_mask"] = CausalMask;
  emitters["concat"] = Concat;
  emitters["embedding"] = Embedding;
  emitters["embedding_gradient"] = EmbeddingGradient;
  emitters["one_hot"] = OneHot;
  emitters["pad"] = Pad;
  emitters["slice"] = SliceBox;
  emitters["transpose"] = Transpose;
}

}  // namespace cleave
