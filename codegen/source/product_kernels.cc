#include "codegen/source/kernel.h"
#include "codegen/source/product_shape.h"

namespace cleave {
namespace {

void MatMul(const Kernel& kernel) { EmitMatMul(kernel, kernel.Output(), ""); }

// Contracts all dimensions but the last: a stored as k x m.
void MatMulSum(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const int last = kernel.input(0).type.rank() - 1;
  ProductShape shape;
  shape.m = sizes.Size(kernel.compute.inputs[0], last);
  shape.n = sizes.Size(kernel.compute.inputs[1], last);
  shape.k = sizes.CountOf(kernel.compute.inputs[0], 0, last);
  shape.transpose_a = true;
  kernel.Call("MatMul", {shape.Text(), kernel.Input(0), kernel.Input(1), kernel.Output()});
}

}  // namespace

void EmitMatMul(const Kernel& kernel, const std::string& output, const std::string& epilogue) {
  Sizes& sizes = kernel.emission.sizes;
  const ValueId a = kernel.compute.inputs[0];
  const ValueId b = kernel.compute.inputs[1];
  const int rank = kernel.input(0).type.rank();
  const int rank_b = kernel.input(1).type.rank();
  ProductShape shape;
  shape.transpose_a = kernel.compute.attributes.Get(attribute::kTransposeA);
  shape.transpose_b = kernel.compute.attributes.Get(attribute::kTransposeB);
  shape.m = sizes.Size(a, shape.transpose_a ? rank - 1 : rank - 2);
  shape.k = sizes.Size(a, shape.transpose_a ? rank - 2 : rank - 1);
  shape.n = sizes.Size(b, shape.transpose_b ? rank_b - 2 : rank_b - 1);
  const SizeProduct leading = sizes.CountOf(a, 0, rank - 2);
  std::vector<std::string> arguments = {"", kernel.Input(0), kernel.Input(1), output};
  if (!epilogue.empty()) arguments.push_back(epilogue);
  if (rank_b == rank) {
    shape.batch = leading;
  } else if (!shape.transpose_a) {
    // One second matrix for all: the rows of all first matrices stand below each other.
    shape.m = leading * shape.m;
  } else if (!leading.is_one()) {
    kernel.writer.Open(absl::StrCat("for (int64_t i = 0; i < ", leading.Text(), "; ++i) {"));
    arguments[0] = shape.Text();
    arguments[1] = absl::StrCat(arguments[1], " + i * ", (shape.k * shape.m).FactorText());
    arguments[3] = absl::StrCat(arguments[3], " + i * ", (shape.m * shape.n).FactorText());
    kernel.Call("MatMul", arguments);
    kernel.writer.Close("}");
    return;
  }
  arguments[0] = shape.Text();
  kernel.Call("MatMul", arguments);
}

void AddProductKernels(Emitters& emitters) {
  emitters[OpKind::kMatmul] = MatMul;
  emitters[OpKind::kMatmulSum] = MatMulSum;
}

}  // namespace cleave
