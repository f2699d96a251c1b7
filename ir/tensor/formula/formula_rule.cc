#include "ir/tensor/formula/formula_rule.h"

#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace cleave::ir {
namespace {

// A tensor of the call and its term; `input` is -1 for the output.
struct Tensor {
  const Formula::Term& term;
  const Shape& shape;
  int input;

  std::string Place(size_t dimension) const {
    return absl::StrCat("dimension ", dimension, " of ", input < 0 ? "the output" : absl::StrCat("input ", input));
  }
};

// Finds the sizes of names from the dimensions in which one is the only unknown.
class Sizes {
 public:
  // Whether all of the dimension's names are known now.
  bool Learn(const Formula::Dimension& dimension, int64_t elements) {
    int64_t known = 1;
    const std::string* unknown = nullptr;
    for (const std::string& name : dimension) {
      const auto found = sizes_.find(name);
      if (found != sizes_.end()) {
        known *= found->second;
      } else if (unknown != nullptr) {
        return false;
      } else {
        unknown = &name;
      }
    }
    if (unknown != nullptr) sizes_[*unknown] = known > 0 ? elements / known : 0;
    return true;
  }

  bool Knows(const std::string& name) const { return sizes_.count(name) > 0; }
  int64_t operator[](const std::string& name) const { return sizes_.at(name); }

  int64_t Product(const Formula::Dimension& dimension) const {
    int64_t product = 1;
    for (const std::string& name : dimension) product *= sizes_.at(name);
    return product;
  }

 private:
  std::map<std::string, int64_t> sizes_;
};

absl::Status CheckRanks(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.term.size() == tensor.shape.size()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(tensor.input < 0 ? "the output" : absl::StrCat("input ", tensor.input), " has ",
                     tensor.shape.size(), " dimensions, the formula names ", tensor.term.size()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Sizes> FindSizes(const Formula& formula, const std::vector<Tensor>& tensors) {
  Sizes sizes;
  // First names that stand alone, then others as long as a round finds a new size.
  for (const Tensor& tensor : tensors) {
    for (size_t d = 0; d < tensor.term.size(); ++d) {
      if (tensor.term[d].size() == 1 && !sizes.Knows(tensor.term[d][0])) sizes.Learn(tensor.term[d], tensor.shape[d]);
    }
  }
  const std::vector<std::string> names = NamesOf(formula);
  for (size_t round = 0; round < names.size(); ++round) {
    for (const Tensor& tensor : tensors) {
      for (size_t d = 0; d < tensor.term.size(); ++d) sizes.Learn(tensor.term[d], tensor.shape[d]);
    }
  }
  for (const std::string& name : names) {
    if (!sizes.Knows(name)) {
      return absl::InvalidArgumentError(absl::StrCat("the size of `", name, "` does not follow from the shapes"));
    }
  }
  for (const Tensor& tensor : tensors) {
    for (size_t d = 0; d < tensor.term.size(); ++d) {
      if (sizes.Product(tensor.term[d]) == tensor.shape[d]) continue;
      const std::string expected =
          tensor.term[d].size() == 1
              ? absl::StrCat("`", tensor.term[d][0], "` is ", sizes[tensor.term[d][0]], " elsewhere")
              : absl::StrCat("its indexes make ", sizes.Product(tensor.term[d]));
      return absl::InvalidArgumentError(
          absl::StrCat(tensor.Place(d), " has ", tensor.shape[d], " elements, but ", expected));
    }
  }
  return sizes;
}

}  // namespace

absl::StatusOr<Rule> RuleOfFormula(const Formula& formula, const std::set<std::string>& whole,
                                   const std::vector<Shape>& inputs, const Shape& output) {
  if (formula.inputs.size() != inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the formula has ", formula.inputs.size(), " inputs, the call ", inputs.size()));
  }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) tensors.push_back({formula.inputs[i], inputs[i], static_cast<int>(i)});
  tensors.push_back({formula.output, output, -1});
  if (const absl::Status ranks = CheckRanks(tensors); !ranks.ok()) return ranks;
  const absl::StatusOr<Sizes> sizes = FindSizes(formula, tensors);
  if (!sizes.ok()) return sizes.status();

  Rule rule;
  std::map<std::string, int> factors;
  for (const std::string& name : NamesOf(formula)) {
    FactorKind kind = CountOf(formula.output, name) > 0 ? FactorKind::kParallel : FactorKind::kReduced;
    if (whole.count(name) > 0) kind = FactorKind::kWhole;
    factors[name] = static_cast<int>(rule.factors.size());
    rule.factors.push_back(Factor{.name = name, .kind = kind, .size = (*sizes)[name]});
  }
  const auto dimensions = [&](const Formula::Term& term) {
    std::vector<FactorList> result;
    for (const Formula::Dimension& dimension : term) {
      FactorList& list = result.emplace_back();
      for (const std::string& name : dimension) list.push_back(factors[name]);
    }
    return result;
  };
  for (const Formula::Term& term : formula.inputs) rule.inputs.push_back(dimensions(term));
  rule.output = dimensions(formula.output);
  if (std::string error = FindRuleError(rule, inputs, output); !error.empty()) return absl::InvalidArgumentError(error);
  return rule;
}

}  // namespace cleave::ir
