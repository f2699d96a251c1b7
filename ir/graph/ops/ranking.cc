#include "ir/graph/ops/ranking.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::ir {
namespace {

// Into how many pieces rows may be cut of which the first ranked elements are `ranked`. The candidates of all pieces
// are a tensor whose rows have indices.
int64_t MaxPieces(const Shape& ranked) {
  return std::min(kNoIndex / ranked.back(), kMaxElements / CountUpToLimit(ranked));
}

}  // namespace

std::optional<OpError> CheckIndexed(Types inputs, int axis) {
  const int64_t elements = inputs[0].shape[static_cast<size_t>(axis)];
  if (elements <= kNoIndex) return std::nullopt;
  return OpError{.code = Code::kE0410,
                 .message = absl::StrCat("an index among ", elements, " elements, more than ", kNoIndex),
                 .about = {{0, absl::StrCat("has ", elements, " in dimension ", axis)}},
                 .notes = {"an index is an i32"}};
}

std::optional<OpError> CheckAxis(Types inputs, const Attributes& attributes) {
  const auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (const OpError* error = std::get_if<OpError>(&axes)) return *error;
  return CheckIndexed(inputs, AxisOf(inputs[0], attributes));
}

int AxisOf(const TensorType& x, const Attributes& attributes) {
  const int axis = static_cast<int>(attributes.Get(attribute::kAxis));
  return axis < 0 ? axis + x.rank() : axis;
}

AxisView ViewAround(const Shape& shape, int axis) {
  AxisView view;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    (d < axis ? view.outer : d == axis ? view.length : view.inner) *= shape[static_cast<size_t>(d)];
  }
  return view;
}

std::vector<int64_t> FirstRanked(const double* row, int64_t length, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(length));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto end = order.begin() + std::min(length, count);
  std::partial_sort(order.begin(), end, order.end(), [row](int64_t a, int64_t b) {
    return RanksBefore(row[a], row[b]) || (!RanksBefore(row[b], row[a]) && a < b);
  });
  order.erase(end, order.end());
  return order;
}

InferResult InferTopK(Types inputs, const Attributes& attributes, DType dtype) {
  const InferResult rows = InferRows(inputs, attributes);
  if (std::holds_alternative<OpError>(rows)) return rows;
  if (auto error = CheckIndexed(inputs, inputs[0].rank() - 1)) return *error;
  const int64_t k = attributes.Get(attribute::kK);
  const int64_t length = inputs[0].shape.back();
  TensorType output{dtype, inputs[0].shape};
  output.shape.back() = k;
  if (k >= 1 && k <= length) return output;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`k` is ", k),
                 .about = {{0, absl::StrCat("has ", Plural(length, "element"), " in its last dimension")}},
                 .notes = {absl::StrCat("it is 1 to ", length)}};
}

Rule TopKRule(Types inputs, const TensorType& output, const Attributes&) {
  Rule rule;
  rule.output = AddDimensions(rule, Shape(output.shape.begin(), output.shape.end() - 1));
  rule.inputs = {rule.output};
  const int elements = AddFactor(rule, "n", inputs[0].shape.back(), FactorKind::kInner);
  const int rank = AddFactor(rule, "k", output.shape.back(), FactorKind::kWhole);
  rule.factors[static_cast<size_t>(elements)].max_pieces = MaxPieces(output.shape);
  rule.inputs[0].push_back({elements});
  rule.output.push_back({rank});
  rule.selections = {{.part = rank, .whole = elements}};
  return rule;
}

Attributes ResizeTopK(const Attributes& attributes, const Rule& resized) {
  Attributes result = attributes;
  result.Set(attribute::kK, resized.OutputShape().back());
  return result;
}

std::vector<Argument> TopKSignature() { return {{.name = "x"}, RequiredAttribute(attribute::kK)}; }

InferResult InferCandidates(Types inputs, const Attributes& attributes, DType dtype) {
  const InferResult rows = InferRows(inputs, attributes);
  if (std::holds_alternative<OpError>(rows)) return rows;
  if (auto error = CheckIndexed(inputs, inputs[0].rank() - 1)) return *error;
  const Shape sizes = {attributes.Get(attribute::kK), attributes.Get(attribute::kPieces)};
  if (auto error = CheckSizes(sizes, "(k, pieces)")) return *error;
  if (attributes.Get(attribute::kElements) != inputs[0].shape.back()) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`elements` is ", attributes.Get(attribute::kElements)),
                   .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))}}};
  }
  TensorType output{dtype, inputs[0].shape};
  output.shape.back() = CountUpToLimit(sizes);
  return output;
}

Rule CandidatesRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const int64_t elements = inputs[0].shape.back();
  const int64_t pieces = attributes.Get(attribute::kPieces);
  Rule rule;
  rule.output = AddDimensions(rule, Shape(output.shape.begin(), output.shape.end() - 1));
  rule.inputs = {rule.output};
  const int piece = AddFactor(rule, "p", pieces);
  const int rank = AddFactor(rule, "k", attributes.Get(attribute::kK), FactorKind::kWhole);
  rule.factors[static_cast<size_t>(piece)].fixed_size = true;
  rule.inputs[0].push_back({piece});
  rule.output.push_back({piece, rank});
  rule.windows = {PiecesWindow(0, inputs[0].rank() - 1, elements, pieces)};
  rule.windows[0].taps = rank;
  return rule;
}

Attributes ResizeCandidates(const Attributes& attributes, const Rule& resized) {
  Attributes result = attributes;
  result.Set(attribute::kK, resized.factors[static_cast<size_t>(resized.output.back().back())].size);
  result.Set(attribute::kElements, resized.windows[0].window.elements);
  return result;
}

std::vector<Argument> CandidatesSignature() {
  std::vector<Argument> signature = TopKSignature();
  signature.push_back(RequiredAttribute(attribute::kPieces));
  signature.push_back(RequiredAttribute(attribute::kElements));
  return signature;
}

OpId AddCandidates(GraphBuilder& builder, OpKind kind, const Op& op, int64_t pieces, const std::string& name) {
  const int64_t elements = builder.type(op.inputs[0]).shape.back();
  return builder.Add(kind, {op.inputs[0]},
                     {{attribute::kK, op.attributes.Get(attribute::kK)},
                      {attribute::kPieces, pieces},
                      {attribute::kElements, elements}},
                     name);
}

std::vector<Candidate> CandidatesOf(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const FactorRange& range = evaluation.ranges[x.shape.size() - 1];
  const int64_t k = evaluation.attributes.Get(attribute::kK);
  const int64_t elements = evaluation.attributes.Get(attribute::kElements);
  std::vector<Candidate> candidates(evaluation.output.values.size());
  for (size_t slot = 0; slot < candidates.size(); ++slot) candidates[slot].slot = slot;
  if (candidates.empty()) return candidates;
  const int64_t first = PieceOf(elements, range.global, range.begin).begin;
  const int64_t length = x.shape.back();
  const int64_t rows = static_cast<int64_t>(candidates.size()) / (range.size * k);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t p = 0; p < range.size; ++p) {
      const Piece piece = PieceOf(elements, range.global, range.begin + p);
      const int64_t begin = r * length + piece.begin - first;
      const std::vector<int64_t> ranked = FirstRanked(x.values.data() + begin, piece.size, k);
      for (size_t i = 0; i < ranked.size(); ++i) {
        Candidate& candidate = candidates[static_cast<size_t>((r * range.size + p) * k) + i];
        candidate.position = begin + ranked[i];
        candidate.index = piece.begin + ranked[i];
      }
    }
  }
  return candidates;
}

// The pieces of a rank are those of the factor whose window of x is read.
std::vector<KernelCall> CandidatesCall(const CallSite& site, std::string function) {
  const int factor = CandidatesRule(site.inputs, site.output, site.attributes).inputs[0].back().front();
  const int64_t pieces = site.attributes.Get(attribute::kPieces);
  const BracedList row = {{{site.attributes.Get(attribute::kElements)},
                           {pieces},
                           {FirstPiece{factor, pieces}},
                           {PieceCount{factor, pieces}}}};
  return {{std::move(function), {Pointer{0}, site.Rows(0), row, site.attributes.Get(attribute::kK), Pointer{kResult}}}};
}

}  // namespace cleave::ir
