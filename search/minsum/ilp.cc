// The integer program of a min-sum problem. Columns: one per value of a variable (which is 1 for the chosen one) and
// one per allowed entry of a term over several variables; rows: a variable's columns add up to 1, and a term's entries
// with one value of one of its variables add up to that value's column. Terms within the scope of another are added to
// it first.
//
// Costs become fractions of the greatest one. The answer is priced again exactly. The solver's bound is lowered by the
// possible error of its tolerances, and then raised to the next sum that can occur, because all costs are multiples of
// one step. Read Merged, ProgramOf, SolveIlp.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/check/check.h"
#include "search/minsum/integer_program.h"
#include "search/minsum/minsum.h"

namespace cleave::search {
namespace {

struct MergedTerm {
  std::vector<int> scope;  // Of variables with several values, not empty.
  CostTable table;         // Least entry 0.
};

struct MergedProblem {
  std::vector<MergedTerm> terms;  // Largest scopes first.
  int64_t constant = 0;
  int64_t greatest = 0;  // Of the allowed entries.
  int64_t step = 0;      // All allowed entries are multiples of it.
};

// Adds `cost` of `scope`'s values to every entry of a term whose scope includes it.
void AddInto(const std::vector<int>& scope, const CostTable& table, MergedTerm& term) {
  std::vector<size_t> strides(term.scope.size(), 0);
  size_t stride = 1;
  for (size_t d = scope.size(); d-- > 0;) {
    const auto place = std::lower_bound(term.scope.begin(), term.scope.end(), scope[d]);
    strides[static_cast<size_t>(place - term.scope.begin())] = stride;
    stride *= static_cast<size_t>(table.sizes[d]);
  }
  for (size_t entry = 0; entry < term.table.costs.size(); ++entry) {
    size_t rest = entry, own = 0;
    for (size_t d = term.scope.size(); d-- > 0;) {
      const size_t size = static_cast<size_t>(term.table.sizes[d]);
      own += rest % size * strides[d];
      rest /= size;
    }
    int64_t& cost = term.table.costs[entry];
    cost = std::min(cost + table.costs[own], kForbidden);
  }
}

// The problem's terms over variables with several values, and the sum of the others.
std::pair<std::vector<MergedTerm>, int64_t> ProperTerms(const MinSum& problem) {
  std::vector<MergedTerm> terms;
  int64_t constant = 0;
  for (const CostTerm& term : problem.terms) {
    MergedTerm proper{.scope = term.scope, .table = problem.tables[static_cast<size_t>(term.table)]};
    std::erase_if(proper.scope, [&](int variable) { return problem.domains[static_cast<size_t>(variable)] == 1; });
    std::erase(proper.table.sizes, 1);
    if (proper.scope.empty()) {
      constant = std::min(constant + proper.table.costs[0], kForbidden);
    } else {
      terms.push_back(std::move(proper));
    }
  }
  std::stable_sort(terms.begin(), terms.end(),
                   [](const MergedTerm& a, const MergedTerm& b) { return a.scope.size() > b.scope.size(); });
  return {std::move(terms), constant};
}

MergedProblem Merged(const MinSum& problem) {
  MergedProblem merged;
  std::vector<std::vector<size_t>> terms_of(problem.domains.size());
  auto [proper, constant] = ProperTerms(problem);
  merged.constant = constant;
  for (MergedTerm& term : proper) {
    const std::vector<size_t>& candidates = terms_of[static_cast<size_t>(term.scope[0])];
    const auto larger = std::find_if(candidates.begin(), candidates.end(), [&](size_t candidate) {
      const std::vector<int>& scope = merged.terms[candidate].scope;
      return std::includes(scope.begin(), scope.end(), term.scope.begin(), term.scope.end());
    });
    if (larger != candidates.end()) {
      AddInto(term.scope, term.table, merged.terms[*larger]);
      continue;
    }
    for (const int variable : term.scope) terms_of[static_cast<size_t>(variable)].push_back(merged.terms.size());
    merged.terms.push_back(std::move(term));
  }
  for (MergedTerm& term : merged.terms) {
    const int64_t least = *std::min_element(term.table.costs.begin(), term.table.costs.end());
    merged.constant = std::min(merged.constant + least, kForbidden);
    for (int64_t& cost : term.table.costs) {
      if (cost == kForbidden) continue;
      cost -= least;
      merged.greatest = std::max(merged.greatest, cost);
      merged.step = std::gcd(merged.step, cost);
    }
  }
  return merged;
}

// Where the columns of each variable begin. A variable with one value has one column that no row uses.
std::vector<int> FirstColumns(const std::vector<int>& domains) {
  std::vector<int> first;
  int next = 0;
  for (const int size : domains) {
    first.push_back(next);
    next += size;
  }
  first.push_back(next);
  return first;
}

// The first row of each dimension of each term, after one row per variable; at last the number of rows.
std::vector<int> FirstRows(const MergedProblem& problem, int variables) {
  std::vector<int> first;
  int next = variables;
  for (const MergedTerm& term : problem.terms) {
    for (const int size : term.table.sizes) {
      first.push_back(next);
      if (term.scope.size() > 1) next += size;
    }
  }
  first.push_back(next);
  return first;
}

// How terms use a variable's columns: by entries in rows, or by a cost where the term is over this variable alone.
struct ValueColumn {
  int64_t cost = 0;
  std::vector<int> rows;
};

std::vector<ValueColumn> ValueColumns(const MergedProblem& problem, const std::vector<int>& first_columns,
                                      const std::vector<int>& first_rows) {
  std::vector<ValueColumn> columns(static_cast<size_t>(first_columns.back()));
  size_t dimension = 0;
  for (const MergedTerm& term : problem.terms) {
    for (size_t d = 0; d < term.scope.size(); ++d, ++dimension) {
      const int column = first_columns[static_cast<size_t>(term.scope[d])];
      for (int value = 0; value < term.table.sizes[d]; ++value) {
        ValueColumn& own = columns[static_cast<size_t>(column + value)];
        if (term.scope.size() == 1) {
          own.cost = term.table.costs[static_cast<size_t>(value)];
        } else {
          own.rows.push_back(first_rows[dimension] + value);
        }
      }
    }
  }
  return columns;
}

// The columns of a term's entries. `first_rows` are those of its dimensions.
void AddEntryColumns(const MergedTerm& term, const int* first_rows, double unit, IntegerProgram& program) {
  for (size_t entry = 0; entry < term.table.costs.size(); ++entry) {
    const int64_t cost = term.table.costs[entry];
    if (cost == kForbidden) continue;
    program.AddColumn(static_cast<double>(cost) / unit, /*integer=*/false, /*allowed=*/true);
    size_t rest = entry;
    for (size_t d = term.scope.size(); d-- > 0;) {
      const size_t size = static_cast<size_t>(term.table.sizes[d]);
      program.AddEntry(first_rows[d] + static_cast<int>(rest % size), 1);
      rest /= size;
    }
  }
}

// The program with costs in units of `unit`.
IntegerProgram ProgramOf(const MergedProblem& problem, const std::vector<int>& domains, double unit) {
  const int variables = static_cast<int>(domains.size());
  const std::vector<int> first_columns = FirstColumns(domains);
  const std::vector<int> first_rows = FirstRows(problem, variables);
  const std::vector<ValueColumn> columns = ValueColumns(problem, first_columns, first_rows);
  IntegerProgram program;
  program.sums.assign(static_cast<size_t>(first_rows.back()), 0);
  std::fill_n(program.sums.begin(), domains.size(), 1);
  for (int variable = 0; variable < variables; ++variable) {
    const size_t begin = static_cast<size_t>(first_columns[static_cast<size_t>(variable)]);
    const size_t end = static_cast<size_t>(first_columns[static_cast<size_t>(variable) + 1]);
    for (size_t column = begin; column < end; ++column) {
      const bool allowed = columns[column].cost < kForbidden;
      program.AddColumn(allowed ? static_cast<double>(columns[column].cost) / unit : 0, /*integer=*/true, allowed);
      program.AddEntry(variable, 1);
      for (const int row : columns[column].rows) program.AddEntry(row, -1);
    }
  }
  size_t dimension = 0;
  for (const MergedTerm& term : problem.terms) {
    if (term.scope.size() > 1) AddEntryColumns(term, first_rows.data() + dimension, unit, program);
    dimension += term.scope.size();
  }
  return program;
}

// The value of each variable whose column is greatest.
std::vector<int> ValuesOf(const std::vector<double>& columns, const std::vector<int>& domains) {
  std::vector<int> values;
  auto begin = columns.begin();
  for (const int size : domains) {
    values.push_back(static_cast<int>(std::max_element(begin, begin + size) - begin));
    begin += size;
  }
  return values;
}

// The least cost that is possible according to the answer.
int64_t LowerBound(const MergedProblem& problem, const ProgramAnswer& answer, size_t variables, double increment,
                   double unit) {
  const double ones = static_cast<double>(variables + problem.terms.size());
  const double tolerance = kTolerance * (ones + std::abs(answer.bound));
  const double steps = std::ceil((answer.bound - increment - tolerance) * unit / static_cast<double>(problem.step));
  const double most = static_cast<double>(kForbidden / problem.step) / 2;
  if (!(steps > 0)) return problem.constant;
  const int64_t above = static_cast<int64_t>(std::min(steps, most)) * problem.step;
  return std::min(problem.constant + above, kForbidden);
}

Solution Priced(const MinSum& problem, std::vector<int> values) {
  Solution solution{.values = std::move(values)};
  solution.cost = CostOf(problem, solution.values);
  return solution;
}

}  // namespace

Solution SolveIlp(const MinSum& problem, const IlpOptions& options) {
  const MergedProblem merged = Merged(problem);
  const std::vector<int> fallback = options.start.empty() ? std::vector<int>(problem.domains.size(), 0) : options.start;
  Solution best = Priced(problem, fallback);
  best.lower_bound = merged.constant;
  if (merged.constant == best.cost || problem.domains.empty()) return best;

  const double unit = static_cast<double>(std::max<int64_t>(merged.greatest, 1));
  const double step = static_cast<double>(merged.step) / unit;
  ProgramLimits limits{.nodes = options.nodes, .increment = std::max(kTolerance, 0.5 * step), .start = {}};
  if (best.cost < kForbidden && !options.start.empty()) {
    const std::vector<int> first_columns = FirstColumns(problem.domains);
    for (size_t v = 0; v < fallback.size(); ++v) limits.start.push_back(first_columns[v] + fallback[v]);
  }
  const ProgramAnswer answer = SolveProgram(ProgramOf(merged, problem.domains, unit), limits);
  if (answer.is_infeasible) {
    CLEAVE_CHECK(best.cost == kForbidden) << "the integer program misses a choice that costs " << best.cost;
    best.lower_bound = kForbidden;
    return best;
  }
  if (!answer.columns.empty()) {
    Solution found = Priced(problem, ValuesOf(answer.columns, problem.domains));
    if (found.cost < best.cost) best = std::move(found);
  }
  best.lower_bound = merged.constant;
  if (merged.step > 0) {
    best.lower_bound = LowerBound(merged, answer, problem.domains.size(), limits.increment, unit);
  }
  best.lower_bound = std::min(best.lower_bound, best.cost);
  return best;
}

}  // namespace cleave::search
