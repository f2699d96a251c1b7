#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "base/check/check.h"
#include "ir/formula/formula.h"
#include "ir/memory/need.h"

namespace cleave {
namespace {

using Names = std::vector<std::string>;

Names Joined(Names a, const Names& b, const Names& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

// What an einsum that is a product of `terms[first]` and the other input copies to have matrices; 0 where all three
// tensors already lie as such.
Bytes ProductCopies(const Program& program, const Compute& compute, const std::vector<Names>& terms,
                    const Names& result, size_t first) {
  const auto has = [](const Names& term, const std::string& name) { return absl::c_linear_search(term, name); };
  const size_t second = 1 - first;
  Names batch, rows, columns, contracted;
  for (const std::string& name : result) {
    Names& kind = has(terms[first], name) && has(terms[second], name) ? batch
                  : has(terms[first], name)                           ? rows
                                                                      : columns;
    kind.push_back(name);
  }
  for (const std::string& name : terms[first]) {
    if (!has(result, name)) contracted.push_back(name);
  }
  Bytes copies;
  const auto copy_unless = [&](const Names& term, const Names& outer, const Names& inner, ValueId value) {
    if (term == Joined(batch, outer, inner) || term == Joined(batch, inner, outer)) return;
    copies += LocalBytes(program, value);
  };
  copy_unless(terms[first], rows, contracted, compute.inputs[first]);
  copy_unless(terms[second], contracted, columns, compute.inputs[second]);
  if (result != Joined(batch, rows, columns)) copies += LocalBytes(program, compute.output);
  return copies;
}

}  // namespace

Bytes EinsumCopies(const Program& program, const Compute& compute) {
  const absl::StatusOr<Formula> formula = ParseLetters(compute.attributes.Get(attribute::kEquation));
  CLEAVE_CHECK(formula.ok()) << formula.status().message();
  const auto names_of = [](const Formula::Term& term) {
    Names names;
    for (const Formula::Dimension& dimension : term) names.insert(names.end(), dimension.begin(), dimension.end());
    return names;
  };
  std::vector<Names> terms;
  for (const Formula::Term& term : formula->inputs) terms.push_back(names_of(term));
  const Names result = names_of(formula->output);
  if (terms.size() != 2) return Bytes(0);
  for (const std::string& name : NamesOf(*formula)) {
    const int places =
        static_cast<int>(absl::c_count(terms[0], name) + absl::c_count(terms[1], name) + absl::c_count(result, name));
    const bool diagonal =
        absl::c_count(terms[0], name) > 1 || absl::c_count(terms[1], name) > 1 || absl::c_count(result, name) > 1;
    if (places < 2 || diagonal) return Bytes(0);
  }
  const Bytes copies = ProductCopies(program, compute, terms, result, 0);
  return ProductCopies(program, compute, terms, result, 1) == Bytes(0) ? Bytes(0) : copies;
}

}  // namespace cleave
