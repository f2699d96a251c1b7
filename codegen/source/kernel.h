// What the emitters of runtime calls are written with, family by family.
#ifndef CLEAVE_CODEGEN_SOURCE_KERNEL_H_
#define CLEAVE_CODEGEN_SOURCE_KERNEL_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "codegen/source/emission.h"

namespace cleave {

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
  std::string Float(Attribute<double> key) const { return FloatLiteral(compute.attributes.Get(key)); }
  // The attribute `axis`, of a dimension of `value`, counted from the front.
  size_t Axis(const Value& value) const {
    const int64_t axis = compute.attributes.Get(attribute::kAxis);
    return static_cast<size_t>(axis < 0 ? axis + value.type.rank() : axis);
  }
  void Call(absl::string_view function, const std::vector<std::string>& arguments) const {
    writer.Call(absl::StrCat(function, "("), arguments, ");");
  }
};

// "{0, 2}"
std::string List(const std::vector<int64_t>& numbers);

// A scalar argument: a literal where the value is a constant.
std::string Scalar(const Kernel& kernel, size_t i);

// Writes one op as calls of the runtime.
using Emitter = void (*)(const Kernel& kernel);
using Emitters = std::map<OpKind, Emitter>;

// One function per family, each in <family>_kernels.cc.
void AddConvolutionKernels(Emitters& emitters);
void AddCustomKernels(Emitters& emitters);
void AddEinsumKernels(Emitters& emitters);
void AddProductKernels(Emitters& emitters);
void AddRankKernels(Emitters& emitters);
void AddRankingKernels(Emitters& emitters);
void AddRowKernels(Emitters& emitters);
void AddMovementKernels(Emitters& emitters);
void AddIndexingKernels(Emitters& emitters);

// A matrix product whose result goes to `output`, with the fields of an epilogue, "{.bias = b}", or nothing.
void EmitMatMul(const Kernel& kernel, const std::string& output, const std::string& epilogue);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_SOURCE_KERNEL_H_
