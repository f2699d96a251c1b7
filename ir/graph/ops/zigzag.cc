// Rows of a sequence put into zigzag order (zigzag.h), and back. No model calls it: ir/transforms/zigzag puts it where
// a sequence begins to lie in that order, and where an op needs the order of the sequence.

#include "ir/graph/ops/zigzag.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/rules.h"

namespace cleave::ir {

Argument ZigzagArgument() { return {.name = "zigzag", .kind = ArgumentKind::kInt, .internal = true}; }

int64_t PairsOf(const Attributes& attributes) {
  return attributes.Has(attribute::kZigzag) ? attributes.Get(attribute::kZigzag) : 0;
}

int64_t ZigzagOrder::PlaceOf(int64_t at) const {
  if (pairs == 0) return at;
  const int64_t chunk = rows / (2 * pairs);
  const int64_t pair = at / (2 * chunk), within = at % (2 * chunk);
  const bool is_first = within < chunk;
  return is_first ? pair * chunk + within : (2 * pairs - 1 - pair) * chunk + within - chunk;
}

std::optional<OpError> CheckZigzag(const Attributes& attributes, int64_t rows) {
  const int64_t pairs = PairsOf(attributes);
  const bool is_possible = pairs >= 0 && pairs <= rows / 2 && (pairs == 0 || rows % (2 * pairs) == 0);
  if (is_possible) return std::nullopt;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`zigzag` is ", pairs),
                 .notes = {absl::StrCat(rows, " rows are not twice as many chunks of equal size")}};
}

FactorList AddRows(Rule& rule, const char* name, int64_t rows, const Attributes& attributes, FactorKind kind) {
  const int64_t pairs = PairsOf(attributes);
  if (pairs == 0) return {AddFactor(rule, name, rows, kind)};
  // What the order is follows from the number of pairs, and there are two chunks in each.
  const auto add_fixed = [&](const char* ending, int64_t size, FactorKind of) {
    const int factor = AddFactor(rule, absl::StrCat(name, ending), size, of);
    rule.factors.back().fixed_size = true;
    return factor;
  };
  const int of_pairs = add_fixed("p", pairs, kind);
  const int of_chunks = add_fixed("s", 2, FactorKind::kWhole);
  return {of_pairs, of_chunks, AddFactor(rule, name, rows / (2 * pairs), FactorKind::kWhole)};
}

Piece RowsOf(const FactorList& factors, absl::Span<const FactorRange> ranges) {
  Piece rows{.begin = 0, .size = 1};
  for (const int factor : factors) {
    const FactorRange& range = ranges[static_cast<size_t>(factor)];
    rows.begin = rows.begin * range.global + range.begin;
    rows.size *= range.size;
  }
  return rows;
}

Field ZigzagField(const CallSite& site, const LocalDimension& rows) {
  const int64_t pairs = PairsOf(site.attributes);
  const int64_t size = site.type(rows.tensor).shape[static_cast<size_t>(rows.dimension)];
  return {BracedList{{{pairs, "pairs"}, {size / (2 * pairs), "chunk"}, {FirstIndex{rows}, "first", 0}}}, "zigzag"};
}

namespace {

InferResult InferZigzag(Types inputs, const Attributes& attributes) {
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  if (auto error = CheckZigzag(attributes, inputs[0].shape[axis])) return *error;
  return inputs[0];
}

// A row comes from anywhere, so all of them are on a rank.
Rule ZigzagRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule;
  const size_t axis = AxisOf(attributes, output.rank());
  for (size_t d = 0; d < output.shape.size(); ++d) {
    const int64_t size = output.shape[d];
    rule.output.push_back(d == axis ? AddRows(rule, "s", size, attributes, FactorKind::kWhole)
                                    : FactorList{AddFactor(rule, absl::StrCat("d", d), size)});
  }
  rule.inputs.assign(inputs.size(), rule.output);
  rule.linear = {{0}};
  return rule;
}

Gradients ZigzagGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  Attributes attributes = op.attributes;
  attributes.Set(attribute::kInverse, !op.attributes.Get(attribute::kInverse));
  return {builder.Add(OpKind::kZigzag, {dy}, std::move(attributes), GradientName(op, "x"))};
}

void EvaluateZigzag(const Evaluation& evaluation) {
  const Shape& shape = evaluation.output.shape;
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(shape.size()));
  const int64_t step = Strides(shape)[axis];
  const ZigzagOrder order = {PairsOf(evaluation.attributes), shape[axis]};
  const bool inverse = evaluation.attributes.Get(attribute::kInverse);
  const std::vector<double>& x = evaluation.inputs[0]->values;
  for (int64_t i = 0; i < ElementCount(shape); ++i) {
    const int64_t at = i / step % shape[axis];
    const int64_t in_order = i + (order.PlaceOf(at) - at) * step;
    evaluation.output.values[static_cast<size_t>(inverse ? in_order : i)] =
        x[static_cast<size_t>(inverse ? i : in_order)];
  }
}

std::vector<KernelCall> ZigzagCalls(const CallSite& site) {
  const int rank = site.output.rank();
  const int axis = static_cast<int>(AxisOf(site.attributes, rank));
  const int64_t pairs = PairsOf(site.attributes);
  return {{"MoveZigzag",
           {Pointer{0}, site.Elements(0, 0, axis), site.Elements(0, axis, rank), pairs,
            site.attributes.Get(attribute::kInverse), Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineZigzag() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .callable = false,
                      .treatment = Treatment::kFollow,
                      .signature = {{.name = "x"},
                                    RequiredAttribute(attribute::kAxis),
                                    RequiredAttribute(attribute::kZigzag),
                                    OptionalAttribute(attribute::kInverse, false)},
                      .summary = "the rows along `axis` in zigzag order of `zigzag` pairs of chunks, or back",
                      .infer = InferZigzag,
                      .rule = ZigzagRule,
                      .gradient = ZigzagGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateZigzag,
                      .calls = ZigzagCalls};
}

}  // namespace cleave::ir
