#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/formula/formula.h"
#include "ir/vectorize/rules.h"

namespace cleave {
namespace {

// The product as a formula: any input may have the elements' index `e`.
OpId MatmulByFormula(Lift& lift) {
  const auto side = [&lift](int input, bool transposed, const char* row, const char* column) {
    Formula::Term term;
    if (lift.mapped(input)) term.push_back({"e"});
    for (int d = 0; d + 2 < lift.rank(input); ++d) term.push_back({absl::StrCat("b", d)});
    term.push_back({transposed ? column : row});
    term.push_back({transposed ? row : column});
    return term;
  };
  Formula formula;
  formula.inputs = {side(0, lift.op().attributes.Get(attribute::kTransposeA), "i", "k"),
                    side(1, lift.op().attributes.Get(attribute::kTransposeB), "k", "j")};
  formula.output.push_back({"e"});
  for (int d = 0; d + 2 < lift.rank(0); ++d) formula.output.push_back({absl::StrCat("b", d)});
  formula.output.push_back({"i"});
  formula.output.push_back({"j"});
  return lift.Instead(OpKind::kEinsum, lift.Inputs(), {{attribute::kEquation, LettersText(formula)}});
}

// A tensor [m, n, …] as [n, m * …]: elements become neighbouring groups of channels.
OpId ElementsAsChannels(Lift& lift, OpId x) {
  const Shape shape = lift.shape(x);
  const OpId moved =
      lift.Step(OpKind::kTranspose, {x}, {{attribute::kPermutation, std::vector<int64_t>{1, 0, 2, 3, 4}}});
  return lift.Reshape(moved, {shape[1], shape[0] * shape[2], shape[3], shape[4]});
}

OpId ChannelsAsElements(Lift& lift, OpId y) {
  const Shape& shape = lift.op().type.shape;
  const OpId apart = lift.Reshape(y, {shape[0], lift.size(), shape[1], shape[2], shape[3]});
  return lift.Step(OpKind::kTranspose, {apart}, {{attribute::kPermutation, std::vector<int64_t>{1, 0, 2, 3, 4}}});
}

}  // namespace

std::optional<OpId> BatchMatmul(Lift& lift) {
  const bool shared = lift.mapped(0) && !lift.mapped(1) && lift.rank(1) == 2;
  const bool alike = lift.mapped(0) && lift.mapped(1) && lift.rank(0) == lift.rank(1);
  if (shared || alike) return lift.Main(lift.Inputs());
  return MatmulByFormula(lift);
}

std::optional<OpId> BatchEinsum(Lift& lift) {
  absl::StatusOr<Formula> formula = ParseLetters(lift.op().attributes.Get(attribute::kEquation));
  CLEAVE_CHECK(formula.ok()) << formula.status().message();
  const std::vector<std::string> names = NamesOf(*formula);
  std::string index = "e";
  for (int i = 0; std::find(names.begin(), names.end(), index) != names.end(); ++i) index = absl::StrCat("e", i);
  for (int i = 0; i < lift.input_count(); ++i) {
    Formula::Term& term = formula->inputs[static_cast<size_t>(i)];
    if (lift.mapped(i)) term.insert(term.begin(), {index});
  }
  formula->output.insert(formula->output.begin(), {index});
  return lift.Main(lift.Inputs(), {{attribute::kEquation, LettersText(*formula)}});
}

std::optional<OpId> BatchConv2d(Lift& lift) {
  const Shape x = lift.element(0);
  Shape filter = lift.element(1);
  if (!lift.mapped(1)) {  // Elements are further samples.
    Shape shape = lift.op().type.shape;
    shape.insert(shape.begin(), lift.size());
    return lift.Reshape(lift.Main({lift.Reshape(lift.value(0), {lift.size() * x[0], x[1], x[2], x[3]}), lift.value(1)}),
                        shape);
  }
  filter[0] *= lift.size();
  const OpId filters = lift.Reshape(lift.value(1), filter);
  const int64_t groups = lift.op().attributes.Get(attribute::kGroups);
  if (!lift.mapped(0) && groups == 1) {  // Elements are further filters on the same image.
    return ChannelsAsElements(lift, lift.Main({lift.value(0), filters}));
  }
  // Elements are groups of channels, each seen by the filters of its own.
  Attributes attributes = lift.op().attributes;
  attributes.Set(attribute::kGroups, groups * lift.size());
  return ChannelsAsElements(lift, lift.Main({ElementsAsChannels(lift, lift.Whole(0)), filters}, attributes));
}

}  // namespace cleave
