#include "search/solve/minsum/minsum.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"

namespace cleave::search {
namespace {

// What is wrong with one table, as the end of a sentence; empty if nothing is.
std::string WrongWith(const CostTable& table) {
  if (std::any_of(table.sizes.begin(), table.sizes.end(), [](int size) { return size < 1; })) {
    return "has a size below 1";
  }
  int64_t entries = 1;
  for (const int size : table.sizes) {
    entries *= size;
    if (entries > static_cast<int64_t>(table.costs.size())) break;
  }
  if (entries != static_cast<int64_t>(table.costs.size())) return "does not have as many costs as its sizes say";
  const auto allowed = [](int64_t cost) { return 0 <= cost && cost <= kForbidden; };
  if (!std::all_of(table.costs.begin(), table.costs.end(), allowed)) return "has a cost below 0 or above kForbidden";
  return "";
}

std::string WrongWith(const MinSum& problem, const CostTerm& term) {
  if (term.table < 0 || term.table >= static_cast<int>(problem.tables.size())) return "names no table";
  const CostTable& table = problem.tables[static_cast<size_t>(term.table)];
  if (table.sizes.size() != term.scope.size()) return "has another number of variables than its table";
  for (size_t i = 0; i < term.scope.size(); ++i) {
    const int variable = term.scope[i];
    if (variable < 0 || variable >= static_cast<int>(problem.domains.size())) return "names no variable";
    if (i > 0 && term.scope[i - 1] >= variable) return "has a scope that is not ascending";
    if (table.sizes[i] != problem.domains[static_cast<size_t>(variable)]) return "has a domain of another size";
  }
  return "";
}

}  // namespace

std::vector<std::string> VerifyMinSum(const MinSum& problem) {
  std::vector<std::string> wrong;
  for (size_t v = 0; v < problem.domains.size(); ++v) {
    if (problem.domains[v] < 1) wrong.push_back(absl::StrCat("variable ", v, " has no values"));
  }
  for (size_t t = 0; t < problem.tables.size(); ++t) {
    const std::string reason = WrongWith(problem.tables[t]);
    if (!reason.empty()) wrong.push_back(absl::StrCat("table ", t, " ", reason));
  }
  for (size_t t = 0; t < problem.terms.size(); ++t) {
    const std::string reason = WrongWith(problem, problem.terms[t]);
    if (!reason.empty()) wrong.push_back(absl::StrCat("term ", t, " ", reason));
  }
  return wrong;
}

int64_t CostOf(const MinSum& problem, const std::vector<int>& values) {
  CLEAVE_CHECK(values.size() == problem.domains.size()) << values.size() << " values";
  int64_t cost = 0;
  for (const CostTerm& term : problem.terms) {
    const CostTable& table = problem.tables[static_cast<size_t>(term.table)];
    size_t entry = 0;
    for (size_t i = 0; i < term.scope.size(); ++i) {
      entry =
          entry * static_cast<size_t>(table.sizes[i]) + static_cast<size_t>(values[static_cast<size_t>(term.scope[i])]);
    }
    cost = std::min(cost + table.costs[entry], kForbidden);
  }
  return cost;
}

}  // namespace cleave::search
