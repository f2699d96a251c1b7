// Linear recurrences along one dimension, from a state of zeros: h[t] = a[t] h[t-1] + b[t]; `reverse` begins at the
// end. a broadcasts against b. All other dimensions are computed side by side.
//
// The gradient g by h[t] is a recurrence in the other direction, and those by a and b follow from it:
//
//   g[t] = dh[t] + a[t+1] g[t+1]      db[t] = g[t]      da[t] = g[t] h[t-1]
//
// `scan_gradient_b` computes g of a and dh, and `scan_gradient_a` the product of g with the state before each element,
// which it makes again of a and b.
//
// Where the dimension is cut, what a piece does to a state h that comes in is one product and one sum: it leaves A h +
// L with A the product of its a, and L its last state from zeros. So each rank finds the A and L of its piece
// (`scan_ends`), all ranks scan those of all pieces, which are few, and each computes its piece again from the state
// that comes in (`scan_pieces`). A piece is then a row of as many elements as the largest one has, so that what a rank
// has does not depend on how many of the pieces are its own; `join_pieces` puts the rows one behind another. Blelloch:
// Prefix sums and their applications (1990).

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/rows.h"

namespace cleave::ir {
namespace {

// Of scan_pieces: whether its value is the state before each element instead of that behind it.
constexpr Attribute<bool> kExclusive{"exclusive"};

// What is computed at each element, in the order of the scan, with the state s.
enum class Form {
  kState,   // s = a s + b, which is the value.
  kFactor,  // The value is g s; then s = a s + b.
  kTerm,    // The value is b + s; then s is a times the value.
};

OpError DoNotFit(Types inputs, const std::string& note) {
  return {.code = Code::kE0411,
          .message = absl::StrCat("a scan of ", ShapeText(inputs[0].shape), " and ", ShapeText(inputs[1].shape)),
          .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))},
                    {1, absl::StrCat("is ", ShapeText(inputs[1].shape))}},
          .notes = {note}};
}

InferResult InferScan(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "a")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kF32, "b")) return *error;
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[1].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  if (BroadcastShape(inputs[0].shape, inputs[1].shape) != inputs[1].shape) {
    return DoNotFit(inputs, "`a` broadcasts against `b`, which has the shape of the result");
  }
  if (inputs.size() > 2) {
    if (auto error = CheckSameShape(inputs, 1, 2, "g")) return *error;
  }
  return inputs[1];
}

template <Form kForm>
Rule ScanRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = BroadcastRule(inputs, output, kForm == Form::kFactor ? LinearGroups{{1}, {2}} : LinearGroups{{1}});
  Factor& scanned = rule.factors[AxisOf(attributes, output.rank())];
  scanned.kind = FactorKind::kInner;
  // The rows of all pieces have less than an element more for each.
  scanned.max_pieces = std::max<int64_t>(1, kMaxElements / (output.elements() / scanned.size) - scanned.size);
  return rule;
}

Gradients ScanGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId a = op.inputs[0], b = op.inputs[1];
  Attributes backwards = op.attributes;
  backwards.Set(attribute::kReverse, !op.attributes.Get(attribute::kReverse));
  const OpId db = builder.Add(OpKind::kScanGradientB, {a, dy}, std::move(backwards), GradientName(op, "b"));
  const std::string name = GradientName(op, "a");
  const OpId da = builder.Add(OpKind::kScanGradientA, {a, b, db}, op.attributes, name);
  return {SumToType(builder, da, builder.type(a), name), db};
}

// Goes through the elements of a tensor of (local) shape `shape` in the order of a scan.
class Walk {
 public:
  Walk(const Shape& shape, const Attributes& attributes)
      : axis_(AxisOf(attributes, static_cast<int>(shape.size()))),
        count_(ElementCount(shape)),
        length_(shape[axis_]),
        step_(Strides(shape)[axis_]),
        reverse_(attributes.Get(attribute::kReverse)) {}

  size_t axis() const { return axis_; }
  int64_t inner() const { return step_; }

  // Calls f(number of the element, its place along the axis).
  template <typename Function>
  void ForEach(const Function& f) const {
    for (int64_t n = 0; n < count_; ++n) {
      const int64_t i = reverse_ ? count_ - 1 - n : n;
      f(i, i / step_ % length_);
    }
  }
  // The place of the first element in the order of the scan of [begin, end), and the element before another one.
  int64_t First(int64_t begin, int64_t end) const { return reverse_ ? end - 1 : begin; }
  size_t Before(int64_t i) const { return static_cast<size_t>(reverse_ ? i + step_ : i - step_); }

 private:
  size_t axis_;
  int64_t count_, length_, step_;
  bool reverse_;
};

template <Form kForm>
void EvaluateScan(const Evaluation& evaluation) {
  const Tensor& b = *evaluation.inputs[1];
  const Walk walk(b.shape, evaluation.attributes);
  const std::vector<int64_t> of_a = BroadcastIndex(b.shape, evaluation.inputs[0]->shape);
  std::vector<double> states(b.values.size());  // Behind each element.
  const int64_t first = walk.First(0, b.shape[walk.axis()]);
  walk.ForEach([&](int64_t element, int64_t place) {
    const auto i = static_cast<size_t>(element);
    const double a = evaluation.inputs[0]->values[static_cast<size_t>(of_a[i])];
    const double before = place == first ? 0 : states[walk.Before(element)];
    double& value = evaluation.output.values[i];
    states[i] = a * before + b.values[i];
    value = states[i];
    if (kForm == Form::kFactor) value = evaluation.inputs[2]->values[i] * before;
    if (kForm == Form::kTerm) {
      value = b.values[i] + before;
      states[i] = a * value;
    }
  });
}

OpId BatchScan(Lift& lift) {
  Attributes attributes = lift.op().attributes;
  attributes.Set(attribute::kAxis, ShiftedAxis(attributes.Get(attribute::kAxis)));
  return lift.Main({lift.Aligned(0, lift.rank(1)), lift.Whole(1)}, std::move(attributes));
}

// function(each input and its sizes…, axis, reverse, result)
std::vector<KernelCall> ScanCall(const CallSite& site, std::string function) {
  const auto axis = static_cast<int64_t>(AxisOf(site.attributes, site.output.rank()));
  std::vector<CallArgument> arguments = {Pointer{0}, LocalSizes{0}, Pointer{1}, LocalSizes{1}};
  for (size_t i = 2; i < site.inputs.size(); ++i) arguments.push_back(Pointer{static_cast<int>(i)});
  arguments.insert(arguments.end(), {axis, site.attributes.Get(attribute::kReverse), Pointer{kResult}});
  return {{std::move(function), std::move(arguments)}};
}

// The distributed form: ops in which a dimension of `elements` elements is `pieces` pieces.

int64_t PieceWith(int64_t element, int64_t elements, int64_t pieces) { return ((element + 1) * pieces - 1) / elements; }

std::optional<OpError> CheckPieces(Types inputs, const Attributes& attributes) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (auto error = CheckDType(inputs, static_cast<int>(i), DType::kF32, "x")) return *error;
    if (auto error = CheckRank(inputs, static_cast<int>(i), 1)) return *error;
  }
  const Shape sizes = {attributes.Get(attribute::kPieces), attributes.Get(attribute::kElements)};
  if (auto error = CheckSizes(sizes, "(pieces, elements)")) return *error;
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const TensorType& last = inputs[std::min<size_t>(inputs.size(), 2) - 1];
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  if (inputs[0].rank() == last.rank() && BroadcastShape(inputs[0].shape, last.shape) == last.shape &&
      inputs[0].shape[axis] == sizes[1] && last.shape[axis] == sizes[1]) {
    return std::nullopt;
  }
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`elements` is ", sizes[1]),
                 .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))}}};
}

InferResult InferScanEnds(Types inputs, const Attributes& attributes) {
  if (auto error = CheckPieces(inputs, attributes)) return *error;
  TensorType output = inputs.back();
  output.shape[AxisOf(attributes, output.rank())] = attributes.Get(attribute::kPieces);
  return output;
}

// Factors of `output`, with the pieces in the place of the axis. a and b, where there is one, are read in windows.
Rule RuleOfPieces(Types inputs, const Shape& output, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  const int64_t elements = attributes.Get(attribute::kElements), pieces = attributes.Get(attribute::kPieces);
  Rule rule;
  rule.output = AddDimensions(rule, output);
  rule.factors[axis].name = "p";
  rule.factors[axis].fixed_size = true;
  for (size_t i = 0; i < std::min<size_t>(inputs.size(), 2); ++i) {
    rule.inputs.push_back(rule.output);
    for (size_t d = 0; d < output.size(); ++d) {
      if (d != axis && inputs[i].shape[d] != output[d]) rule.inputs[i][d].clear();
    }
    rule.windows.push_back(PiecesWindow(static_cast<int>(i), static_cast<int>(axis), elements, pieces));
  }
  return rule;
}

Rule ScanEndsRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = RuleOfPieces(inputs, output.shape, attributes);
  if (inputs.size() > 1) rule.linear = {{1}};
  return rule;
}

Attributes ResizePieces(const Attributes& attributes, const Rule& resized) {
  Attributes result = attributes;
  result.Set(attribute::kElements, resized.windows[0].window.elements);
  return result;
}

// The pieces of a rank, with their places in its elements.
struct LocalPieces {
  int64_t elements, pieces, first, count;

  LocalPieces(const Evaluation& evaluation, size_t axis)
      : elements(evaluation.attributes.Get(attribute::kElements)),
        pieces(evaluation.attributes.Get(attribute::kPieces)),
        first(evaluation.ranges[axis].begin),
        count(evaluation.ranges[axis].size) {}
  // Its place among the elements of the rank, and the piece that has a place.
  Piece Of(int64_t piece) const {
    const int64_t begin = PieceOf(elements, pieces, first).begin;
    Piece place = PieceOf(elements, pieces, piece);
    place.begin -= begin;
    return place;
  }
  int64_t NumberOf(int64_t place) const {
    return PieceWith(PieceOf(elements, pieces, first).begin + place, elements, pieces);
  }
};

void EvaluateScanEnds(const Evaluation& evaluation) {
  const Tensor& a = *evaluation.inputs[0];
  const bool is_product = evaluation.inputs.size() == 1;
  Tensor& ends = evaluation.output;
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(ends.shape.size()));
  const LocalPieces pieces(evaluation, axis);
  std::fill(ends.values.begin(), ends.values.end(), is_product ? 1 : 0);
  const Shape& shape = evaluation.inputs.back()->shape;
  const Walk walk(shape, evaluation.attributes);
  const std::vector<int64_t> of_a = BroadcastIndex(shape, a.shape);
  walk.ForEach([&](int64_t i, int64_t place) {
    const int64_t line = i / walk.inner() / shape[axis];
    const int64_t piece = pieces.NumberOf(place) - pieces.first;
    double& end = ends.values[static_cast<size_t>((line * pieces.count + piece) * walk.inner() + i % walk.inner())];
    end *= a.values[static_cast<size_t>(of_a[static_cast<size_t>(i)])];
    if (!is_product) end += evaluation.inputs[1]->values[static_cast<size_t>(i)];
  });
}

InferResult InferScanPieces(Types inputs, const Attributes& attributes) {
  if (auto error = CheckPieces(inputs, attributes)) return *error;
  const size_t axis = AxisOf(attributes, inputs[1].rank());
  TensorType output = inputs[1];
  output.shape[axis] = attributes.Get(attribute::kPieces);
  if (inputs[2].shape != output.shape) return DoNotFit(inputs.subspan(1), "of pieces and their ends");
  const int64_t row = LargestPiece(attributes.Get(attribute::kElements), attributes.Get(attribute::kPieces));
  output.shape.insert(output.shape.begin() + static_cast<int64_t>(axis) + 1, row);
  return output;
}

Rule ScanPiecesRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, inputs[1].rank());
  Rule rule = RuleOfPieces(inputs, inputs[2].shape, attributes);
  const int row = AddFactor(rule, "r", output.shape[axis + 1], FactorKind::kWhole);
  const int all = AddFactor(rule, "q", inputs[2].shape[axis], FactorKind::kWhole);
  rule.factors.back().fixed_size = true;
  rule.inputs.push_back(rule.output);
  rule.inputs.back()[axis] = {all};
  rule.output.insert(rule.output.begin() + static_cast<int64_t>(axis) + 1, FactorList{row});
  for (InputWindow& entry : rule.windows) {
    entry.taps = row;
    entry.sliding.stride = attributes.Get(attribute::kPieces);
  }
  rule.linear = {{1, 2}};
  return rule;
}

void EvaluateScanPieces(const Evaluation& evaluation) {
  const Tensor& b = *evaluation.inputs[1];
  const Walk walk(b.shape, evaluation.attributes);
  const bool is_reverse = evaluation.attributes.Get(attribute::kReverse);
  const LocalPieces pieces(evaluation, walk.axis());
  const int64_t row = evaluation.output.shape[walk.axis() + 1];
  const std::vector<int64_t> of_a = BroadcastIndex(b.shape, evaluation.inputs[0]->shape);
  std::vector<double> states(b.values.size());
  walk.ForEach([&](int64_t element, int64_t place) {
    const auto i = static_cast<size_t>(element);
    const int64_t line = element / walk.inner() / b.shape[walk.axis()], inner = element % walk.inner();
    const int64_t number = pieces.NumberOf(place);
    const Piece piece = pieces.Of(number);
    double before = 0;
    if (place != walk.First(piece.begin, piece.end())) {
      before = states[walk.Before(element)];
    } else if (const int64_t other = is_reverse ? number + 1 : number - 1; other >= 0 && other < pieces.pieces) {
      before = evaluation.inputs[2]->values[static_cast<size_t>((line * pieces.pieces + other) * walk.inner() + inner)];
    }
    states[i] = evaluation.inputs[0]->values[static_cast<size_t>(of_a[i])] * before + b.values[i];
    const int64_t at = (line * pieces.count + number - pieces.first) * row + place - piece.begin;
    evaluation.output.values[static_cast<size_t>(at * walk.inner() + inner)] =
        evaluation.attributes.Get(kExclusive) ? before : states[i];
  });
}

InferResult InferJoinPieces(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckRank(inputs, 0, 2)) return *error;
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank() - 1);
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const size_t axis = AxisOf(attributes, inputs[0].rank() - 1);
  const int64_t elements = attributes.Get(attribute::kElements);
  if (auto error = CheckSizes({elements}, "elements")) return *error;
  TensorType output = inputs[0];
  const auto row = output.shape.begin() + static_cast<int64_t>(axis) + 1;
  const int64_t pieces = attributes.Get(attribute::kPieces);
  if (output.shape[axis] != pieces || *row != LargestPiece(elements, pieces)) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`elements` is ", elements),
                   .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))}}};
  }
  output.shape.erase(row);
  output.shape[axis] = elements;
  return output;
}

// Element e is in piece ((e + 1) * pieces - 1) / elements.
Rule JoinPiecesRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, output.rank());
  const int64_t elements = output.shape[axis], pieces = inputs[0].shape[axis];
  Rule rule;
  rule.output = AddDimensions(rule, output.shape);
  const int row = AddFactor(rule, "r", inputs[0].shape[axis + 1], FactorKind::kWhole);
  rule.inputs = {rule.output};
  rule.inputs[0].insert(rule.inputs[0].begin() + static_cast<int64_t>(axis) + 1, FactorList{row});
  rule.windows = {{.input = 0,
                   .dimension = static_cast<int>(axis),
                   .window = {.elements = pieces,
                              .outer = elements,
                              .numerator = pieces,
                              .denominator = elements,
                              .first = pieces - 1,
                              .last = pieces - 1},
                   .cause = WindowCause::kPieceOf,
                   .sliding = {.stride = pieces},
                   .taps = row}};
  rule.linear = {{0}};
  return rule;
}

Attributes ResizeJoinPieces(const Attributes& attributes, const Rule& resized) {
  Attributes result = attributes;
  result.Set(attribute::kElements, resized.windows[0].window.outer);
  return result;
}

void EvaluateJoinPieces(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const Shape& shape = evaluation.output.shape;
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(shape.size()));
  const FactorRange& range = evaluation.ranges[axis];
  const int64_t inner = Strides(shape)[axis], row = x.shape[axis + 1];
  const int64_t pieces = evaluation.attributes.Get(attribute::kPieces);
  const int64_t first = range.is_cut ? PieceWith(range.begin, range.global, pieces) : 0;
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) / inner;
    const int64_t element = range.begin + at % shape[axis];
    const int64_t piece = PieceWith(element, range.global, pieces);
    const int64_t place = element - PieceOf(range.global, pieces, piece).begin;
    const int64_t from = (at / shape[axis] * x.shape[axis] + piece - first) * row + place;
    evaluation.output.values[i] = x.values[static_cast<size_t>(from * inner + static_cast<int64_t>(i) % inner)];
  }
}

// The pieces of a rank, as PiecesOfRow of the runtime.
BracedList PiecesOf(const CallSite& site) {
  const auto axis = static_cast<int>(AxisOf(site.attributes, site.inputs[0].rank()));
  const int64_t pieces = site.attributes.Get(attribute::kPieces);
  return {
      {{site.attributes.Get(attribute::kElements)}, {pieces}, {FirstPiece{axis, pieces}}, {PieceCount{axis, pieces}}}};
}

std::vector<KernelCall> ScanEndsCalls(const CallSite& site) {
  const auto axis = static_cast<int64_t>(AxisOf(site.attributes, site.output.rank()));
  const bool reverse = site.attributes.Get(attribute::kReverse);
  if (site.inputs.size() == 1) {
    return {{"ScanProducts", {Pointer{0}, LocalSizes{0}, axis, PiecesOf(site), Pointer{kResult}}}};
  }
  return {{"ScanEnds",
           {Pointer{0}, LocalSizes{0}, Pointer{1}, LocalSizes{1}, axis, reverse, PiecesOf(site), Pointer{kResult}}}};
}

std::vector<KernelCall> ScanPiecesCalls(const CallSite& site) {
  const auto axis = static_cast<int64_t>(AxisOf(site.attributes, site.type(1).rank()));
  const bool is_exclusive = site.attributes.Get(kExclusive);
  return {{is_exclusive ? "ScanPiecesBefore" : "ScanPieces",
           {Pointer{0}, LocalSizes{0}, Pointer{1}, LocalSizes{1}, Pointer{2}, axis,
            site.attributes.Get(attribute::kReverse), PiecesOf(site), Pointer{kResult}}}};
}

std::vector<KernelCall> JoinPiecesCalls(const CallSite& site) {
  const auto axis = static_cast<int>(AxisOf(site.attributes, site.output.rank()));
  const BracedList pieces = {{{site.attributes.Get(attribute::kElements)},
                              {site.attributes.Get(attribute::kPieces)},
                              {FirstIndex{{0, axis}}},
                              {LocalSize{{{0, axis}}}}}};
  return {{"JoinPieces",
           {Pointer{0}, LocalSizes{kResult}, int64_t{axis}, pieces, FirstIndex{{kResult, axis}}, Pointer{kResult}}}};
}

// The state of the scan of a and b, or with `is_exclusive` the one before each element.
OpId ScanByPieces(GraphBuilder& builder, const Op& op, OpId a, OpId b, int64_t count, bool is_exclusive) {
  const Shape shape = builder.type(b).shape;
  const auto axis = static_cast<int64_t>(AxisOf(op.attributes, static_cast<int>(shape.size())));
  const int64_t elements = shape[static_cast<size_t>(axis)];
  const auto named = [&op](const char* part) { return absl::StrCat(op.name, ".", part); };
  Shape own = builder.type(a).shape;
  if (own.size() < shape.size() || own[static_cast<size_t>(axis)] != elements) {
    own.insert(own.begin(), shape.size() - own.size(), 1);
    own[static_cast<size_t>(axis)] = elements;
    a = builder.Add(OpKind::kBroadcastTo, {a}, {{attribute::kShape, own}}, named("a"));
  }
  Attributes attributes = op.attributes;
  attributes.Set(attribute::kAxis, axis);
  const Attributes along = attributes;
  attributes.Set(attribute::kPieces, count);
  attributes.Set(attribute::kElements, elements);
  const OpId products = builder.Add(OpKind::kScanEnds, {a}, attributes, named("products"));
  const OpId ends = builder.Add(OpKind::kScanEnds, {a, b}, attributes, named("ends"));
  const OpId carried = builder.Add(OpKind::kScan, {products, ends}, along, named("carried"));
  Attributes of_states = attributes;
  of_states.Set(kExclusive, is_exclusive);
  const OpId states = builder.Add(OpKind::kScanPieces, {a, b, carried}, std::move(of_states), named("states"));
  attributes.Erase(attribute::kReverse);
  return builder.Add(OpKind::kJoinPieces, {states}, std::move(attributes), op.name);
}

template <Form kForm>
OpId DistributeScan(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  const OpId a = op.inputs[0], b = op.inputs[1];
  const int64_t count = pieces[AxisOf(op.attributes, op.type.rank())];
  if (kForm == Form::kState) return ScanByPieces(builder, op, a, b, count, /*is_exclusive=*/false);
  if (kForm == Form::kFactor) {
    const OpId before = ScanByPieces(builder, op, a, b, count, /*is_exclusive=*/true);
    return builder.Add(OpKind::kMul, {op.inputs[2], before}, {}, op.name);
  }
  const OpId product = builder.Add(OpKind::kMul, {a, b}, {}, absl::StrCat(op.name, ".product"));
  const OpId rest = ScanByPieces(builder, op, a, product, count, /*is_exclusive=*/true);
  return builder.Add(OpKind::kAdd, {b, rest}, {}, op.name);
}

template <Form kForm>
OpDefinition ScanOf(std::vector<Argument> inputs, std::string summary) {
  OpDefinition definition = {.op_class = OpClass::kReduction,
                             .callable = kForm == Form::kState,
                             .gives_16_bits = true,
                             .signature = std::move(inputs),
                             .summary = std::move(summary),
                             .infer = InferScan,
                             .rule = ScanRule<kForm>,
                             .flops = FlopsPerElement<2>,
                             .distribute = DistributeScan<kForm>,
                             .evaluate = EvaluateScan<kForm>};
  for (int i = 0; i < static_cast<int>(definition.signature.size()); ++i) definition.reads_16_bits.push_back(i);
  definition.signature.push_back(RequiredAttribute(attribute::kAxis));
  definition.signature.push_back(OptionalAttribute(attribute::kReverse, false));
  return definition;
}

// An op of the distributed form.
OpDefinition PiecesOp(std::vector<Argument> inputs, std::vector<Argument> attributes, std::string summary) {
  OpDefinition definition = {.op_class = OpClass::kReduction,
                             .callable = false,
                             .signature = std::move(inputs),
                             .summary = std::move(summary)};
  definition.signature.insert(definition.signature.end(),
                              {RequiredAttribute(attribute::kAxis), RequiredAttribute(attribute::kPieces),
                               RequiredAttribute(attribute::kElements)});
  for (Argument& attribute : attributes) definition.signature.push_back(std::move(attribute));
  return definition;
}

}  // namespace

OpDefinition DefineScan() {
  OpDefinition definition = ScanOf<Form::kState>(
      {{.name = "a"}, {.name = "b"}},
      "a linear recurrence along `axis`, h[t] = a[t] h[t - 1] + b[t] from zeros, where a broadcasts "
      "against b; with `reverse`, from the end");
  definition.gradient = ScanGradients;
  definition.batch = BatchScan;
  definition.calls = [](const CallSite& site) { return ScanCall(site, "Scan"); };
  return definition;
}

OpDefinition DefineScanGradientA() {
  OpDefinition definition = ScanOf<Form::kFactor>({{.name = "a"}, {.name = "b"}, {.name = "g"}},
                                                  "g times the state of scan before each element: its gradient by a");
  definition.calls = [](const CallSite& site) { return ScanCall(site, "ScanGradientA"); };
  return definition;
}

OpDefinition DefineScanGradientB() {
  OpDefinition definition =
      ScanOf<Form::kTerm>({{.name = "a"}, {.name = "dy"}},
                          "g[t] = dy[t] + a[t - 1] g[t - 1]: the gradient of scan by b, with `reverse` turned");
  definition.calls = [](const CallSite& site) { return ScanCall(site, "ScanGradientB"); };
  return definition;
}

OpDefinition DefineScanEnds() {
  OpDefinition definition = PiecesOp({{.name = "a"}, {.name = "b", .kind = ArgumentKind::kOptionalTensor}},
                                     {OptionalAttribute(attribute::kReverse, false)},
                                     "for each piece the last state of scan, or the product of a where there is no b");
  definition.infer = InferScanEnds;
  definition.rule = ScanEndsRule;
  definition.flops = FlopsPerInputElement<2>;
  definition.evaluate = EvaluateScanEnds;
  definition.resize = ResizePieces;
  definition.calls = ScanEndsCalls;
  return definition;
}

OpDefinition DefineScanPieces() {
  OpDefinition definition =
      PiecesOp({{.name = "a"}, {.name = "b"}, {.name = "carried"}},
               {OptionalAttribute(attribute::kReverse, false), OptionalAttribute(kExclusive, false)},
               "each piece of scan as a row, from the state that the pieces before it leave");
  definition.infer = InferScanPieces;
  definition.rule = ScanPiecesRule;
  definition.flops = FlopsPerElement<2>;
  definition.evaluate = EvaluateScanPieces;
  definition.resize = ResizePieces;
  definition.calls = ScanPiecesCalls;
  return definition;
}

OpDefinition DefineJoinPieces() {
  OpDefinition definition = PiecesOp({{.name = "x"}}, {}, "the rows of pieces one behind another");
  definition.op_class = OpClass::kMovement;
  definition.infer = InferJoinPieces;
  definition.rule = JoinPiecesRule;
  definition.flops = FlopsPerElement<0>;
  definition.evaluate = EvaluateJoinPieces;
  definition.resize = ResizeJoinPieces;
  definition.calls = JoinPiecesCalls;
  return definition;
}

}  // namespace cleave::ir
