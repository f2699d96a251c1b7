#include "runtime/einsum/formula.h"

#include <map>
#include <sstream>

namespace cleave::runtime {

IndexedFormula ReadFormula(const std::string& text, const std::vector<EinsumInput>& inputs) {
  // Commas and the arrow become words of their own.
  std::string spaced;
  for (const char c : text) spaced += c == ',' ? std::string(" , ") : std::string(1, c);
  IndexedFormula formula;
  std::map<std::string, int> numbers;
  std::vector<Term> terms(1);
  std::istringstream words(spaced);
  for (std::string word; words >> word;) {
    if (word == "," || word == "->") {
      terms.emplace_back();
    } else if (word != "()") {
      terms.back().push_back(numbers.try_emplace(word, static_cast<int>(numbers.size())).first->second);
    }
  }
  formula.result = terms.back();
  terms.pop_back();
  formula.inputs = terms;
  formula.sizes.assign(numbers.size(), 0);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; d < formula.inputs[i].size(); ++d) {
      formula.sizes[static_cast<size_t>(formula.inputs[i][d])] = inputs[i].shape[d];
    }
  }
  return formula;
}

std::vector<int64_t> StridesOf(const Term& term, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t stride = 1;
  for (size_t d = term.size(); d-- > 0;) {
    strides[static_cast<size_t>(term[d])] += stride;
    stride *= sizes[static_cast<size_t>(term[d])];
  }
  return strides;
}

}  // namespace cleave::runtime
