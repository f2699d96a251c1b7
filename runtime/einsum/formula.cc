#include "runtime/einsum/formula.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace cleave::runtime {
namespace {

void AddRepeated(const Term& term, std::set<int>& repeated) {
  std::set<int> seen;
  for (const int index : term) {
    if (!seen.insert(index).second) repeated.insert(index);
  }
}

}  // namespace

IndexedFormula ReadFormula(const std::string& text, const std::vector<EinsumInput>& inputs,
                           const std::vector<Diagonal>& diagonals) {
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
    // Backwards, so that the first place of an index says its size.
    for (size_t d = formula.inputs[i].size(); d-- > 0;) {
      formula.sizes[static_cast<size_t>(formula.inputs[i][d])] = inputs[i].shape[d];
    }
  }
  std::set<int> repeated;
  for (const Term& term : terms) AddRepeated(term, repeated);
  AddRepeated(formula.result, repeated);
  auto next = diagonals.begin();
  for (int index = 0; index < static_cast<int>(formula.sizes.size()); ++index) {
    const int64_t size = formula.sizes[static_cast<size_t>(index)];
    formula.diagonals.push_back(repeated.count(index) > 0 ? *next++ : Diagonal{0, size});
  }
  return formula;
}

bool HasDiagonal(const Term& term) { return std::set<int>(term.begin(), term.end()).size() != term.size(); }

Places PlacesOf(const Term& term, const IndexedFormula& formula) {
  Places places;
  places.strides.assign(formula.sizes.size(), 0);
  for (size_t d = term.size(); d-- > 0;) {
    const auto index = static_cast<size_t>(term[d]);
    const bool is_first = std::find(term.begin(), term.begin() + static_cast<std::ptrdiff_t>(d), term[d]) ==
                          term.begin() + static_cast<std::ptrdiff_t>(d);
    places.strides[index] += places.elements;
    if (!is_first) places.first += formula.diagonals[index].first * places.elements;
    places.elements *= is_first ? formula.sizes[index] : formula.diagonals[index].size;
  }
  return places;
}

}  // namespace cleave::runtime
