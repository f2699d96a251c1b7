#include "codegen/cpu/kernels.h"

#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"

namespace cleave {
namespace {

// One op while it is written.
struct Kernel {
  Emission& emission;
  const Step& step;
  const Compute& compute;
  SourceWriter& writer;

  const Value& input(size_t i) const { return emission.value(compute.inputs[i]); }
  const Value& output() const { return emission.value(compute.output); }
  std::string Input(size_t i) const { return emission.names[compute.inputs[i]]; }
  std::string Output() const { return emission.names[compute.output]; }
  std::string Count(ValueId value) const { return emission.sizes.Count(value).Text(); }
  std::string OutputCount() const { return Count(compute.output); }

  // Elements of dimensions [begin, end) of input `i`; of its last dimension.
  std::string InputCount(size_t i, int begin, int end) const {
    return emission.sizes.CountOf(compute.inputs[i], begin, end).Text();
  }
  std::string Rows(size_t i) const { return InputCount(i, 0, input(i).type.rank() - 1); }
  std::string Columns(size_t i) const { return InputCount(i, input(i).type.rank() - 1, input(i).type.rank()); }
  std::string Float(const std::string& attribute) const {
    return FloatLiteral(compute.attributes.GetDouble(attribute));
  }
  void Call(absl::string_view function, const std::vector<std::string>& arguments) const {
    writer.Call(absl::StrCat(function, "("), arguments, ");");
  }
};

std::string List(const std::vector<int64_t>& numbers) { return absl::StrCat("{", absl::StrJoin(numbers, ", "), "}"); }

// The op that makes a source value, or null.
const Compute* SourceOf(const Program& program, ValueId value) {
  for (const Step& step : program.steps) {
    const Compute* compute = ComputeOf(step);
    if (compute != nullptr && compute->output == value && IsSource(step)) return compute;
  }
  return nullptr;
}

// A scalar argument: a literal where the value is a constant.
std::string Scalar(const Kernel& kernel, size_t i) {
  const ValueId value = kernel.compute.inputs[i];
  if (kernel.emission.storage.root[value].has_value()) return absl::StrCat(kernel.Input(i), "[0]");
  const Compute* source = SourceOf(kernel.emission.program, value);
  CLEAVE_CHECK(source != nullptr && source->kind == "constant") << "`" << kernel.input(i).name << "` has no memory";
  return FloatLiteral(source->attributes.GetDouble("value"));
}

// Sizes of a product as the fields of a MatMulShape; those that keep their default are left out.
struct ProductShape {
  SizeProduct batch = SizeProduct(1);
  SizeProduct m;
  SizeProduct n;
  SizeProduct k;
  bool transpose_a = false;
  bool transpose_b = false;

  std::string Text() const {
    std::string text = "{";
    if (!batch.is_one()) absl::StrAppend(&text, ".batch = ", batch.Text(), ", ");
    absl::StrAppend(&text, ".m = ", m.Text(), ", .n = ", n.Text(), ", .k = ", k.Text());
    if (transpose_a) absl::StrAppend(&text, ", .transpose_a = true");
    if (transpose_b) absl::StrAppend(&text, ", .transpose_b = true");
    return absl::StrCat(text, "}");
  }
};

// `output` and `epilogue` are those of the last op of a chain.
void EmitMatMul(const Kernel& kernel, const std::string& output, const std::string& epilogue) {
  Sizes& sizes = kernel.emission.sizes;
  const ValueId a = kernel.compute.inputs[0];
  const ValueId b = kernel.compute.inputs[1];
  const int rank = kernel.input(0).type.rank();
  const int rank_b = kernel.input(1).type.rank();
  ProductShape shape;
  shape.transpose_a = kernel.compute.attributes.GetBool("transpose_a");
  shape.transpose_b = kernel.compute.attributes.GetBool("transpose_b");
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

std::vector<int64_t> ReducedAxes(const Kernel& kernel) {
  std::vector<int64_t> axes = kernel.compute.attributes.GetInts("axes");
  const int64_t rank = kernel.input(0).type.rank();
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

template <const char* const& kFunction>
void Reduce(const Kernel& kernel) {
  const std::string shape = kernel.emission.sizes.ShapeList(kernel.compute.inputs[0]);
  kernel.Call(kFunction, {kernel.Input(0), shape, List(ReducedAxes(kernel)), kernel.Output()});
}

void ReduceMean(const Kernel& kernel) {
  const std::vector<int64_t> axes = ReducedAxes(kernel);
  int64_t count = 1;
  for (const int64_t axis : axes) count *= kernel.input(0).type.shape[static_cast<size_t>(axis)];
  const std::string shape = kernel.emission.sizes.ShapeList(kernel.compute.inputs[0]);
  kernel.Call("ReduceMean", {kernel.Input(0), shape, List(axes), absl::StrCat(count), kernel.Output()});
}

// f(inputs…, rows, columns, output)
template <const char* const& kFunction>
void OfRows(const Kernel& kernel) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kernel.compute.inputs.size(); ++i) arguments.push_back(kernel.Input(i));
  arguments.push_back(kernel.Rows(0));
  arguments.push_back(kernel.Columns(0));
  if (kernel.compute.attributes.Has("epsilon")) arguments.push_back(kernel.Float("epsilon"));
  arguments.push_back(kernel.Output());
  kernel.Call(kFunction, arguments);
}

// loss[0] = f(a, b, sizes…, all elements[, mask])
void EmitLoss(const Kernel& kernel, absl::string_view function, std::vector<std::string> sizes) {
  std::vector<std::string> arguments = {kernel.Input(0), kernel.Input(1)};
  arguments.insert(arguments.end(), sizes.begin(), sizes.end());
  arguments.push_back(absl::StrCat(kernel.input(1).type.elements()));
  if (kernel.compute.inputs.size() > 2) {
    const std::string per_sample = kernel.InputCount(1, 1, kernel.input(1).type.rank());
    arguments.push_back(absl::StrCat("{", kernel.Input(2), ", ", per_sample, "}"));
  }
  kernel.Call(absl::StrCat(kernel.Output(), "[0] = ", function), arguments);
}

template <const char* const& kFunction>
void Classification(const Kernel& kernel) {
  EmitLoss(kernel, kFunction, {kernel.Rows(0), kernel.Columns(0)});
}

template <const char* const& kFunction>
void Regression(const Kernel& kernel) {
  EmitLoss(kernel, kFunction, {kernel.Count(kernel.compute.inputs[0])});
}

void CrossEntropyGradient(const Kernel& kernel) {
  kernel.Call("CrossEntropyGradient",
              {kernel.Input(0), kernel.Input(1), Scalar(kernel, 2), kernel.Rows(0), kernel.Columns(0),
               absl::StrCat(kernel.input(1).type.elements()), kernel.Output()});
}

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

// The user's name for the tensor, also where it has been gathered for this.
std::string Shown(const Kernel& kernel) {
  return absl::StrCat("{", StringLiteral(kernel.emission.graph.op(kernel.input(0).origin).name), ", ",
                      StringLiteral(kernel.emission.Place(kernel.step.line)), "}");
}

void Print(const Kernel& kernel) {
  const bool local = kernel.compute.attributes.GetBool("local");
  kernel.Call(local ? "PrintPieces" : "Print",
              {"comm", Shown(kernel), kernel.emission.sizes.RegionText(kernel.compute.inputs[0]), kernel.Input(0)});
}

void AssertFinite(const Kernel& kernel) {
  kernel.Call("AssertFinite", {"comm", Shown(kernel), kernel.Count(kernel.compute.inputs[0]), kernel.Input(0)});
}

// The value lies where its input lies.
void Alias(const Kernel&) {}

constexpr const char* kReduceSum = "ReduceSum";
constexpr const char* kReduceMax = "ReduceMax";
constexpr const char* kSoftmax = "Softmax";
constexpr const char* kSoftmaxGradient = "SoftmaxGradient";
constexpr const char* kLogSoftmax = "LogSoftmax";
constexpr const char* kLogSoftmaxGradient = "LogSoftmaxGradient";
constexpr const char* kLayerNorm = "LayerNorm";
constexpr const char* kLayerNormGradientInput = "LayerNormGradientInput";
constexpr const char* kLayerNormGradientScale = "LayerNormGradientScale";
constexpr const char* kCrossEntropy = "CrossEntropy";
constexpr const char* kAccuracy = "Accuracy";
constexpr const char* kMse = "Mse";
constexpr const char* kMae = "Mae";

using Emitter = void (*)(const Kernel& kernel);

const std::map<absl::string_view, Emitter>& Emitters() {
  static const auto* const emitters = new std::map<absl::string_view, Emitter>{
      {"accuracy", Classification<kAccuracy>},
      {"assert_finite", AssertFinite},
      {"causal_mask", CausalMask},
      {"concat", Concat},
      {"cross_entropy", Classification<kCrossEntropy>},
      {"cross_entropy_gradient", CrossEntropyGradient},
      {"embedding", Embedding},
      {"embedding_gradient", EmbeddingGradient},
      {"flatten", Alias},
      {"layer_norm", OfRows<kLayerNorm>},
      {"layer_norm_gradient_input", OfRows<kLayerNormGradientInput>},
      {"layer_norm_gradient_scale", OfRows<kLayerNormGradientScale>},
      {"log_softmax", OfRows<kLogSoftmax>},
      {"log_softmax_gradient", OfRows<kLogSoftmaxGradient>},
      {"mae", Regression<kMae>},
      {"matmul", MatMul},
      {"matmul_sum", MatMulSum},
      {"mse", Regression<kMse>},
      {"one_hot", OneHot},
      {"pad", Pad},
      {"print", Print},
      {"reduce_max", Reduce<kReduceMax>},
      {"reduce_mean", ReduceMean},
      {"reduce_sum", Reduce<kReduceSum>},
      {"reshape", Alias},
      {"slice", SliceBox},
      {"softmax", OfRows<kSoftmax>},
      {"softmax_gradient", OfRows<kSoftmaxGradient>},
      {"transpose", Transpose},
  };
  return *emitters;
}

}  // namespace

bool HasKernel(absl::string_view kind) { return Emitters().count(kind) > 0; }

void EmitKernel(Emission& emission, int step, SourceWriter& writer) {
  const Step& info = emission.step(step);
  const Compute& compute = *ComputeOf(info);
  const auto found = Emitters().find(compute.kind);
  CLEAVE_CHECK(found != Emitters().end()) << "no emission for `" << compute.kind << "`";
  const Kernel kernel = {emission, info, compute, writer};
  if (IsAlias(info)) {
    Announce(emission, {step}, absl::StrCat(kernel.Output(), " as ", emission.value(compute.output).type.ToString()),
             writer);
    return;
  }
  Announce(emission, {step}, "", writer);
  Watch(emission, step, compute.output, writer);
  found->second(kernel);
}

void EmitMatMulChain(Emission& emission, const MatMulChain& chain, SourceWriter& writer) {
  std::vector<int> steps = {chain.matmul, chain.bias_add};
  if (chain.relu.has_value()) steps.push_back(*chain.relu);
  const Step& first = emission.step(chain.matmul);
  const ValueId output = ComputeOf(emission.step(steps.back()))->output;
  const std::string& bias = emission.names[ComputeOf(emission.step(chain.bias_add))->inputs[1]];
  Announce(emission, steps, "", writer);
  Watch(emission, steps.back(), output, writer);
  EmitMatMul({emission, first, *ComputeOf(first), writer}, emission.names[output],
             absl::StrCat("{.bias = ", bias, chain.relu.has_value() ? ", .relu = true}" : "}"));
}

}  // namespace cleave
