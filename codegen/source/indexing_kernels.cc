#include "absl/strings/str_join.h"
#include "codegen/source/kernel.h"

namespace cleave {
namespace {

// The fields of a RowIndexing of runtime/kernels: local tensor `indexed`, whose dimension `axis` is looked up by
// `indices`.
std::string IndexingText(const Kernel& kernel, ValueId indexed, int axis, ValueId indices) {
  Sizes& sizes = kernel.emission.sizes;
  const std::string outer = sizes.CountOf(indexed, 0, axis).Text();
  const std::string inner = sizes.CountOf(indexed, axis + 1, kernel.emission.value(indexed).type.rank()).Text();
  const std::string first = sizes.Begin(indexed, axis);
  std::vector<std::string> fields;
  if (outer != "1") fields.push_back(absl::StrCat(".outer = ", outer));
  fields.push_back(absl::StrCat(".count = ", kernel.Count(indices)));
  fields.push_back(absl::StrCat(".rows = ", sizes.Size(indexed, axis).Text()));
  if (inner != "1") fields.push_back(absl::StrCat(".inner = ", inner));
  if (first != "0") fields.push_back(absl::StrCat(".first_row = ", first));
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

void EmitGather(const Kernel& kernel, size_t x, int axis, size_t indices) {
  kernel.Call("Gather",
              {kernel.Input(x), kernel.Input(indices),
               IndexingText(kernel, kernel.compute.inputs[x], axis, kernel.compute.inputs[indices]), kernel.Output()});
}

void EmitScatterAdd(const Kernel& kernel, int axis) {
  kernel.Call("ScatterAdd",
              {kernel.Input(0), kernel.Input(1),
               IndexingText(kernel, kernel.compute.output, axis, kernel.compute.inputs[1]), kernel.Output()});
}

void Embedding(const Kernel& kernel) { EmitGather(kernel, 1, 0, 0); }
void EmbeddingGradient(const Kernel& kernel) { EmitScatterAdd(kernel, 0); }
void Gather(const Kernel& kernel) { EmitGather(kernel, 0, static_cast<int>(kernel.Axis(kernel.input(0))), 1); }
void ScatterAdd(const Kernel& kernel) { EmitScatterAdd(kernel, static_cast<int>(kernel.Axis(kernel.output()))); }

void OneHot(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const int last = kernel.output().type.rank() - 1;
  kernel.Call("OneHot",
              {kernel.Input(0), kernel.Count(kernel.compute.inputs[0]), sizes.Size(kernel.compute.output, last).Text(),
               sizes.Begin(kernel.compute.output, last), kernel.Output()});
}

}  // namespace

void AddIndexingKernels(Emitters& emitters) {
  emitters[OpKind::kEmbedding] = Embedding;
  emitters[OpKind::kEmbeddingGradient] = EmbeddingGradient;
  emitters[OpKind::kGather] = Gather;
  emitters[OpKind::kOneHot] = OneHot;
  emitters[OpKind::kScatterAdd] = ScatterAdd;
}

}  // namespace cleave
