// A linear program over columns from 0 to 1, some of them integers, as CBC takes it.
#ifndef CLEAVE_SEARCH_MINSUM_INTEGER_PROGRAM_H_
#define CLEAVE_SEARCH_MINSUM_INTEGER_PROGRAM_H_

#include <cstdint>
#include <vector>

namespace cleave::search {

// Rows are equations.
struct IntegerProgram {
  std::vector<double> objective;  // Per column; the sum is minimised.
  std::vector<char> is_integer;   // Per column.
  std::vector<double> upper;      // Per column: 1, or 0 where the column must not be used.
  std::vector<int> starts;        // Per column, where its entries begin; one more at the end.
  std::vector<int> rows;          // Of the entries.
  std::vector<double> entries;
  std::vector<double> sums;  // Per row, the right side.

  int column_count() const { return static_cast<int>(objective.size()); }
  // Adds a column without entries.
  void AddColumn(double cost, bool integer, bool allowed);
  // To the column that was added last.
  void AddEntry(int row, double entry);
};

struct ProgramLimits {
  int64_t nodes = 0;
  // The search does not look for a solution that is better by less than this.
  double increment = 0;
  std::vector<int> start;  // Integer columns at 1 to begin with; empty for none.
};

struct ProgramAnswer {
  bool is_infeasible = false;
  std::vector<double> columns = {};  // The best solution, or that of the last relaxation where there is none.
  // No solution is better by more than the increment and the solver's tolerance, kTolerance for each column that is 1.
  double bound = 0;
};

// On the reduced costs of columns.
constexpr double kTolerance = 1e-9;

// Solves by branch and bound in one thread, without a time limit. Prints nothing.
ProgramAnswer SolveProgram(const IntegerProgram& program, const ProgramLimits& limits);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MINSUM_INTEGER_PROGRAM_H_
