// Rankings of rows, and losses and metrics of rows that are cut.
#include "codegen/source/kernel.h"

namespace cleave {
namespace {

int AxisOf(const Kernel& kernel) {
  const int64_t axis = kernel.compute.attributes.Get(attribute::kAxis);
  return static_cast<int>(axis < 0 ? axis + kernel.input(0).type.rank() : axis);
}

int LastDimension(const Kernel& kernel) { return kernel.input(0).type.rank() - 1; }

std::string Int(const Kernel& kernel, Attribute<int64_t> key) {
  return absl::StrCat(kernel.compute.attributes.Get(key));
}

void ArgMax(const Kernel& kernel) {
  kernel.Call("ArgMax", {kernel.Input(0), kernel.emission.sizes.ShapeList(kernel.compute.inputs[0]),
                         absl::StrCat(AxisOf(kernel)), kernel.Output()});
}

void FirstEqual(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const ValueId x = kernel.compute.inputs[0];
  kernel.Call("FirstEqual", {kernel.Input(0), kernel.Input(1), sizes.ShapeList(x), absl::StrCat(AxisOf(kernel)),
                             sizes.Begin(x, AxisOf(kernel)), kernel.Output()});
}

template <const char* const& kFunction>
void OfRows(const Kernel& kernel) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kernel.compute.inputs.size(); ++i) arguments.push_back(kernel.Input(i));
  arguments.insert(arguments.end(), {kernel.Rows(0), kernel.Columns(0), Int(kernel, attribute::kK), kernel.Output()});
  kernel.Call(kFunction, arguments);
}

// The pieces that this rank has are those of the factor that stands where x is read in windows.
template <const char* const& kFunction>
void OfPieces(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const Rule rule = RuleOf(kernel.emission.program, kernel.compute);
  const int factor = rule.inputs[0].back().front();
  const std::vector<AxisId>& axes = kernel.compute.strategy.cuts[static_cast<size_t>(factor)];
  const int64_t pieces = kernel.compute.attributes.Get(attribute::kPieces);
  const std::string row = absl::StrCat("{", Int(kernel, attribute::kElements), ", ", pieces, ", ",
                                       sizes.PieceBegin(pieces, axes), ", ", sizes.PieceSize(pieces, axes).Text(), "}");
  kernel.Call(kFunction, {kernel.Input(0), kernel.Rows(0), row, Int(kernel, attribute::kK), kernel.Output()});
}

void TopKGradient(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const ValueId dx = kernel.compute.output;
  kernel.Call("TopKGradient",
              {kernel.Input(0), kernel.Input(1), kernel.Rows(0), kernel.Columns(0),
               sizes.Begin(dx, LastDimension(kernel)), sizes.Size(dx, LastDimension(kernel)).Text(), kernel.Output()});
}

// The mask that is input `i`, "{mask, elements per value}", or none.
std::string MaskText(const Kernel& kernel, size_t i) {
  if (kernel.compute.inputs.size() <= i) return "{}";
  const std::string per_sample = kernel.InputCount(1, 1, kernel.input(1).type.rank());
  return absl::StrCat("{", kernel.Input(i), ", ", per_sample, "}");
}

void LabelLoss(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  kernel.Call("LabelLoss", {kernel.Input(0), kernel.Input(1), kernel.Input(2), kernel.Rows(0), kernel.Columns(0),
                            sizes.Begin(kernel.compute.inputs[0], LastDimension(kernel)),
                            absl::StrCat(kernel.input(1).type.elements()), MaskText(kernel, 3), kernel.Output()});
}

void LabelLossGradient(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const std::string classes = absl::StrCat("{", sizes.Begin(kernel.compute.inputs[0], LastDimension(kernel)), ", ",
                                           kernel.Columns(0), ", ", kernel.input(0).type.shape.back(), "}");
  kernel.Call("LabelLossGradient",
              {kernel.Input(0), kernel.Input(1), kernel.Input(2), Scalar(kernel, 3), kernel.Rows(0), classes,
               absl::StrCat(kernel.input(1).type.elements()), kernel.Output()});
}

void ShareOfEqual(const Kernel& kernel) {
  kernel.Call("ShareOfEqual", {kernel.Input(0), kernel.Input(1), kernel.Count(kernel.compute.inputs[0]),
                               absl::StrCat(kernel.input(1).type.elements()), MaskText(kernel, 2), kernel.Output()});
}

constexpr const char* kTopK = "TopK";
constexpr const char* kTopKIndices = "TopKIndices";
constexpr const char* kTopKMerge = "TopKMerge";
constexpr const char* kTopKCandidates = "TopKCandidates";
constexpr const char* kTopKCandidateIndices = "TopKCandidateIndices";

}  // namespace

void AddRankingKernels(Emitters& emitters) {
  emitters[OpKind::kArgmax] = ArgMax;
  emitters[OpKind::kFirstEqual] = FirstEqual;
  emitters[OpKind::kLabelLoss] = LabelLoss;
  emitters[OpKind::kLabelLossGradient] = LabelLossGradient;
  emitters[OpKind::kShareOfEqual] = ShareOfEqual;
  emitters[OpKind::kTopK] = OfRows<kTopK>;
  emitters[OpKind::kTopKCandidateIndices] = OfPieces<kTopKCandidateIndices>;
  emitters[OpKind::kTopKCandidates] = OfPieces<kTopKCandidates>;
  emitters[OpKind::kTopKGradient] = TopKGradient;
  emitters[OpKind::kTopKIndices] = OfRows<kTopKIndices>;
  emitters[OpKind::kTopKMerge] = OfRows<kTopKMerge>;
}

}  // namespace cleave
