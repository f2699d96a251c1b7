#include "ir/tensor/rule/rule.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cleave::ir {
namespace {

std::string DimensionText(const Rule& rule, const FactorList& dimension) {
  if (dimension.empty()) return "1";
  std::vector<std::string> names;
  for (int factor : dimension) names.push_back(rule.factors[static_cast<size_t>(factor)].name);
  if (names.size() == 1) return names[0];
  return absl::StrCat("(", absl::StrJoin(names, " "), ")");
}

// `input`: -1 for the output.
std::string TensorText(const Rule& rule, const std::vector<FactorList>& dimensions, int input) {
  if (dimensions.empty()) return "()";
  std::vector<std::string> texts;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    texts.push_back(absl::StrCat(DimensionText(rule, dimensions[d]), rule.WindowOf(input, d) == nullptr ? "" : "~"));
  }
  return absl::StrJoin(texts, " ");
}

// Whether the factors of one tensor exist, stand there once and multiply to its shape.
std::string FindTensorError(const Rule& rule, const std::vector<FactorList>& dimensions, const Shape& shape, int input,
                            const std::string& what) {
  if (dimensions.size() != shape.size()) {
    return absl::StrCat(what, " has ", shape.size(), " dimensions, the rule names ", dimensions.size());
  }
  std::set<int> seen;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    int64_t size = 1;
    for (int factor : dimensions[d]) {
      if (factor < 0 || static_cast<size_t>(factor) >= rule.factors.size()) {
        return absl::StrCat(what, " names factor ", factor, " of ", rule.factors.size());
      }
      if (!seen.insert(factor).second) {
        return absl::StrCat(what, " names factor ", rule.factors[static_cast<size_t>(factor)].name, " twice");
      }
      size *= rule.factors[static_cast<size_t>(factor)].size;
    }
    if (const Window* window = rule.WindowOf(input, d)) {
      if (dimensions[d].size() != 1 || window->outer != size || window->denominator < 1 || window->numerator < 0) {
        return absl::StrCat("dimension ", d, " of ", what, " has a window that does not fit its factor");
      }
      size = window->elements;
    }
    if (size != shape[d]) {
      return absl::StrCat("dimension ", d, " of ", what, " has ", shape[d], " elements, its factors ", size);
    }
  }
  return "";
}

Shape SizesOf(const Rule& rule, const std::vector<FactorList>& dimensions) {
  Shape shape;
  for (const FactorList& dimension : dimensions) {
    int64_t size = 1;
    for (int factor : dimension) size *= rule.factors[static_cast<size_t>(factor)].size;
    shape.push_back(size);
  }
  return shape;
}

bool Names(const std::vector<FactorList>& dimensions, int factor) {
  for (const FactorList& dimension : dimensions) {
    for (int other : dimension) {
      if (other == factor) return true;
    }
  }
  return false;
}

std::string FindFactorError(const Rule& rule) {
  std::set<std::string> names;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const Factor& factor = rule.factors[f];
    if (factor.name.empty() || !names.insert(factor.name).second) {
      return absl::StrCat("factor name `", factor.name, "` is empty or taken");
    }
    const int index = static_cast<int>(f);
    const bool in_output = Names(rule.output, index);
    bool in_inputs = false;
    for (const auto& input : rule.inputs) in_inputs = in_inputs || Names(input, index);
    if (!in_output && !in_inputs) return absl::StrCat("factor ", factor.name, " is nowhere used");
    if (factor.kind == FactorKind::kParallel && !in_output) {
      return absl::StrCat("parallel factor ", factor.name, " is not in the output");
    }
    if (factor.kind == FactorKind::kReduced && in_output) {
      return absl::StrCat("reduced factor ", factor.name, " is in the output");
    }
  }
  return "";
}

}  // namespace

InputWindow KernelWindow(int input, int dimension, const Sliding& sliding, int64_t elements, int64_t places) {
  return {.input = input,
          .dimension = dimension,
          .window = sliding.OverInput(elements, places),
          .cause = WindowCause::kKernel,
          .sliding = sliding};
}

InputWindow PlacesWindow(int input, int dimension, const Sliding& sliding, int64_t elements, int64_t places) {
  return {.input = input,
          .dimension = dimension,
          .window = sliding.OverOutput(elements, places),
          .cause = WindowCause::kPlaces,
          .sliding = sliding};
}

const Window* Rule::WindowOf(int input, size_t dimension) const {
  for (const InputWindow& entry : windows) {
    if (entry.input == input && static_cast<size_t>(entry.dimension) == dimension) return &entry.window;
  }
  return nullptr;
}

bool Rule::IsFree(int factor) const {
  if (factors[static_cast<size_t>(factor)].fixed_size) return false;
  for (const InputWindow& entry : windows) {
    const FactorList& read = inputs[static_cast<size_t>(entry.input)][static_cast<size_t>(entry.dimension)];
    if (read == FactorList{factor} || entry.taps == factor) return false;
  }
  for (const Selection& selection : selections) {
    if (selection.part == factor || selection.whole == factor) return false;
  }
  return true;
}

Shape Rule::InputShape(int input) const {
  Shape shape = SizesOf(*this, inputs[static_cast<size_t>(input)]);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (const Window* window = WindowOf(input, d)) shape[d] = window->elements;
  }
  return shape;
}

Shape Rule::OutputShape() const { return SizesOf(*this, output); }

std::string Rule::ToString() const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < inputs.size(); ++i) parts.push_back(TensorText(*this, inputs[i], static_cast<int>(i)));
  const std::string output_text = TensorText(*this, output, -1);
  return parts.empty() ? absl::StrCat("-> ", output_text)
                       : absl::StrCat(absl::StrJoin(parts, ", "), " -> ", output_text);
}

std::string FindRuleError(const Rule& rule, const std::vector<Shape>& inputs, const Shape& output) {
  if (rule.inputs.size() != inputs.size()) {
    return absl::StrCat("the op has ", inputs.size(), " inputs, the rule ", rule.inputs.size());
  }
  if (std::string error = FindFactorError(rule); !error.empty()) return error;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string error =
        FindTensorError(rule, rule.inputs[i], inputs[i], static_cast<int>(i), absl::StrCat("input ", i));
    if (!error.empty()) return error;
  }
  if (std::string error = FindTensorError(rule, rule.output, output, -1, "the output"); !error.empty()) return error;
  for (const std::vector<int>& group : rule.linear) {
    if (group.empty()) return "a linear group is empty";
    for (int input : group) {
      if (input < 0 || static_cast<size_t>(input) >= inputs.size()) {
        return absl::StrCat("a linear group names input ", input, " of ", inputs.size());
      }
    }
  }
  return "";
}

}  // namespace cleave::ir
