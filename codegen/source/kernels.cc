#include "codegen/source/kernels.h"

#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "codegen/source/kernel.h"

namespace cleave {
namespace {

// The op that makes a source value, or null.
const Compute* SourceOf(const Program& program, ValueId value) {
  for (const Step& step : program.steps) {
    const Compute* compute = ComputeOf(step);
    if (compute != nullptr && compute->output == value && IsSource(step)) return compute;
  }
  return nullptr;
}

// The user's name for the tensor, also where it has been gathered for this.
std::string Shown(const Kernel& kernel) {
  return absl::StrCat("{", StringLiteral(kernel.emission.graph.op(kernel.input(0).origin).name), ", ",
                      StringLiteral(kernel.emission.Place(kernel.step.line)), "}");
}

void Print(const Kernel& kernel) {
  // Of a manual model every rank has a whole tensor of its own.
  if (kernel.emission.program.is_manual) {
    return kernel.Call("PrintRanks", {"comm", Shown(kernel), List(kernel.input(0).type.shape), kernel.Input(0)});
  }
  const bool local = kernel.compute.attributes.Get(attribute::kLocal);
  kernel.Call(local ? "PrintPieces" : "Print",
              {"comm", Shown(kernel), kernel.emission.sizes.RegionText(kernel.compute.inputs[0]), kernel.Input(0)});
}

void AssertFinite(const Kernel& kernel) {
  kernel.Call("AssertFinite", {"comm", Shown(kernel), kernel.Count(kernel.compute.inputs[0]), kernel.Input(0)});
}

// The value lies where its input lies.
void Alias(const Kernel&) {}

const Emitters& Table() {
  static const auto* const table = [] {
    auto* const emitters = new Emitters{
        {OpKind::kAssertFinite, AssertFinite},
        {OpKind::kFlatten, Alias},
        {OpKind::kIdentity, Alias},
        {OpKind::kPrint, Print},
        {OpKind::kReshape, Alias},
    };
    AddConvolutionKernels(*emitters);
    AddCustomKernels(*emitters);
    AddEinsumKernels(*emitters);
    AddProductKernels(*emitters);
    AddRankKernels(*emitters);
    AddRankingKernels(*emitters);
    AddRowKernels(*emitters);
    AddMovementKernels(*emitters);
    AddIndexingKernels(*emitters);
    return emitters;
  }();
  return *table;
}

}  // namespace

std::string List(const std::vector<int64_t>& numbers) { return absl::StrCat("{", absl::StrJoin(numbers, ", "), "}"); }

std::string Scalar(const Kernel& kernel, size_t i) {
  const ValueId value = kernel.compute.inputs[i];
  if (kernel.emission.storage.root[value].has_value()) return kernel.Input(i);
  const Compute* source = SourceOf(kernel.emission.program, value);
  CLEAVE_CHECK(source != nullptr && source->kind == OpKind::kConstant)
      << "`" << kernel.input(i).name << "` has no memory";
  return FloatLiteral(source->attributes.Get(attribute::kValue));
}

bool HasKernel(OpKind kind) { return Table().count(kind) > 0; }

void EmitKernel(Emission& emission, int step, SourceWriter& writer) {
  const Step& info = emission.step(step);
  const Compute& compute = *ComputeOf(info);
  const auto found = Table().find(compute.kind);
  CLEAVE_CHECK(found != Table().end()) << "no emission for `" << compute.kind << "`";
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
