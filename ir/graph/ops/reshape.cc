// The same elements in another shape.

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

// The rest of one side: the current dimension, and the part of it that no factor covers yet.
struct Side {
  explicit Side(const Shape& side_shape) : shape(side_shape), dimensions(side_shape.size()) { SkipDone(); }

  bool done() const { return dimension == shape.size(); }
  void Cover(int factor, int64_t size) {
    dimensions[dimension].push_back(factor);
    rest /= size;
    if (rest == 1) {
      ++dimension;
      SkipDone();
    }
  }
  // Moves to the next dimension that has more than one element.
  void SkipDone() {
    while (dimension < shape.size() && shape[dimension] == 1) ++dimension;
    rest = done() ? 1 : shape[dimension];
  }

  const Shape& shape;
  std::vector<FactorList> dimensions;
  size_t dimension = 0;
  int64_t rest = 1;
};

int AddNumbered(Rule& rule, int64_t size, FactorKind kind) {
  const int factor = AddFactor(rule, absl::StrCat("f", rule.factors.size()), size, kind);
  rule.factors.back().fixed_size = kind == FactorKind::kWhole;
  return factor;
}

// Covers the rest of the current dimension with a whole factor and returns its size.
int64_t CoverWhole(Rule& rule, Side& side) {
  const int64_t size = side.rest;
  side.Cover(AddNumbered(rule, size, FactorKind::kWhole), size);
  return size;
}

// The common refinement of two row-major shapes with equally many elements: the factors of which both are made, major
// first. [6, 4] to [2, 12] is "(f0 f1) f2 -> f0 (f1 f2)" with sizes 2, 3, 4. Where sizes have no common major divisor,
// such as in [2, 3] to [3, 2], the dimensions involved become whole factors of fixed size, up to the next place at
// which both shapes have a boundary.
Rule ReshapingRule(const Shape& input, const Shape& output) {
  Rule rule;
  Side from(input);
  Side to(output);
  while (!from.done() && !to.done()) {
    const int64_t common = std::gcd(from.rest, to.rest);
    if (common > 1) {
      const int factor = AddNumbered(rule, common, FactorKind::kParallel);
      from.Cover(factor, common);
      to.Cover(factor, common);
      continue;
    }
    int64_t covered_from = CoverWhole(rule, from);
    int64_t covered_to = CoverWhole(rule, to);
    while (covered_from != covered_to) {
      if (covered_from < covered_to) {
        covered_from *= CoverWhole(rule, from);
      } else {
        covered_to *= CoverWhole(rule, to);
      }
    }
  }
  rule.inputs = {std::move(from.dimensions)};
  rule.output = std::move(to.dimensions);
  rule.linear = {{0}};
  return rule;
}

// For OpDefinition::gradient: the same elements in the shape of the input.
Gradients ReshapingGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kReshape, {dy}, {{attribute::kShape, builder.type(op.inputs[0]).shape}},
                      GradientName(op, "x"))};
}

InferResult InferReshape(Types inputs, const Attributes& attributes) {
  const Shape& wanted = attributes.Get(attribute::kShape);
  Shape shape = wanted;
  int64_t known = 1;
  int open = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1 && open < 0) {
      open = static_cast<int>(d);
      continue;
    }
    if (auto error = CheckSizes(
            {shape.begin() + static_cast<std::ptrdiff_t>(d), shape.begin() + static_cast<std::ptrdiff_t>(d) + 1},
            "shape")) {
      error->message = absl::StrCat("dimension ", d, " of `shape` is ", shape[d]);
      return *error;
    }
    known = known > kMaxElements / shape[d] ? kMaxElements + 1 : known * shape[d];
  }
  const int64_t elements = inputs[0].elements();
  if (open >= 0 && elements % known == 0) {
    shape[static_cast<size_t>(open)] = elements / known;
    return TensorType{inputs[0].dtype, shape};
  }
  if (open < 0 && known == elements) return TensorType{inputs[0].dtype, shape};
  const std::string wanted_text =
      open < 0 ? absl::StrCat(ShapeText(wanted), " = ",
                              known > kMaxElements ? absl::StrCat("more than ", kMaxElements) : absl::StrCat(known))
               : absl::StrCat(ShapeText(wanted), " needs a multiple of ", known);
  return OpError{.code = Code::kE0403,
                 .message = absl::StrCat("reshape to another number of elements: ", ShapeText(inputs[0].shape), " = ",
                                         elements, ", ", wanted_text),
                 .about = {{0, absl::StrCat("has ", elements, " elements")}},
                 .help = open < 0 ? std::vector<std::string>{"one dimension may be -1: it takes what is left"}
                                  : std::vector<std::string>{}};
}

Rule ReshapeRule(Types inputs, const TensorType& output, const Attributes&) {
  return ReshapingRule(inputs[0].shape, output.shape);
}

OpId BatchReshape(Lift& lift) {
  return lift.Main(lift.Inputs(), {{attribute::kShape, Before(lift.size(), lift.op().type.shape)}});
}

// A tensor with `start` dimensions gets a last one of size 1.
InferResult InferFlatten(Types inputs, const Attributes& attributes) {
  const int64_t start = attributes.Get(attribute::kStart);
  const Shape& shape = inputs[0].shape;
  if (start < 0 || start > inputs[0].rank()) {
    return OpError{.code = Code::kE0404,
                   .message = absl::StrCat("`flatten` from dimension ", start, " of ", inputs[0].rank()),
                   .about = {{0, absl::StrCat("is ", ShapeText(shape))}}};
  }
  Shape flat(shape.begin(), shape.begin() + start);
  int64_t rest = 1;
  for (size_t d = static_cast<size_t>(start); d < shape.size(); ++d) rest *= shape[d];
  flat.push_back(rest);
  return TensorType{inputs[0].dtype, flat};
}

Rule FlattenRule(Types inputs, const TensorType& output, const Attributes&) {
  return ReshapingRule(inputs[0].shape, output.shape);
}

OpId BatchFlatten(Lift& lift) {
  return lift.Instead(OpKind::kReshape, lift.Inputs(),
                      {{attribute::kShape, Before(lift.size(), lift.op().type.shape)}});
}

// Passes a value on: the border of a region, where a pin can fix the layout of the value.

InferResult InferIdentity(Types inputs, const Attributes&) { return inputs[0]; }

Gradients IdentityGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kIdentity, {dy}, {}, GradientName(op, "x"))};
}

// Passes a value on, and no gradient back.

Gradients NoGradients(GraphBuilder&, const Op&, OpId) { return {std::nullopt}; }

}  // namespace

OpDefinition DefineReshape() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .is_alias = true,
                      .treatment = Treatment::kFollow,
                      .signature = {{.name = "x"}, RequiredAttribute(attribute::kShape)},
                      .summary = "the same elements in another shape; one size may be -1",
                      .infer = InferReshape,
                      .rule = ReshapeRule,
                      .gradient = ReshapingGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = CopyElements,
                      .resize = ResizeShape,
                      .batch = BatchReshape};
}

OpDefinition DefineFlatten() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .is_alias = true,
                      .treatment = Treatment::kFollow,
                      .signature = {{.name = "x"}, OptionalAttribute(attribute::kStart, 1)},
                      .summary = "all dimensions from `start` on as one",
                      .infer = InferFlatten,
                      .rule = FlattenRule,
                      .gradient = ReshapingGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = CopyElements,
                      .batch = BatchFlatten};
}

OpDefinition DefineIdentity() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .is_alias = true,
                      .callable = false,
                      .treatment = Treatment::kFollow,
                      .signature = {{.name = "x"}},
                      .summary = "the same value",
                      .infer = InferIdentity,
                      .rule = FirstLinearRule,
                      .gradient = IdentityGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = CopyElements,
                      .batch = BatchSame};
}

OpDefinition DefineStopGradient() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .is_alias = true,
                      .treatment = Treatment::kFollow,
                      .signature = {{.name = "x"}},
                      .summary = "x itself, through which no gradient passes",
                      .infer = InferIdentity,
                      .rule = FirstLinearRule,
                      .gradient = NoGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = CopyElements,
                      .batch = BatchSame};
}

}  // namespace cleave::ir
