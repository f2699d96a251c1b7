#include "codegen/source/parts.h"

#include "absl/strings/str_cat.h"

namespace cleave::codegen {
namespace {

SizeProduct Product(Emission& emission, const ir::Extents& extents) {
  SizeProduct product(1);
  for (const ir::Extent& extent : extents) product *= emission.sizes.Size(extent.value, extent.dimension);
  return product;
}

// nullopt where both begin at the same element on every rank.
std::optional<cpp::Expr> ElementsOf(Emission& emission, const ir::Shift& shift) {
  const cpp::Expr places =
      Difference(emission.sizes.Begin(shift.box, shift.dimension), emission.PlainNumberExpr(shift.number),
                 emission.sizes.Begin(shift.whole, shift.dimension));
  const SizeProduct stride = Product(emission, shift.stride);
  if (!places.number().has_value()) return stride.is_one() ? places : places * stride.Value();
  if (*places.number() == 0) return std::nullopt;
  return (SizeProduct(*places.number()) * stride).Value();
}

}  // namespace

const ir::Part* PartOf(const Emission& emission, ir::ValueId value) {
  const auto part = emission.fusion.parts.find(value);
  return part == emission.fusion.parts.end() ? nullptr : &part->second;
}

cpp::Expr PlaceOf(Emission& emission, ir::ValueId value) {
  cpp::Expr place = emission.names[value];
  const ir::Part* const part = PartOf(emission, value);
  if (part == nullptr) return place;
  for (const ir::Shift& shift : part->shifts) {
    if (const std::optional<cpp::Expr> elements = ElementsOf(emission, shift)) place = place + *elements;
  }
  return place;
}

SizeProduct StrideOf(Emission& emission, ir::ValueId value, const ir::Part& part, int begin, int end) {
  int d = end - 1;
  while (d > begin && emission.value(value).type.shape[static_cast<size_t>(d)] == 1) --d;
  return begin == end ? SizeProduct(0) : Product(emission, part.strides[static_cast<size_t>(d)]);
}

void EmitNothing(Emission& emission, int step, cpp::Code& code) {
  const ir::Step& info = emission.step(step);
  const ir::ValueId output = ir::Writes(info).front();
  const std::string name = emission.names[output].Text(), type = emission.value(output).type.ToString();
  if (PartOf(emission, output) != nullptr) {
    return Announce(emission, {step}, absl::StrCat("in ", name, ", ", type), code);
  }
  if (ir::IsAlias(info)) return Announce(emission, {step}, absl::StrCat(name, " as ", type), code);
  Announce(emission, {step}, absl::StrCat(name, ", all parts of which are there"), code);
  Watch(emission, step, output, code);
}

}  // namespace cleave::codegen
