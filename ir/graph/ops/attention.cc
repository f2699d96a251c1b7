// Attention without the matrix of scores: softmax(scale * q k^T) v for each head, its gradients, and the logarithm of
// the sum of the exponentials of each query's scores, from which the gradients know the weights. No model calls these:
// ir/transforms/join_attention puts them in the place of the ops of which attention is made.
//
//   s = scale * q k^T            logsumexp = log sum_c exp(s)      p = exp(s - logsumexp)      result = p v
//   d = p (dresult v^T - sum_e dresult result)
//   dq = scale * d k             dk = scale * d^T q                dv = p^T dresult
//
// With a `cap` scores are cap * tanh(s / cap) instead, and d is also times 1 - tanh(s / cap)^2. The sums are over the
// keys that a query sees: with `causal` those up to its own place, with a `window` of them so many, and with `ranges`
// those from `first` up to `end`, which are inputs. A query that sees none has a result of zeros.
//
// Where they are `biased`, an input [h, r + c] is added to the scores by distance, behind the cap: its element column -
// row + r. So the first one has no score. Its gradient is the sum of d over samples and over the scores of each
// distance.
//
// With a `rate` weights are dropped, after their sum is known, as `dropout` with this `key` drops the elements of
// [b.., h, r, c]: m is 0 or 1 / (1 - rate), the result is (m p) v, and
//
//   d = p (m dresult v^T - sum_e dresult result)      dv = (m p)^T dresult
//
// With `zigzag` the queries lie in that order (zigzag.h), with all that has a number for each of them; keys do not.
//
// With `ring` queries and keys are cut into the same pieces of the rows, and with `pieces` each piece of the queries
// sees one piece of the keys (ring.h). Then there are neither dropped weights nor a bias, nor zigzag order.
//
// Sizes: b samples, h heads, r queries, c keys, e elements of a head, v of a head of the values and the result. A
// tensor is [b.., h, r, e], or [b.., r, h, e] where the attribute `heads_inside` says so of it; keys and values have c
// for r. Where they have fewer heads than the queries, each is of a group of them: Ainslie and others, GQA (2023). The
// names of the factors are these letters; a group's queries are `g`.
//
// The gradients are sums over keys or queries of which each term needs `logsumexp` and the result alone, so they may be
// cut along both. The result is the quotient of two such sums, and its rows are whole.

#include "ir/graph/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/random_stream.h"
#include "ir/graph/ops/ring.h"
#include "ir/graph/ops/rules.h"
#include "ir/graph/ops/zigzag.h"

namespace cleave::ir {
namespace {

// The tensors of attention; the first four in the order of `heads_inside`. `kFirst` and `kEnd` are numbers of keys.
enum Part : size_t { kQuery = 0, kKey = 1, kValue = 2, kOutput = 3, kLogsumexp = 4, kBias = 5, kFirst = 6, kEnd = 7 };

bool IsOfKeys(Part part) { return part == kKey || part == kValue; }

bool HasHeadsInside(const Attributes& attributes, Part part) {
  return attributes.Get(attribute::kHeadsInside)[part] != 0;
}

// Which tensors the ops read, before those that attributes ask for: the bias, `first` and `end`.
constexpr Part kInputsOfForward[] = {kQuery, kKey, kValue, kLogsumexp};
constexpr Part kInputsOfLogsumexp[] = {kQuery, kKey};
constexpr Part kInputsOfGradient[] = {kQuery, kKey, kValue, kOutput, kLogsumexp, kOutput};
constexpr Part kInputsOfValueGradient[] = {kQuery, kKey, kLogsumexp, kOutput};

size_t OthersOf(const Attributes& attributes) {
  return (attributes.Get(attribute::kBiased) ? 1 : 0) + (attributes.Get(attribute::kRanges) ? 2 : 0);
}

// All but the statistics of the rows.
bool HasValues(absl::Span<const Part> parts) { return parts.size() > std::size(kInputsOfLogsumexp); }

// Which tensor input `i` of `count` is.
Part PartOf(absl::Span<const Part> parts, const Attributes& attributes, size_t i, size_t count) {
  const size_t others = OthersOf(attributes);
  if (i + others < count) return parts[i];
  if (attributes.Get(attribute::kBiased) && i + others == count) return kBias;
  return i + 2 == count ? kFirst : kEnd;
}

const Shape& ShapeOf(const TensorType& type) { return type.shape; }
const Shape& ShapeOf(const Tensor* tensor) { return tensor->shape; }

// All sizes, from whole tensors or from pieces.
struct Sizes {
  Shape leading;
  int64_t heads, key_heads, rows, columns, head;
  int64_t value = 0;  // Elements of a head of values; 0 where no tensor has them.

  // Of an op's inputs, which are `parts`: their types, or pointers to them.
  template <typename Inputs>
  Sizes(const Inputs& inputs, absl::Span<const Part> parts, const Attributes& attributes) {
    const Shape& q = ShapeOf(inputs[0]);
    const Shape& k = ShapeOf(inputs[1]);
    leading.assign(q.begin(), q.end() - 3);
    const AttentionDimensions of_q(q.size(), HasHeadsInside(attributes, kQuery));
    const AttentionDimensions of_k(k.size(), HasHeadsInside(attributes, kKey));
    heads = q[of_q.heads];
    key_heads = k[of_k.heads];
    rows = q[of_q.rows];
    columns = k[of_k.rows];
    head = q.back();
    for (size_t i = inputs.size(); i-- > 0;) {
      const Part part = PartOf(parts, attributes, i, inputs.size());
      if ((part == kValue || part == kOutput) && !ShapeOf(inputs[i]).empty()) value = ShapeOf(inputs[i]).back();
    }
  }

  Shape Of(Part part, const Attributes& attributes) const {
    Shape shape = leading;
    if (part == kFirst || part == kEnd) {
      shape.push_back(rows);
      return shape;
    }
    if (part == kBias) return {heads, Distances()};
    if (part == kLogsumexp) {
      shape.insert(shape.end(), {heads, rows});
      return shape;
    }
    const int64_t own_heads = IsOfKeys(part) ? key_heads : heads;
    const int64_t own_rows = IsOfKeys(part) ? columns : rows;
    const bool inside = HasHeadsInside(attributes, part);
    shape.insert(shape.end(), {inside ? own_rows : own_heads, inside ? own_heads : own_rows, ElementsOf(part)});
    return shape;
  }
  int64_t ElementsOf(Part part) const { return part == kValue || part == kOutput ? value : head; }
  int64_t Distances() const { return rows + columns; }
  double scores() const {
    return static_cast<double>(ElementCount(leading)) * static_cast<double>(heads) * static_cast<double>(rows) *
           static_cast<double>(columns);
  }
};

DType TypeOf(Part part, DType of_queries) {
  if (part == kFirst || part == kEnd) return DType::kI32;
  return part == kLogsumexp || part == kBias ? DType::kF32 : of_queries;
}

template <auto& kInputs>
bool ReadsInF32(const Attributes& attributes, size_t i, size_t count) {
  return TypeOf(PartOf(kInputs, attributes, i, count), DType::kBf16) == DType::kF32;
}

OpError WrongShape(Types inputs, int input, const std::string& expected) {
  return {.code = Code::kE0401,
          .message = absl::StrCat("attention of shapes that do not fit together: ",
                                  ShapeText(inputs[static_cast<size_t>(input)].shape), " instead of ", expected),
          .about = {{input, absl::StrCat("is ", ShapeText(inputs[static_cast<size_t>(input)].shape))}}};
}

std::optional<OpError> CheckRing(const Sizes& sizes, const Attributes& attributes) {
  const bool is_ring = attributes.IsSet(attribute::kRing);
  const int64_t pieces = RingPieces(attributes);
  if (!is_ring && pieces == 0) return std::nullopt;
  const auto refuse = [](std::string why) { return OpError{.code = Code::kE0409, .message = std::move(why)}; };
  if (sizes.rows != sizes.columns)
    return refuse(absl::StrCat("a ring of ", sizes.rows, " queries and ", sizes.columns, " keys"));
  if (attributes.Get(attribute::kRate) > 0 || attributes.Get(attribute::kBiased) || PairsOf(attributes) > 0)
    return refuse("a ring with dropped weights, a bias by distance or rows in zigzag order");
  const int64_t turn = attributes.Has(attribute::kTurn) ? attributes.Get(attribute::kTurn) : 0;
  const bool is_round = pieces > 0 && sizes.rows % pieces == 0 && turn >= 0 && turn < pieces;
  if (is_ring == is_round) return refuse(absl::StrCat(sizes.rows, " rows in ", pieces, " pieces, of round ", turn));
  return std::nullopt;
}

// Checks that the inputs are what `expected` says, of which some at the end may be missing, and the ranges behind them.
std::optional<OpError> CheckInputs(Types inputs, absl::Span<const Part> expected, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "q")) return error;
  for (const int input : {0, 1}) {
    if (auto error = CheckRank(inputs, input, 3)) return error;
  }
  const double rate = attributes.Get(attribute::kRate);
  if (!(rate >= 0 && rate < 1)) return OpError{.code = Code::kE0409, .message = "`rate` of attention is not in [0, 1)"};
  if (attributes.Get(attribute::kHeadsInside).size() != 4) {
    return OpError{.code = Code::kE0401, .message = "`heads_inside` of attention has a number for each of 4 tensors"};
  }
  if (PairsOf(attributes) != 0 && (rate > 0 || attributes.Get(attribute::kBiased))) {
    return OpError{.code = Code::kE0409,
                   .message = "queries in zigzag order with dropped weights or a bias by distance"};
  }
  if (inputs[1].rank() != inputs[0].rank()) return WrongShape(inputs, 1, "as many dimensions as the queries");
  const Sizes sizes(inputs, expected, attributes);
  if (sizes.key_heads == 0 || sizes.heads % sizes.key_heads != 0)
    return WrongShape(inputs, 1, absl::StrCat("a number of heads that divides ", sizes.heads));
  if (auto error = CheckZigzag(attributes, sizes.rows)) return error;
  if (auto error = CheckRing(sizes, attributes)) return error;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int number = static_cast<int>(i);
    const Part part = PartOf(expected, attributes, i, inputs.size());
    const Shape shape = sizes.Of(part, attributes);
    if (inputs[i].shape != shape) return WrongShape(inputs, number, ShapeText(shape));
    if (auto error = CheckDType(inputs, number, TypeOf(part, inputs[0].dtype), "x")) return error;
  }
  return std::nullopt;
}

template <Part kPart, auto& kInputs>
InferResult Infer(Types inputs, const Attributes& attributes) {
  if (auto error = CheckInputs(inputs, kInputs, attributes)) return *error;
  return TensorType{TypeOf(kPart, inputs[0].dtype), Sizes(inputs, kInputs, attributes).Of(kPart, attributes)};
}

// Which factors the value of an op is a sum over, and which are whole; the others are its own.
struct FactorKinds {
  FactorKind samples = FactorKind::kParallel;
  FactorKind groups = FactorKind::kParallel;
  FactorKind rows = FactorKind::kParallel;
  FactorKind columns = FactorKind::kParallel;
};
constexpr FactorKinds kForward = {.columns = FactorKind::kWhole};

FactorKinds KindsOfGradient(Part part) {
  constexpr FactorKind kSum = FactorKind::kReduced, kOwn = FactorKind::kParallel;
  if (part == kBias) return {.samples = kSum, .groups = kOwn, .rows = kSum, .columns = kSum};
  if (part == kQuery) return {.columns = kSum};
  return {.groups = kSum, .rows = kSum};
}

// The factors of all rules here, in this order: b.., h, g, r, c, e, v, t. Without groups `g` is missing, without a bias
// the distances `t` are, and without values `v`; in zigzag order there are three for the rows `r`. With `ring` the keys
// are `r`, too, and of pieces, in a round of it, both have the factor `p` in front, which says that they are as many.
struct Factors {
  std::vector<FactorList> leading;
  int h, e;
  int v = -1;
  int t = -1;
  FactorList heads;
  FactorList rows;
  FactorList columns;

  Factors(Rule& rule, const Sizes& sizes, bool has_values, const FactorKinds& kinds, const Attributes& attributes) {
    for (size_t d = 0; d < sizes.leading.size(); ++d) {
      leading.push_back({AddFactor(rule, absl::StrCat("b", d), sizes.leading[d], kinds.samples)});
    }
    h = AddFactor(rule, "h", sizes.key_heads);
    heads = {h};
    if (sizes.heads != sizes.key_heads)
      heads.push_back(AddFactor(rule, "g", sizes.heads / sizes.key_heads, kinds.groups));
    if (attributes.IsSet(attribute::kRing)) {
      rows = columns = {AddFactor(rule, "r", sizes.rows, FactorKind::kInner)};
      rule.factors.back().equal_pieces = true;
    } else if (const int64_t pieces = RingPieces(attributes); pieces > 0) {
      const int p = AddFactor(rule, "p", pieces);
      rule.factors.back().fixed_size = true;
      rows = columns = {p, AddFactor(rule, "r", sizes.rows / pieces, FactorKind::kWhole)};
    } else {
      rows = AddRows(rule, "r", sizes.rows, attributes, kinds.rows);
      columns = {AddFactor(rule, "c", sizes.columns, kinds.columns)};
    }
    e = AddFactor(rule, "e", sizes.head, FactorKind::kWhole);
    if (has_values) v = AddFactor(rule, "v", sizes.value, FactorKind::kWhole);
    if (!attributes.Get(attribute::kBiased)) return;
    t = AddFactor(rule, "t", sizes.Distances(), FactorKind::kWhole);
    rule.selections = {{.part = rows[0], .whole = t}, {.part = columns[0], .whole = t, .begin = sizes.rows}};
  }

  std::vector<FactorList> Of(Part part, const Attributes& attributes) const {
    std::vector<FactorList> dimensions = leading;
    if (part == kFirst || part == kEnd) {
      dimensions.push_back(rows);
      return dimensions;
    }
    if (part == kBias) return {heads, {t}};
    if (part == kLogsumexp) {
      dimensions.insert(dimensions.end(), {heads, rows});
      return dimensions;
    }
    const FactorList own_heads = IsOfKeys(part) ? FactorList{h} : heads;
    const FactorList& own_rows = IsOfKeys(part) ? columns : rows;
    const bool inside = HasHeadsInside(attributes, part);
    dimensions.insert(
        dimensions.end(),
        {inside ? own_rows : own_heads, inside ? own_heads : own_rows, {part == kValue || part == kOutput ? v : e}});
    return dimensions;
  }
};

Rule RuleFor(Types inputs, absl::Span<const Part> parts, Part output, const FactorKinds& kinds,
             const Attributes& attributes) {
  Rule rule;
  const Factors factors(rule, Sizes(inputs, parts, attributes), HasValues(parts), kinds, attributes);
  for (size_t i = 0; i < inputs.size(); ++i)
    rule.inputs.push_back(factors.Of(PartOf(parts, attributes, i, inputs.size()), attributes));
  rule.output = factors.Of(output, attributes);
  return rule;
}

Rule ForwardRule(Types inputs, const TensorType&, const Attributes& attributes) {
  Rule rule = RuleFor(inputs, kInputsOfForward, kOutput, kForward, attributes);
  rule.linear = {{2}};
  return rule;
}

Rule LogsumexpRule(Types inputs, const TensorType&, const Attributes& attributes) {
  return RuleFor(inputs, kInputsOfLogsumexp, kLogsumexp, kForward, attributes);
}

template <Part kPart, auto& kInputs>
Rule GradientRule(Types inputs, const TensorType&, const Attributes& attributes) {
  Rule rule = RuleFor(inputs, kInputs, kPart, KindsOfGradient(kPart), attributes);
  rule.linear = {{static_cast<int>(inputs.size() - 1 - OthersOf(attributes))}};
  return rule;
}

// The largest share of its scores that a piece of them has to compute behind a causal mask: a half of all scores, and
// of pairs of chunks in zigzag order. Of some rows in their own order the last ones see most, of some keys the first
// ones are seen most: all but half of the square at the end of those rows, or at the beginning of those keys.
double LargestCausalShare(const Sizes& sizes, const Attributes& attributes) {
  // Some rank sees all of a piece that is not its own.
  if (RingPieces(attributes) > 0 && attributes.Get(attribute::kTurn) > 0) return 1;
  if (sizes.rows == 0 || sizes.columns == 0 || PairsOf(attributes) > 0) return 0.5;
  const auto [less, more] = std::minmax({static_cast<double>(sizes.rows), static_cast<double>(sizes.columns)});
  return 1.0 - 0.5 * less / more;
}

// How many products it has over the elements of keys, and over those of values. With a window all scores but those in
// it are hidden. Which keys ranges hide is not known.
template <int kOverKeys, int kOverValues, auto& kInputs>
Flops FlopsOf(Types inputs, const TensorType&, const Attributes& attributes) {
  const Sizes sizes(inputs, kInputs, attributes);
  double share = 1.0;
  if (attributes.Get(attribute::kCausal)) {
    share = LargestCausalShare(sizes, attributes);
    const int64_t window = attributes.Get(attribute::kWindow);
    // A query sees no more keys than these, and a key is seen by no more queries.
    const int64_t most = std::max(sizes.rows, sizes.columns);
    if (window > 0 && most > 0) share = std::min(share, static_cast<double>(window) / static_cast<double>(most));
  }
  return Flops(2.0 * share * sizes.scores() * static_cast<double>(kOverKeys * sizes.head + kOverValues * sizes.value));
}

bool HasLogsumexp(size_t inputs_of_forward, const Attributes& attributes) {
  return inputs_of_forward == 4 + OthersOf(attributes);
}

// With logsumexp the scores are already known.
Flops ForwardFlops(Types inputs, const TensorType& output, const Attributes& attributes) {
  return HasLogsumexp(inputs.size(), attributes) ? FlopsOf<0, 1, kInputsOfForward>(inputs, output, attributes)
                                                 : FlopsOf<1, 1, kInputsOfForward>(inputs, output, attributes);
}

// Keys are numbered.
template <auto& kInputs>
int64_t Choices(Types inputs, const Attributes& attributes, int input) {
  const Part part = PartOf(kInputs, attributes, static_cast<size_t>(input), inputs.size());
  const int64_t columns = Sizes(inputs, kInputs, attributes).columns;
  return part == kFirst ? std::max<int64_t>(1, columns) : part == kEnd ? columns + 1 : 0;
}

// A tensor of the reference: element (sample, head, row, e) by its strides.
class Strided {
 public:
  Strided(Shape shape, bool heads_inside) : order_(shape.size(), heads_inside), shape_(std::move(shape)) {}

  size_t At(int64_t sample, int64_t head, int64_t row) const {
    const size_t rank = shape_.size();
    const int64_t index[] = {order_.heads < order_.rows ? head : row, order_.heads < order_.rows ? row : head};
    return static_cast<size_t>(((sample * shape_[rank - 3] + index[0]) * shape_[rank - 2] + index[1]) *
                               shape_[rank - 1]);
  }

 private:
  AttentionDimensions order_;
  Shape shape_;
};

// Walks over the queries of a rank's piece with their scores.
class Reference {
 public:
  // `parts`: what the inputs are.
  Reference(const Evaluation& evaluation, absl::Span<const Part> parts)
      : evaluation_(evaluation),
        attributes_(evaluation.attributes),
        sizes_(evaluation.inputs, parts, attributes_),
        q_(Of(kQuery)),
        k_(Of(kKey)),
        scores_(evaluation.ranges.first(evaluation.ranges.size() - 1 - (HasValues(parts) ? 1 : 0) -
                                        (attributes_.Get(attribute::kBiased) ? 1 : 0))),
        order_{PairsOf(attributes_), GlobalRows()},
        first_row_(RowsOf(FactorsOfRows(), scores_).begin),
        first_column_(scores_[scores_.size() - 1].begin),
        pieces_(RingPieces(attributes_)),
        keeping_(evaluation, scores_) {}

  Strided Of(Part part) const { return Strided(sizes_.Of(part, attributes_), HasHeadsInside(attributes_, part)); }
  const Sizes& sizes() const { return sizes_; }
  const Strided& q() const { return q_; }
  const Strided& k() const { return k_; }
  double scale() const { return attributes_.Get(attribute::kFactor); }
  const double* input(size_t i) const { return evaluation_.inputs[i]->values.data(); }
  double* output() const { return evaluation_.output.values.data(); }

  struct Query {
    int64_t sample, head, key_head, row;
    size_t number;               // Among all.
    std::vector<double> scores;  // Of each key; minus infinity where the query does not see it.
  };
  // The gradient of a score by scale * q k.
  double SlopeAt(const Query& query, int64_t column) const {
    const double cap = attributes_.Get(attribute::kCap);
    const double score = query.scores[static_cast<size_t>(column)] - BiasAt(query, column);
    return cap == 0 || std::isinf(score) ? 1 : 1 - score / cap * (score / cap);
  }

  // By what the weight of a key is multiplied: 0 where it is dropped, else 1 / (1 - rate).
  double KeptAt(const Query& query, int64_t column) const {
    const double rate = attributes_.Get(attribute::kRate);
    if (rate == 0 || evaluation_.step == 0) return 1;
    const int64_t score = static_cast<int64_t>(query.number) * sizes_.columns + column;
    return keeping_.Keeps(score) ? 1 / (1 - rate) : 0;
  }

  // The place in the bias of a score.
  size_t DistanceAt(const Query& query, int64_t column) const {
    const int64_t rows = scores_[scores_.size() - 2].global;
    const int64_t distances = rows + scores_[scores_.size() - 1].global;
    return static_cast<size_t>(query.head * distances + first_column_ + column - first_row_ - query.row + rows);
  }

  // Calls f with each query.
  template <typename Function>
  void ForEachQuery(const Function& f) const {
    const int64_t group = sizes_.heads / std::max<int64_t>(1, sizes_.key_heads);
    Query query{.scores = std::vector<double>(static_cast<size_t>(sizes_.columns))};
    query.number = 0;
    for (query.sample = 0; query.sample < ElementCount(sizes_.leading); ++query.sample) {
      for (query.head = 0; query.head < sizes_.heads; ++query.head) {
        query.key_head = query.head / group;
        for (query.row = 0; query.row < sizes_.rows; ++query.row, ++query.number) {
          for (int64_t c = 0; c < sizes_.columns; ++c) query.scores[static_cast<size_t>(c)] = Score(query, c);
          f(query);
        }
      }
    }
  }

 private:
  FactorList FactorsOfRows() const {
    FactorList factors;
    const int last = static_cast<int>(scores_.size()) - 1;
    if (RingPieces(attributes_) > 0) return {last - 1, last};
    if (attributes_.IsSet(attribute::kRing)) return {last};
    const int count = PairsOf(attributes_) > 0 ? 3 : 1;
    for (int i = count; i > 0; --i) factors.push_back(static_cast<int>(scores_.size()) - 1 - i);
    return factors;
  }
  int64_t GlobalRows() const {
    int64_t rows = 1;
    for (const int factor : FactorsOfRows()) rows *= scores_[static_cast<size_t>(factor)].global;
    return rows;
  }

  // The number of a key in the whole sequence. In a round of the ring a query has only those of one piece.
  std::optional<int64_t> NumberOf(const Query& query, int64_t column) const {
    if (pieces_ == 0) return first_column_ + column;
    const FactorRange& pieces = scores_[scores_.size() - 2];
    const int64_t own = sizes_.rows / pieces.size, piece = query.row / own;
    if (column / own != piece) return std::nullopt;
    const int64_t turned = pieces.begin + piece + attributes_.Get(attribute::kTurn);
    return turned % pieces_ * own + column % own;
  }

  bool Sees(const Query& query, int64_t column) const {
    const int64_t row = order_.PlaceOf(first_row_ + query.row);
    const std::optional<int64_t> key = NumberOf(query, column);
    if (!key.has_value()) return false;
    if (attributes_.Get(attribute::kCausal) && !IsSeenBehind(row, *key, attributes_.Get(attribute::kWindow)))
      return false;
    if (!attributes_.Get(attribute::kRanges)) return true;
    const size_t end = evaluation_.inputs.size() - 1;
    const auto of_sample = static_cast<size_t>(query.sample * sizes_.rows + query.row);
    const double number = static_cast<double>(*key);
    return input(end - 1)[of_sample] <= number && number < input(end)[of_sample];
  }

  double Score(const Query& query, int64_t column) const {
    if (!Sees(query, column)) return -std::numeric_limits<double>::infinity();
    const double* q = input(0) + q_.At(query.sample, query.head, query.row);
    const double* k = input(1) + k_.At(query.sample, query.key_head, column);
    double sum = 0;
    for (int64_t e = 0; e < sizes_.head; ++e) sum += q[e] * k[e];
    const double cap = attributes_.Get(attribute::kCap);
    const double score = cap == 0 ? scale() * sum : cap * std::tanh(scale() * sum / cap);
    return score + BiasAt(query, column);
  }

  double BiasAt(const Query& query, int64_t column) const {
    if (!attributes_.Get(attribute::kBiased)) return 0;
    return input(evaluation_.inputs.size() - OthersOf(attributes_))[DistanceAt(query, column)];
  }

  const Evaluation& evaluation_;
  const Attributes& attributes_;
  const Sizes sizes_;
  const Strided q_, k_;
  const absl::Span<const FactorRange> scores_;  // Of the factors of scores: b.., h, g, r, c.
  const ZigzagOrder order_;                     // Of the queries.
  const int64_t first_row_, first_column_;
  const int64_t pieces_;  // Of a round of the ring.
  const Keeping keeping_;
};

// A NaN among the scores goes through.
double LogsumexpOf(const std::vector<double>& scores) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  double largest = kNothing;
  for (const double score : scores) largest = std::isnan(largest) || score <= largest ? largest : score;
  if (largest == kNothing) return kNothing;
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
}

// A key that is not seen has none, also where no key is.
double WeightOf(double score, double logsumexp) { return std::isinf(score) ? 0 : std::exp(score - logsumexp); }

void EvaluateLogsumexp(const Evaluation& evaluation) {
  const Reference reference(evaluation, kInputsOfLogsumexp);
  reference.ForEachQuery(
      [&](const Reference::Query& query) { reference.output()[query.number] = LogsumexpOf(query.scores); });
}

void EvaluateForward(const Evaluation& evaluation) {
  const Reference reference(evaluation, kInputsOfForward);
  const Strided v = reference.Of(kValue), out = reference.Of(kOutput);
  const bool is_given = HasLogsumexp(evaluation.inputs.size(), evaluation.attributes);
  reference.ForEachQuery([&](const Reference::Query& query) {
    const double logsumexp = is_given ? reference.input(3)[query.number] : LogsumexpOf(query.scores);
    double* y = reference.output() + out.At(query.sample, query.head, query.row);
    for (size_t c = 0; c < query.scores.size(); ++c) {
      const double* value = reference.input(2) + v.At(query.sample, query.key_head, static_cast<int64_t>(c));
      const double weight = WeightOf(query.scores[c], logsumexp) * reference.KeptAt(query, static_cast<int64_t>(c));
      for (int64_t e = 0; e < reference.sizes().value; ++e) y[e] += weight * value[e];
    }
  });
}

void EvaluateValueGradient(const Evaluation& evaluation) {
  const Reference reference(evaluation, kInputsOfValueGradient);
  const Strided v = reference.Of(kValue), out = reference.Of(kOutput);
  reference.ForEachQuery([&](const Reference::Query& query) {
    const double* dy = reference.input(3) + out.At(query.sample, query.head, query.row);
    for (size_t c = 0; c < query.scores.size(); ++c) {
      double* dv = reference.output() + v.At(query.sample, query.key_head, static_cast<int64_t>(c));
      const double weight = WeightOf(query.scores[c], reference.input(2)[query.number]) *
                            reference.KeptAt(query, static_cast<int64_t>(c));
      for (int64_t e = 0; e < reference.sizes().value; ++e) dv[e] += weight * dy[e];
    }
  });
}

// By the queries, by the keys, or by the bias.
template <Part kPart>
void EvaluateGradient(const Evaluation& evaluation) {
  const Reference reference(evaluation, kInputsOfGradient);
  const Strided v = reference.Of(kValue), out = reference.Of(kOutput);
  const int64_t head = reference.sizes().head, elements = reference.sizes().value;
  reference.ForEachQuery([&](const Reference::Query& query) {
    const double* y = reference.input(3) + out.At(query.sample, query.head, query.row);
    const double* dy = reference.input(5) + out.At(query.sample, query.head, query.row);
    double along = 0;
    for (int64_t e = 0; e < elements; ++e) along += dy[e] * y[e];
    const size_t of_query = reference.q().At(query.sample, query.head, query.row);
    for (size_t c = 0; c < query.scores.size(); ++c) {
      const int64_t column = static_cast<int64_t>(c);
      const double* value = reference.input(2) + v.At(query.sample, query.key_head, column);
      double by_weight = 0;
      for (int64_t e = 0; e < elements; ++e) by_weight += dy[e] * value[e];
      by_weight *= reference.KeptAt(query, column);
      const double weight = WeightOf(query.scores[c], reference.input(4)[query.number]);
      const double by_biased = weight * (by_weight - along);
      if (kPart == kBias) {
        reference.output()[reference.DistanceAt(query, column)] += by_biased;
        continue;
      }
      const double by_score = reference.scale() * by_biased * reference.SlopeAt(query, column);
      const size_t of_key = reference.k().At(query.sample, query.key_head, column);
      double* to = reference.output() + (kPart == kQuery ? of_query : of_key);
      const double* from = kPart == kQuery ? reference.input(1) + of_key : reference.input(0) + of_query;
      for (int64_t e = 0; e < head; ++e) to[e] += by_score * from[e];
    }
  });
}

// Those by query and key take into account that logsumexp follows from them.
Gradients ForwardGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId q = op.inputs[0], k = op.inputs[1], v = op.inputs[2];
  const size_t own = op.inputs.size() - OthersOf(op.attributes);
  const auto add_named = [&](OpKind kind, std::vector<OpId> inputs, const std::string& name) {
    inputs.insert(inputs.end(), op.inputs.begin() + static_cast<std::ptrdiff_t>(own), op.inputs.end());
    return builder.Add(kind, std::move(inputs), op.attributes, name);
  };
  const auto add = [&](OpKind kind, std::vector<OpId> inputs, const char* input) {
    return add_named(kind, std::move(inputs), GradientName(op, input));
  };
  const OpId logsumexp = HasLogsumexp(op.inputs.size(), op.attributes)
                             ? op.inputs[3]
                             : add_named(OpKind::kAttentionLogsumexp, {q, k}, absl::StrCat(op.name, ".logsumexp"));
  const OpId dv = add(OpKind::kAttentionGradientValue, {q, k, logsumexp, dy}, "v");
  const OpId dq = add(OpKind::kAttentionGradientQuery, {q, k, v, op.id, logsumexp, dy}, "q");
  const OpId dk = add(OpKind::kAttentionGradientKey, {q, k, v, op.id, logsumexp, dy}, "k");
  Gradients gradients = {dq, dk, dv};
  gradients.resize(op.inputs.size());
  if (op.attributes.Get(attribute::kBiased))
    gradients[own] = add(OpKind::kAttentionGradientBias, {q, k, v, op.id, logsumexp, dy}, "bias");
  return gradients;
}

// Of heads, rows and the elements of a row.
constexpr int kOwnStrides = 3;

// `inputs`: their names, before those of ranges. What rows have one number of lies one behind another, all other
// tensors as they like.
OpDefinition AttentionOp(std::initializer_list<absl::string_view> inputs, std::string summary) {
  OpDefinition definition = {.op_class = OpClass::kProduct,
                             .callable = false,
                             .treatment = Treatment::kRounded,
                             .result_strides = kOwnStrides,
                             .summary = std::move(summary)};
  for (const absl::string_view input : inputs) {
    definition.signature.push_back({.name = std::string(input), .strides = input == "logsumexp" ? 0 : kOwnStrides});
  }
  for (const char* const input : {"bias", "first", "end"})
    definition.signature.push_back({.name = input, .kind = ArgumentKind::kOptionalTensor});
  definition.signature.push_back(OptionalAttribute(attribute::kFactor, 1.0));
  definition.signature.push_back(OptionalAttribute(attribute::kCausal, false));
  definition.signature.push_back(OptionalAttribute(attribute::kWindow, 0));
  definition.signature.push_back(OptionalAttribute(attribute::kCap, 0.0));
  definition.signature.push_back(OptionalAttribute(attribute::kRanges, false));
  definition.signature.push_back(OptionalAttribute(attribute::kBiased, false));
  definition.signature.push_back(OptionalAttribute(attribute::kRate, 0.0));
  definition.signature.push_back(OptionalAttribute(attribute::kKey, ""));
  definition.signature.push_back(OptionalAttribute(attribute::kHeadsInside, {0, 0, 0, 0}));
  definition.signature.push_back(ZigzagArgument());
  definition.signature.push_back(RingArgument());
  definition.signature.push_back(PiecesArgument());
  definition.signature.push_back(TurnArgument());
  return definition;
}

// By the queries, the keys or the bias; for the products see FlopsOf.
template <Part kPart, int kOverKeys, int kOverValues>
OpDefinition GradientThroughScores(const char* input) {
  OpDefinition definition = AttentionOp({"q", "k", "v", "y", "logsumexp", "dy"},
                                        absl::StrCat("gradient of attention by ", input, ", with its result y"));
  definition.reads_in_f32 = ReadsInF32<kInputsOfGradient>;
  definition.infer = Infer<kPart, kInputsOfGradient>;
  definition.rule = GradientRule<kPart, kInputsOfGradient>;
  definition.flops = FlopsOf<kOverKeys, kOverValues, kInputsOfGradient>;
  if (kPart != kBias) definition.distribute = kPart == kQuery ? DistributeQueryGradient : DistributeKeyGradient;
  definition.evaluate = EvaluateGradient<kPart>;
  definition.choices = Choices<kInputsOfGradient>;
  return definition;
}

}  // namespace

OpDefinition DefineAttention() {
  OpDefinition definition = AttentionOp({"q", "k", "v", "logsumexp"},
                                        "softmax(factor * q k^T) v for each head; `logsumexp` is that of q and k, "
                                        "where a gradient needs it");
  definition.signature[3].kind = ArgumentKind::kOptionalTensor;
  definition.reads_in_f32 = ReadsInF32<kInputsOfForward>;
  definition.infer = Infer<kOutput, kInputsOfForward>;
  definition.rule = ForwardRule;
  definition.gradient = ForwardGradients;
  definition.flops = ForwardFlops;
  definition.distribute = DistributeAttention;
  definition.evaluate = EvaluateForward;
  definition.choices = Choices<kInputsOfForward>;
  return definition;
}

OpDefinition DefineAttentionLogsumexp() {
  OpDefinition definition =
      AttentionOp({"q", "k"}, "log of the sum over keys of exp(factor * q k^T), [.., heads, rows]");
  definition.treatment = Treatment::kGradient;
  definition.result_strides = 0;
  definition.signature.push_back(ResultArgument());
  definition.reads_in_f32 = ReadsInF32<kInputsOfLogsumexp>;
  definition.infer = Infer<kLogsumexp, kInputsOfLogsumexp>;
  definition.rule = LogsumexpRule;
  definition.flops = FlopsOf<1, 0, kInputsOfLogsumexp>;
  definition.distribute = DistributeLogsumexp;
  definition.evaluate = EvaluateLogsumexp;
  definition.choices = Choices<kInputsOfLogsumexp>;
  return definition;
}

// The weights are made again by one of three, as they are where all three run as one piece (ir/program/fuse).
OpDefinition DefineAttentionGradientValue() {
  OpDefinition definition = AttentionOp({"q", "k", "logsumexp", "dy"}, "gradient of attention by v");
  definition.reads_in_f32 = ReadsInF32<kInputsOfValueGradient>;
  definition.infer = Infer<kValue, kInputsOfValueGradient>;
  definition.rule = GradientRule<kValue, kInputsOfValueGradient>;
  definition.flops = FlopsOf<1, 1, kInputsOfValueGradient>;
  definition.distribute = DistributeValueGradient;
  definition.evaluate = EvaluateValueGradient;
  definition.choices = Choices<kInputsOfValueGradient>;
  return definition;
}

OpDefinition DefineAttentionGradientQuery() { return GradientThroughScores<kQuery, 1, 1>("q"); }

OpDefinition DefineAttentionGradientKey() { return GradientThroughScores<kKey, 1, 0>("k"); }

OpDefinition DefineAttentionGradientBias() {
  OpDefinition definition = GradientThroughScores<kBias, 0, 0>("bias");
  definition.treatment = Treatment::kGradient;
  definition.signature.push_back(ResultArgument());
  definition.result_strides = 0;
  return definition;
}

}  // namespace cleave::ir
