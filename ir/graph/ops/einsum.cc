// Sums of products over named indexes: y[i, j] = sum over k of a[i, k] * b[k, j] for "i k, k j -> i j".
//
// Every index is a factor: parallel in the output, else reduced. An index that occurs twice in a tensor means its
// diagonal. A layout cannot cut two dimensions by one axis, so only the first place is that factor: each further one is
// a whole factor of its own (i and i'), along which a rank begins where its piece of the index does.

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/einsum_product.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/factor_walk.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/need.h"
#include "ir/tensor/formula/formula.h"
#include "ir/tensor/formula/formula_rule.h"

namespace cleave::ir {
namespace {

Formula FormulaOf(const Attributes& attributes) {
  absl::StatusOr<Formula> formula = ParseLetters(attributes.Get(attribute::kEquation));
  CLEAVE_CHECK(formula.ok()) << formula.status().message();
  return *std::move(formula);
}

OpError EquationError(std::string message) { return OpError{.code = Code::kE0409, .message = std::move(message)}; }

// The error in the formula itself, before any shape is considered.
std::optional<OpError> CheckFormula(const Formula& formula, size_t input_count) {
  if (formula.inputs.size() != input_count) {
    return EquationError(absl::StrCat("`", formula.ToString(), "` has ",
                                      Plural(static_cast<int64_t>(formula.inputs.size()), "term"), " before `->` for ",
                                      Plural(static_cast<int64_t>(input_count), "tensor")));
  }
  std::vector<Formula::Term> terms = formula.inputs;
  terms.push_back(formula.output);
  for (const Formula::Term& term : terms) {
    for (const Formula::Dimension& dimension : term) {
      if (dimension.size() == 1 && dimension[0][0] != '.') continue;
      return EquationError(absl::StrCat("a dimension of an einsum has one index: `", formula.ToString(), "`"));
    }
  }
  for (const Formula::Dimension& dimension : formula.output) {
    bool known = false;
    for (const Formula::Term& term : formula.inputs) known = known || CountOf(term, dimension[0]) > 0;
    if (!known) return EquationError(absl::StrCat("index `", dimension[0], "` of the result is in no tensor"));
  }
  return std::nullopt;
}

OpError RankError(int input, const TensorType& type, const Formula::Term& term) {
  OpError error{.code = Code::kE0408,
                .message = absl::StrCat("tensor ", input + 1, " has ", Plural(type.rank(), "dimension"), ", its term ",
                                        Plural(static_cast<int64_t>(term.size()), "name")),
                .about = {{input, absl::StrCat("has ", Plural(type.rank(), "dimension"))}}};
  if (term.size() > 1) error.notes = {"in a formula without a space between two names each letter is an index"};
  return error;
}

InferResult InferEinsum(Types inputs, const Attributes& attributes) {
  const absl::StatusOr<Formula> formula = ParseLetters(attributes.Get(attribute::kEquation));
  if (!formula.ok()) return EquationError(std::string(formula.status().message()));
  if (auto error = CheckFormula(*formula, inputs.size())) return *error;
  const DType wanted = IsProductOfMatrices(*formula) ? inputs[0].dtype : DType::kF32;
  struct Place {
    int input;
    int64_t size;
  };
  std::map<std::string, Place> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int input = static_cast<int>(i);
    const Formula::Term& term = formula->inputs[i];
    if (auto error = CheckFloat(inputs, input, "…")) return *error;
    if (auto error = CheckDType(inputs, input, wanted, "…")) return *error;
    if (term.size() != inputs[i].shape.size()) return RankError(input, inputs[i], term);
    for (size_t d = 0; d < term.size(); ++d) {
      const int64_t size = inputs[i].shape[d];
      const auto [place, is_new] = places.try_emplace(term[d][0], Place{input, size});
      if (is_new || place->second.size == size) continue;
      return OpError{
          .code = Code::kE0411,
          .message = absl::StrCat("index `", term[d][0], "` is ", place->second.size, " and ", size, " in `",
                                  formula->ToString(), "`"),
          .about = {{input, absl::StrCat("has ", size, " in dimension ", d)},
                    {place->second.input,
                     absl::StrCat("is ", ShapeText(inputs[static_cast<size_t>(place->second.input)].shape))}}};
    }
  }
  const auto dtype = ResultDType(inputs, attributes);
  if (const OpError* error = std::get_if<OpError>(&dtype)) return *error;
  TensorType output{std::get<DType>(dtype), {}};
  for (const Formula::Dimension& dimension : formula->output) output.shape.push_back(places.at(dimension[0]).size);
  return output;
}

// The formula with a new name for each further place of an index in one term.
struct Distinct {
  Formula formula;
  std::map<std::string, std::string> index_of;  // Of each new name.

  bool IsRepeated(const std::string& name) const {
    return std::any_of(index_of.begin(), index_of.end(), [&](const auto& entry) { return entry.second == name; });
  }
};

Distinct Apart(const Formula& formula) {
  Distinct result{.formula = formula, .index_of = {}};
  const auto separate = [&](Formula::Term& term) {
    std::map<std::string, int> seen;
    for (Formula::Dimension& dimension : term) {
      const std::string index = dimension[0];
      const int place = seen[index]++;
      if (place == 0) continue;
      dimension[0].append(static_cast<size_t>(place), '\'');
      result.index_of[dimension[0]] = index;
    }
  };
  for (Formula::Term& term : result.formula.inputs) separate(term);
  separate(result.formula.output);
  return result;
}

Rule EinsumRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const Distinct distinct = Apart(FormulaOf(attributes));
  std::set<std::string> whole;
  for (const auto& [name, index] : distinct.index_of) whole.insert(name);
  std::vector<Shape> shapes;
  for (const TensorType& input : inputs) shapes.push_back(input.shape);
  absl::StatusOr<Rule> rule = RuleOfFormula(distinct.formula, whole, shapes, output.shape);
  CLEAVE_CHECK(rule.ok()) << rule.status().message();
  // The places of one diagonal keep their common size.
  for (Factor& factor : rule->factors) {
    factor.fixed_size = factor.kind == FactorKind::kWhole || distinct.IsRepeated(factor.name);
  }
  for (size_t i = 0; i < inputs.size(); ++i) rule->linear.push_back({static_cast<int>(i)});
  return *std::move(rule);
}

// Whether an index of input `i` also occurs in the result or another input.
bool StandsElsewhere(const Formula& formula, size_t i, const std::string& name) {
  if (CountOf(formula.output, name) > 0) return true;
  for (size_t j = 0; j < formula.inputs.size(); ++j) {
    if (j != i && CountOf(formula.inputs[j], name) > 0) return true;
  }
  return false;
}

// The gradient by input i: the einsum of dy with the other inputs whose result has the indexes of input i. Along an
// index that occurs nowhere else it is repeated; on a diagonal that occurs nowhere else it is multiplied by ones, so
// that the other elements are zero.
OpId GradientByInput(GraphBuilder& builder, const Op& op, const Formula& formula, size_t i, OpId dy) {
  const std::string name = GradientName(op, absl::StrCat("x", i));
  const Shape shape = builder.type(op.inputs[i]).shape;
  Formula gradient{.inputs = {formula.output}, .output = {}};
  std::vector<OpId> inputs = {dy};
  for (size_t j = 0; j < formula.inputs.size(); ++j) {
    if (j == i) continue;
    gradient.inputs.push_back(formula.inputs[j]);
    inputs.push_back(op.inputs[j]);
  }
  std::vector<int> repeated;
  std::set<std::string> ones;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::string& index = formula.inputs[i][d][0];
    const bool elsewhere = StandsElsewhere(formula, i, index);
    if (!elsewhere && CountOf(formula.inputs[i], index) == 1) {
      repeated.push_back(static_cast<int>(d));
      continue;
    }
    gradient.output.push_back({index});
    if (elsewhere || !ones.insert(index).second) continue;
    gradient.inputs.push_back({{index}});
    inputs.push_back(builder.Add(OpKind::kConstant, {},
                                 {{attribute::kShape, Shape{shape[d]}}, {attribute::kValue, 1.0}},
                                 absl::StrCat(name, ".ones")));
  }
  OpId value = dy;
  if (inputs.size() > 1 || gradient.inputs[0] != gradient.output) {
    value = builder.Add(OpKind::kEinsum, inputs, {{attribute::kEquation, LettersText(gradient)}}, name);
  }
  return RepeatAlong(builder, value, shape, repeated, name);
}

Gradients EinsumGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const Formula formula = FormulaOf(op.attributes);
  Gradients gradients;
  for (size_t i = 0; i < op.inputs.size(); ++i) gradients.push_back(GradientByInput(builder, op, formula, i, dy));
  return gradients;
}

// A multiplication for each input except the first, and an addition, for every combination of the indexes. Of a
// repeated index only the first place is counted: it is the one that may be cut.
Flops EinsumFlops(Types inputs, const TensorType&, const Attributes& attributes) {
  const Distinct distinct = Apart(FormulaOf(attributes));
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Formula::Term& term = distinct.formula.inputs[i];
    for (size_t d = 0; d < term.size(); ++d) {
      if (distinct.index_of.count(term[d][0]) == 0) sizes[term[d][0]] = inputs[i].shape[d];
    }
  }
  double flops = static_cast<double>(inputs.size());
  for (const auto& [name, size] : sizes) flops *= static_cast<double>(size);
  return Flops(flops);
}

// The factors of the rule are the names of the distinct formula, in order.
void EvaluateEinsum(const Evaluation& evaluation) {
  const Distinct distinct = Apart(FormulaOf(evaluation.attributes));
  const std::vector<std::string> names = NamesOf(distinct.formula);
  const auto factor_of = [&](const std::string& name) {
    return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const auto strides_of = [&](const Formula::Term& term) {
    std::vector<FactorList> dimensions;
    for (const Formula::Dimension& dimension : term) dimensions.push_back({factor_of(dimension[0])});
    return FactorStrides(dimensions, evaluation.ranges);
  };
  std::vector<std::vector<int64_t>> strides;
  for (const Formula::Term& term : distinct.formula.inputs) strides.push_back(strides_of(term));
  const std::vector<int64_t> output_strides = strides_of(distinct.formula.output);
  struct Further {
    size_t place, index;
  };
  std::vector<Further> further;
  std::vector<int> indexes;
  for (size_t factor = 0; factor < names.size(); ++factor) {
    const auto found = distinct.index_of.find(names[factor]);
    if (found == distinct.index_of.end()) {
      indexes.push_back(static_cast<int>(factor));
    } else {
      further.push_back({factor, static_cast<size_t>(factor_of(found->second))});
    }
  }
  std::vector<int64_t> at(names.size(), 0);
  ForEachIndex(indexes, evaluation.ranges, at, [&] {
    for (const auto& [place, index] : further) at[place] = evaluation.ranges[index].begin + at[index];
    double product = 1;
    for (size_t i = 0; i < strides.size(); ++i) {
      product *= evaluation.inputs[i]->values[static_cast<size_t>(OffsetOf(at, strides[i]))];
    }
    evaluation.output.values[static_cast<size_t>(OffsetOf(at, output_strides))] += product;
  });
}

OpId BatchEinsum(Lift& lift) {
  Formula formula = FormulaOf(lift.op().attributes);
  const std::vector<std::string> names = NamesOf(formula);
  std::string index = "e";
  for (int i = 0; std::find(names.begin(), names.end(), index) != names.end(); ++i) index = absl::StrCat("e", i);
  for (int i = 0; i < lift.input_count(); ++i) {
    Formula::Term& term = formula.inputs[static_cast<size_t>(i)];
    if (lift.mapped(i)) term.insert(term.begin(), {index});
  }
  formula.output.insert(formula.output.begin(), {index});
  return lift.Main(lift.Inputs(), {{attribute::kEquation, LettersText(formula)}});
}

// For each index that stands twice in a term, in the order of NamesOf, where the piece of it begins and how long its
// further places are.
BracedList Diagonals(const CallSite& site, const Formula& formula) {
  const Distinct distinct = Apart(formula);
  BracedList diagonals;
  for (const std::string& name : NamesOf(formula)) {
    if (!distinct.IsRepeated(name)) continue;
    const auto add = [&](int tensor, const Formula::Term& term) {
      const auto place = std::find(term.begin(), term.end(), Formula::Dimension{name});
      if (place == term.end()) return false;
      const LocalDimension first = {tensor, static_cast<int>(place - term.begin())};
      const int64_t size = site.type(tensor).shape[static_cast<size_t>(first.dimension)];
      diagonals.fields.push_back({BracedList{{{FirstIndex{first}}, {size}}}});
      return true;
    };
    int tensor = 0;
    while (!add(tensor, formula.inputs[static_cast<size_t>(tensor)])) ++tensor;
  }
  return diagonals;
}

// A matrix product if the tensors already lie as it needs them, else a call that reorders them or uses loops.
std::vector<KernelCall> EinsumCalls(const CallSite& site) {
  const Formula formula = FormulaOf(site.attributes);
  if (std::optional<KernelCall> product = DirectProduct(formula)) return {*std::move(product)};
  BracedList inputs;
  for (int i = 0; i < static_cast<int>(site.inputs.size()); ++i) {
    inputs.fields.push_back({BracedList{{{Pointer{i}}, {LocalSizes{i}}}}});
  }
  KernelCall call = {"Einsum", {formula.ToString(), inputs, Pointer{kResult}}};
  if (BracedList diagonals = Diagonals(site, formula); !diagonals.fields.empty()) call.arguments.push_back(diagonals);
  return {call};
}

// Sums element by element are in f32.
Treatment EinsumTreatment(const Attributes& attributes) {
  return IsProductOfMatrices(FormulaOf(attributes)) ? Treatment::kProduct : Treatment::kFloat;
}

Need EinsumNeed(Types inputs, const TensorType& output, const Attributes& attributes) {
  return {.temporary = EinsumCopies(FormulaOf(attributes), inputs, output)};
}

}  // namespace

OpDefinition DefineEinsum() {
  return OpDefinition{.op_class = OpClass::kProduct,
                      .treatment_by_attributes = EinsumTreatment,
                      .signature = {RequiredAttribute(attribute::kEquation),
                                    ResultArgument(),
                                    {.name = "x", .kind = ArgumentKind::kTensors}},
                      .summary = "sum of products over the indexes that the result does not have",
                      .infer = InferEinsum,
                      .rule = EinsumRule,
                      .gradient = EinsumGradients,
                      .flops = EinsumFlops,
                      .evaluate = EvaluateEinsum,
                      .batch = BatchEinsum,
                      .calls = EinsumCalls,
                      .need = EinsumNeed};
}

}  // namespace cleave::ir
