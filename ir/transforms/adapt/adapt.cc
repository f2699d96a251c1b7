// Reading guide: FindUses says where a weight is a factor, and which of its dimensions is summed over there. Build
// writes the graph again: behind a weight its adapter's parameters, behind a product the change of it.
//
// The change of a weight W [d0, d1] is P Q, with P [d0, rank] and Q [rank, d1]. A product that sums over d1 reads Q and
// then P, one that sums over d0 P and then Q; the first product of a weight says which of them is A.
#include "ir/transforms/adapt/adapt.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/roles.h"
#include "ir/tensor/formula/formula.h"

namespace cleave::ir {
namespace {

// A product of which a weight is a factor.
struct Use {
  OpId product;
  size_t input = 0;            // Which of its two inputs the weight is.
  size_t contracted = 0;       // The dimension of the weight, as the parameter lies, that is summed over.
  size_t output = 0;           // The dimension of the result that the other one is.
  bool is_transposed = false;  // Whether the product reads what a `transpose` makes of the weight.
};

struct Weight {
  OpId weight;
  std::vector<Use> uses;  // In program order.
  OpId p, q;
  std::optional<OpId> growth = {};  // g
};

class Adapter {
 public:
  Adapter(const Graph& graph, const AdapterForm& form) : graph_(graph), form_(form), readers_(Users(graph)) {}

  std::variant<Adapted, std::vector<AdaptProblem>> Run(const std::vector<OpId>& weights) && {
    for (const OpId id : weights) {
      Weight weight{.weight = id};
      const std::optional<std::string> problem = Understand(weight);
      if (problem.has_value()) problems_.push_back({id, *problem});
      for (const Use& use : weight.uses) {
        const bool is_new = product_of_.emplace(use.product, std::pair(id, use)).second;
        if (!is_new && !problem.has_value()) problems_.push_back({id, NotBoth(graph_.op(use.product))});
      }
      weights_.emplace(id, std::move(weight));
    }
    if (!problems_.empty()) return std::move(problems_);
    Build();
    return std::move(result_);
  }

 private:
  static std::string Described(const Op& op) {
    return absl::StrCat("`", op.name, "`", op.line > 0 ? absl::StrCat(", line ", op.line) : "");
  }

  static std::string NotBoth(const Op& op) {
    return absl::StrCat("is a factor of another such one in ", Described(op));
  }

  // Why the weight can have no adapter.
  std::optional<std::string> Understand(Weight& weight) const {
    const Op& op = graph_.op(weight.weight);
    const Shape& shape = op.type.shape;
    if (shape.size() != 2) return absl::StrCat("is ", ShapeText(shape), ", and a matrix has two dimensions");
    if (form_.rank >= std::min(shape[0], shape[1])) {
      return absl::StrCat("is ", ShapeText(shape), ", and a rank of ", form_.rank, " is not less than both");
    }
    for (const char* const name : {kAdapterA, kAdapterB, kAdapterMagnitude}) {
      const std::string wish = absl::StrCat(op.name, name);
      if (graph_.Find(wish).has_value()) return absl::StrCat("needs the name `", wish, "`, which is taken");
    }
    const auto is_updated = [&](const StateUpdate& update) { return update.value == weight.weight; };
    if (std::any_of(graph_.updates.begin(), graph_.updates.end(), is_updated)) return "becomes the value of a state";
    if (auto problem = FindUses(weight.weight, /*is_transposed=*/false, weight)) return problem;
    if (weight.uses.empty()) return "is read by nothing";
    std::sort(weight.uses.begin(), weight.uses.end(), [](const Use& a, const Use& b) { return a.product < b.product; });
    const auto is_other = [&](const Use& use) { return use.contracted != weight.uses[0].contracted; };
    if (form_.has_magnitude && std::any_of(weight.uses.begin(), weight.uses.end(), is_other)) {
      return "is read by products along both of its dimensions, and a magnitude is of one";
    }
    return std::nullopt;
  }

  // `value`: the weight, or what transposes it or hands it on.
  std::optional<std::string> FindUses(OpId value, bool is_transposed, Weight& weight) const {
    for (const OpId id : readers_[value]) {
      const Op& reader = graph_.op(id);
      if (reader.kind == OpKind::kTranspose || reader.kind == OpKind::kIdentity) {
        const bool flips = reader.kind == OpKind::kTranspose;
        if (auto problem = FindUses(id, is_transposed != flips, weight)) return problem;
        continue;
      }
      if (std::count(reader.inputs.begin(), reader.inputs.end(), value) > 1) return NotBoth(reader);
      std::optional<Use> use = UseBy(reader, value);
      if (!use.has_value()) return absl::StrCat("is read by ", Described(reader), ", which is no product with it");
      use->is_transposed = is_transposed;
      if (is_transposed) use->contracted = 1 - use->contracted;
      weight.uses.push_back(*use);
    }
    return std::nullopt;
  }

  std::optional<Use> UseBy(const Op& reader, OpId value) const {
    if (reader.inputs.size() != 2) return std::nullopt;
    Use use{.product = reader.id, .input = reader.inputs[0] == value ? size_t{0} : size_t{1}};
    const size_t rank = reader.type.shape.size();
    if (reader.kind == OpKind::kMatmul) {
      const bool is_left = use.input == 0;
      const bool transposes = reader.attributes.Get(is_left ? attribute::kTransposeA : attribute::kTransposeB);
      use.contracted = transposes == is_left ? 0 : 1;
      use.output = is_left ? rank - 2 : rank - 1;
      return use;
    }
    if (reader.kind != OpKind::kEinsum) return std::nullopt;
    const Formula formula = FormulaOf(reader);
    const Formula::Term& own = formula.inputs[use.input];
    const Formula::Term& other = formula.inputs[1 - use.input];
    for (size_t d = 0; d < 2; ++d) {
      const std::string& summed = own[d][0];
      const std::string& kept = own[1 - d][0];
      if (CountOf(other, summed) != 1 || CountOf(formula.output, summed) != 0) continue;
      if (CountOf(other, kept) != 0 || CountOf(formula.output, kept) != 1) continue;
      use.contracted = d;
      while (formula.output[use.output][0] != kept) ++use.output;
      return use;
    }
    return std::nullopt;
  }

  static Formula FormulaOf(const Op& einsum) {
    absl::StatusOr<Formula> formula = ParseLetters(einsum.attributes.Get(attribute::kEquation));
    CLEAVE_CHECK(formula.ok()) << formula.status().message();
    return *std::move(formula);
  }

  void Build() {
    builder_.Reserve(graph_.ops.size() + 8 * product_of_.size());
    for (const Op& op : graph_.ops) {
      std::vector<OpId> inputs;
      for (const OpId input : op.inputs) inputs.push_back(result_.values[input]);
      builder_.SetPhase(op.phase);
      builder_.SetLine(op.line);
      builder_.SetSource(GraphBuilder::Source());
      const OpId place = builder_.AddLike(op, inputs, op.name);
      builder_.mutable_graph().ops[place].repetition = op.repetition;
      result_.places.push_back(place);
      result_.values.push_back(place);
      builder_.SetSource(op);
      if (const auto weight = weights_.find(op.id); weight != weights_.end()) AddParameters(op, weight->second);
      if (const auto found = product_of_.find(op.id); found != product_of_.end()) {
        const auto& [weight, use] = found->second;
        result_.values[op.id] = Change(op, weights_.at(weight), use);
        Record(op.id, place);
      }
    }
    result_.graph = std::move(builder_).Build();
    CopyRoles(graph_, result_.values, result_.graph);
  }

  // What has been made behind `first` stands beside the product.
  void Record(OpId product, OpId first) {
    AdaptedProduct adapted{.product = product, .made = {}};
    for (size_t i = static_cast<size_t>(first.value()) + 1; i < builder_.graph().ops.size(); ++i) {
      const Op& op = builder_.graph().op(OpId(static_cast<int64_t>(i)));
      if (!op.inputs.empty()) adapted.made.push_back(op.id);
    }
    if (!adapted.made.empty()) result_.products.push_back(std::move(adapted));
  }

  OpId AddParameter(const Op& weight, const char* name, Shape shape, double bound) {
    const bool is_zero = bound == 0;
    const OpId id = builder_.Add(OpKind::kParameter, {},
                                 {{attribute::kShape, std::move(shape)},
                                  {attribute::kInit, std::string(is_zero ? "constant" : "uniform")},
                                  {attribute::kFirst, is_zero ? 0.0 : -bound},
                                  {attribute::kSecond, bound},
                                  {attribute::kLocal, weight.attributes.Get(attribute::kLocal)},
                                  {attribute::kTrained, true}},
                                 absl::StrCat(weight.name, name));
    result_.weights.back().parameters.push_back(id);
    return id;
  }

  void AddParameters(const Op& op, Weight& weight) {
    const size_t in = weight.uses[0].contracted;
    const Shape& shape = op.type.shape;
    result_.weights.push_back({.weight = op.id, .parameters = {}});
    const Shape p = {shape[0], form_.rank};
    const Shape q = {form_.rank, shape[1]};
    const OpId a = AddParameter(op, kAdapterA, in == 1 ? q : p, 1 / std::sqrt(static_cast<double>(shape[in])));
    const OpId b = AddParameter(op, kAdapterB, in == 1 ? p : q, 0);
    weight.p = in == 1 ? b : a;
    weight.q = in == 1 ? a : b;
    if (!form_.has_magnitude) return;
    const OpId last = AddParameter(op, kAdapterMagnitude, {shape[1 - in]}, 0);
    weight.growth = AddGrowth(op, weight, in, last);
    Record(weight.uses[0].product, last);
  }

  OpId Product(OpId a, OpId b, bool transpose_a, bool transpose_b, const std::string& name) {
    return builder_.Add(OpKind::kMatmul, {a, b},
                        {{attribute::kTransposeA, transpose_a}, {attribute::kTransposeB, transpose_b}}, name);
  }

  OpId Scaled(OpId value, double factor, const std::string& name) {
    return factor == 1 ? value : builder_.Add(OpKind::kScale, {value}, {{attribute::kFactor, factor}}, name);
  }

  OpId SumOver(OpId value, size_t dimension, const std::string& name) {
    return builder_.Add(OpKind::kReduceSum, {value},
                        {{attribute::kAxes, attribute::Ints{static_cast<int64_t>(dimension)}}}, name);
  }

  // The factor of each output. The square of the norm of W + f P Q, with P of the outputs, is that of W and the sum
  // over the rank of (2 f W Q^T + f^2 P (Q Q^T)) P, which takes no matrix of the size of W.
  OpId AddGrowth(const Op& op, const Weight& weight, size_t in, OpId magnitude) {
    const OpId w = result_.places[op.id];
    const auto name = [&](const char* what) { return absl::StrCat(op.name, ".lora_", what); };
    const OpId a = in == 1 ? weight.q : weight.p;
    const OpId b = in == 1 ? weight.p : weight.q;
    const bool is_second = in == 1;
    const OpId crossed =
        is_second ? Product(w, a, false, true, name("crossed")) : Product(a, w, true, false, name("crossed"));
    const OpId gram = Product(a, a, !is_second, is_second, name("gram"));
    const OpId changed =
        is_second ? Product(b, gram, false, false, name("changed")) : Product(gram, b, false, false, name("changed"));
    const double factor = form_.factor();
    const OpId both = builder_.Add(
        OpKind::kAdd,
        {Scaled(crossed, 2 * factor, name("crossed_twice")), Scaled(changed, factor * factor, name("changed_scaled"))},
        {}, name("both"));
    const OpId added =
        SumOver(builder_.Add(OpKind::kMul, {both, b}, {}, name("added")), is_second ? 1 : 0, name("added_square"));
    const OpId square = SumOver(builder_.Add(OpKind::kSquare, {w}, {}, name("squares")), in, name("square"));
    const OpId first = builder_.Add(OpKind::kSqrt, {square}, {}, name("first_norm"));
    const OpId sum = builder_.Add(OpKind::kAdd, {square, added}, {}, name("norm_square"));
    const OpId norm = builder_.Add(OpKind::kStopGradient, {builder_.Add(OpKind::kSqrt, {sum}, {}, name("norm"))}, {},
                                   name("norm_given"));
    const OpId wanted = builder_.Add(OpKind::kAdd, {first, magnitude}, {}, name("wanted_norm"));
    return builder_.Add(OpKind::kDiv, {wanted, norm}, {}, name("growth"));
  }

  // The product with its change.
  OpId Change(const Op& op, const Weight& weight, const Use& use) {
    const OpId product = result_.places[op.id];
    OpId x = result_.values[op.inputs[1 - use.input]];
    const auto name = [&](const char* what) { return absl::StrCat(op.name, ".lora_", what); };
    const bool drops = form_.dropout > 0;
    if (drops) x = builder_.Add(OpKind::kDropout, {x}, {{attribute::kRate, form_.dropout}}, name("dropout"));
    const OpId change = LowRank(op, weight, use, x);
    if (!weight.growth.has_value()) return builder_.Add(OpKind::kAdd, {product, change}, {}, name("sum"));
    const OpId growth = Along(*weight.growth, op, use, name("growth"));
    if (!drops) {
      const OpId sum = builder_.Add(OpKind::kAdd, {product, change}, {}, name("sum"));
      return builder_.Add(OpKind::kMul, {sum, growth}, {}, name("grown"));
    }
    std::vector<OpId> inputs = {x, x};
    inputs[use.input] = result_.values[op.inputs[use.input]];
    const OpId dropped = builder_.Add(op.kind, std::move(inputs), op.attributes, name("dropped"));
    const OpId sum = builder_.Add(OpKind::kAdd, {dropped, change}, {}, name("sum"));
    const OpId grown = builder_.Add(OpKind::kMul, {sum, growth}, {}, name("grown"));
    const OpId rest = builder_.Add(OpKind::kSub, {product, dropped}, {}, name("rest"));
    return builder_.Add(OpKind::kAdd, {rest, grown}, {}, name("result"));
  }

  OpId LowRank(const Op& op, const Weight& weight, const Use& use, OpId x) {
    const std::string low = absl::StrCat(op.name, ".lora_low");
    const std::string scaled = absl::StrCat(op.name, ".lora_scaled");
    const std::string high = absl::StrCat(op.name, ".lora_high");
    const bool is_second = use.contracted == 1;
    const OpId first = is_second ? weight.q : weight.p;
    const OpId then = is_second ? weight.p : weight.q;
    if (op.kind == OpKind::kEinsum) return LowRankByFormula(op, use, x, first, then);
    if (use.input == 1) {
      const OpId made = Product(x, first, op.attributes.Get(attribute::kTransposeA), is_second, low);
      return Product(Scaled(made, form_.factor(), scaled), then, false, is_second, high);
    }
    const OpId made = Product(first, x, !is_second, op.attributes.Get(attribute::kTransposeB), low);
    return Product(then, Scaled(made, form_.factor(), scaled), !is_second, false, high);
  }

  // "b s i, o i -> b s o" as "b s i, r i -> b s r" and "b s r, o r -> b s o".
  OpId LowRankByFormula(const Op& op, const Use& use, OpId x, OpId first, OpId then) {
    const Formula formula = FormulaOf(op);
    const std::vector<std::string> taken = NamesOf(formula);
    std::string rank = "r";
    while (std::find(taken.begin(), taken.end(), rank) != taken.end()) rank += "r";
    Formula::Term own = formula.inputs[use.input];
    if (use.is_transposed) std::swap(own[0], own[1]);
    const Formula::Term& other = formula.inputs[1 - use.input];
    Formula::Term first_term = own, then_term = own, low;
    first_term[1 - use.contracted] = {rank};
    then_term[use.contracted] = {rank};
    for (const Formula::Dimension& dimension : other) {
      if (dimension[0] == own[use.contracted][0]) {
        low.push_back({rank});
      } else if (CountOf(formula.output, dimension[0]) > 0 && CountOf(low, dimension[0]) == 0) {
        low.push_back(dimension);
      }
    }
    const auto add = [&](Formula made, OpId a, OpId b, const char* name) {
      return builder_.Add(OpKind::kEinsum, {a, b}, {{attribute::kEquation, LettersText(made)}},
                          absl::StrCat(op.name, name));
    };
    const OpId made = add({.inputs = {other, first_term}, .output = low}, x, first, ".lora_low");
    return add({.inputs = {low, then_term}, .output = formula.output},
               Scaled(made, form_.factor(), absl::StrCat(op.name, ".lora_scaled")), then, ".lora_high");
  }

  // A value of each output, to be multiplied with the product.
  OpId Along(OpId of_outputs, const Op& op, const Use& use, const std::string& name) {
    const size_t behind = op.type.shape.size() - 1 - use.output;
    if (behind == 0) return of_outputs;
    Shape shape = {op.type.shape[use.output]};
    shape.resize(1 + behind, 1);
    return builder_.Add(OpKind::kReshape, {of_outputs}, {{attribute::kShape, shape}}, name);
  }

  const Graph& graph_;
  const AdapterForm& form_;
  const IdVector<OpId, std::vector<OpId>> readers_;
  std::map<OpId, Weight> weights_;
  std::map<OpId, std::pair<OpId, Use>> product_of_;  // The weight that is a factor of each product.
  std::vector<AdaptProblem> problems_;
  GraphBuilder builder_;
  Adapted result_;
};

}  // namespace

std::variant<Adapted, std::vector<AdaptProblem>> Adapt(const Graph& forward, const AdapterForm& form,
                                                       const std::vector<OpId>& weights) {
  return Adapter(forward, form).Run(weights);
}

}  // namespace cleave::ir
