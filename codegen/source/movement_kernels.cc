#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"
#include "codegen/source/kernel.h"

namespace cleave {
namespace {

std::string TextList(const std::vector<std::string>& texts) {
  return absl::StrCat("{", absl::StrJoin(texts, ", "), "}");
}

// "a + number - b", with numbers put together.
std::string OffsetText(const std::string& a, int64_t number, const std::string& b) {
  int64_t value = 0;
  const bool a_is_number = absl::SimpleAtoi(a, &value);
  number += a_is_number ? value : 0;
  const bool b_is_number = absl::SimpleAtoi(b, &value);
  number -= b_is_number ? value : 0;
  if (a_is_number && b_is_number) return absl::StrCat(number);
  std::string text = a_is_number ? "" : a;
  if (text.empty()) {
    text = absl::StrCat(number);
  } else if (number != 0) {
    absl::StrAppend(&text, number > 0 ? " + " : " - ", std::abs(number));
  }
  return b_is_number ? text : absl::StrCat(text, " - ", b);
}

// Whether dimension `d` of input `i` is not that of the output, element by element.
bool IsShifted(const Kernel& kernel, size_t i, int d) {
  const size_t dimension = static_cast<size_t>(d);
  return kernel.input(i).type.shape[dimension] != kernel.output().type.shape[dimension];
}

void Transpose(const Kernel& kernel) {
  std::vector<int64_t> permutation = kernel.compute.attributes.Get(attribute::kPermutation);
  if (permutation.empty()) {
    for (int64_t d = kernel.input(0).type.rank(); d-- > 0;) permutation.push_back(d);
  }
  for (int64_t& d : permutation) d += d < 0 ? kernel.input(0).type.rank() : 0;
  kernel.Call("Transpose", {kernel.Input(0), kernel.emission.sizes.ShapeList(kernel.compute.inputs[0]),
                            List(permutation), kernel.Output()});
}

// The place along dimension `d` at which the output's first element lies in the input, where element o of the output is
// element o + offset of the input.
std::string PlaceInInput(const Kernel& kernel, size_t i, int d, int64_t offset) {
  if (!IsShifted(kernel, i, d)) return "0";
  Sizes& sizes = kernel.emission.sizes;
  return OffsetText(sizes.Begin(kernel.compute.output, d), offset, sizes.Begin(kernel.compute.inputs[i], d));
}

// The other way round: where the input's first element lies in the output.
std::string PlaceInOutput(const Kernel& kernel, size_t i, int d, int64_t offset) {
  if (!IsShifted(kernel, i, d)) return "0";
  Sizes& sizes = kernel.emission.sizes;
  return OffsetText(sizes.Begin(kernel.compute.inputs[i], d), -offset, sizes.Begin(kernel.compute.output, d));
}

void SliceBox(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  std::vector<std::string> place;
  for (int d = 0; d < kernel.output().type.rank(); ++d) {
    place.push_back(
        PlaceInInput(kernel, 0, d, kernel.compute.attributes.Get(attribute::kBegin)[static_cast<size_t>(d)]));
  }
  kernel.Call("CopyBox", {kernel.Input(0), sizes.ShapeList(kernel.compute.inputs[0]), TextList(place),
                          sizes.ShapeList(kernel.compute.output), kernel.Output()});
}

// Puts input `i` into the output, whose element o is element o + offset[d] of the input.
void Paste(const Kernel& kernel, size_t i, const std::vector<int64_t>& offset) {
  Sizes& sizes = kernel.emission.sizes;
  std::vector<std::string> place;
  for (int d = 0; d < kernel.output().type.rank(); ++d) {
    place.push_back(PlaceInOutput(kernel, i, d, offset[static_cast<size_t>(d)]));
  }
  kernel.Call("PasteBox", {kernel.Input(i), sizes.ShapeList(kernel.compute.inputs[i]), TextList(place),
                           sizes.ShapeList(kernel.compute.output), kernel.Output()});
}

void Pad(const Kernel& kernel) {
  kernel.Call("Fill", {ElementLiteral(kernel.output().type.dtype, 0), kernel.OutputCount(), kernel.Output()});
  std::vector<int64_t> offset;
  for (const int64_t before : kernel.compute.attributes.Get(attribute::kBefore)) offset.push_back(-before);
  Paste(kernel, 0, offset);
}

void Concat(const Kernel& kernel) {
  const size_t axis = kernel.Axis(kernel.output());
  std::vector<int64_t> offset(kernel.output().type.shape.size(), 0);
  for (size_t i = 0; i < kernel.compute.inputs.size(); ++i) {
    Paste(kernel, i, offset);
    offset[axis] -= kernel.input(i).type.shape[axis];
  }
}

void CausalMask(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const ValueId x = kernel.compute.inputs[0];
  const int rank = kernel.input(0).type.rank();
  kernel.Call("CausalMask", {kernel.Input(0), sizes.CountOf(x, 0, rank - 2).Text(), sizes.Size(x, rank - 2).Text(),
                             sizes.Size(x, rank - 1).Text(), sizes.Begin(x, rank - 2), sizes.Begin(x, rank - 1),
                             kernel.Float(attribute::kFill), kernel.Output()});
}

void Cumsum(const Kernel& kernel) {
  const bool reverse = kernel.compute.attributes.Get(attribute::kReverse);
  kernel.Call(reverse ? "ReverseCumsum" : "Cumsum",
              {kernel.Input(0), kernel.emission.sizes.ShapeList(kernel.compute.inputs[0]),
               absl::StrCat(kernel.Axis(kernel.output())), kernel.Output()});
}

void Rope(const Kernel& kernel) {
  Sizes& sizes = kernel.emission.sizes;
  const size_t axis = kernel.Axis(kernel.output());
  const std::string first = sizes.Begin(kernel.compute.output, static_cast<int>(axis));
  std::vector<std::string> rotation = {absl::StrCat(".axis = ", axis)};
  if (first != "0") rotation.push_back(absl::StrCat(".first_position = ", first));
  rotation.push_back(absl::StrCat(".theta = ", FormatDouble(kernel.compute.attributes.Get(attribute::kTheta))));
  if (kernel.compute.attributes.Get(attribute::kInverse)) rotation.push_back(".inverse = true");
  kernel.Call("Rope",
              {kernel.Input(0), sizes.ShapeList(kernel.compute.inputs[0]), TextList(rotation), kernel.Output()});
}

void Dropout(const Kernel& kernel) {
  kernel.Call("Dropout",
              {absl::StrCat("{seed, ", StringLiteral(kernel.compute.attributes.Get(attribute::kKey)), ", step}"),
               kernel.emission.sizes.RegionText(kernel.compute.output), kernel.Float(attribute::kRate), kernel.Input(0),
               kernel.Output()});
}

}  // namespace

void AddMovementKernels(Emitters& emitters) {
  emitters[OpKind::kCausalMask] = CausalMask;
  emitters[OpKind::kConcat] = Concat;
  emitters[OpKind::kCumsum] = Cumsum;
  emitters[OpKind::kDropout] = Dropout;
  emitters[OpKind::kPad] = Pad;
  emitters[OpKind::kRope] = Rope;
  emitters[OpKind::kSlice] = SliceBox;
  emitters[OpKind::kTranspose] = Transpose;
}

}  // namespace cleave
