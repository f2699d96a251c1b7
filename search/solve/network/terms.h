// The price of each value as a term: a function of the strategies of a search's variables, by formulas over strategy
// numbers.
//
// A StrategyFormula is the strategy of one op: a variable, a fixed number, or a function of other formulas (a backward
// op's of its forward op, a parameter's of its leader). A TermKind has the formulas of all ops on which the price of a
// value depends, over local variables 0, 1, …, so that equal layers have one kind.
#ifndef CLEAVE_SEARCH_SOLVE_NETWORK_TERMS_H_
#define CLEAVE_SEARCH_SOLVE_NETWORK_TERMS_H_

#include <map>
#include <optional>
#include <vector>

#include "search/solve/assignment/assignment.h"
#include "search/solve/assignment/strategy_table.h"
#include "search/solve/network/folding.h"

namespace cleave::search {

// The strategy of one op, from the formulas before it in the list.
struct StrategyFormula {
  enum class Kind {
    kVariable,   // Local variable `number`.
    kNumber,     // Strategy `number`: fixed by a demand, or replicated.
    kInherited,  // StrategyTable::Inherited of inputs[0].
    kStored,     // LyingLike what the op of inputs[0] reads in `slots[0]`.
    kUpdated,    // LyingLike the value of inputs[0].
    kSum,        // StrategyTable::Sum of the inputs; the last is the value whose gradient it is, if has_value.
    kData,       // StrategyTable::Data of what inputs[i] reads in `slots[i]`.
    kDataFrom,   // StrategyTable::DataFrom the value of inputs[0].
    kBatchCut,   // StrategyTable::BatchCut.
  };
  Kind kind = Kind::kNumber;
  ir::OpId op;
  int number = 0;
  bool has_value = false;
  std::vector<int> inputs = {};  // Formulas.
  std::vector<int> slots = {};
  int seen = -1;  // The layout that readers see by demand; -1: the produced one.
};

// One reader of the value.
struct TermRead {
  int formula = 0;
  int slot = 0;
  double weight = 1;
};

// The price of one value.
struct TermKind {
  int id = 0;
  std::vector<StrategyFormula> formulas;  // Of readers and the value; each uses earlier ones only.
  int variables = 0;
  ir::OpId value;     // Of one of the equal ones.
  int made = 0;       // The formula of the value's op.
  bool local = true;  // Whether Prices::local of the op is part of the term.
  bool moves = true;  // Whether redistributions of the value are.
  std::vector<TermRead> reads;
  std::vector<int> inner;  // Formulas of the ops whose InnerCost is part of the term.
  int inner_kind = -1;
};

struct Term {
  int kind = 0;
  int64_t count = 1;       // Number of equal values over this scope.
  std::vector<int> scope;  // Variables, ascending: local variable i is scope[i].
  bool never_more = true;  // Of a part: the sum of all parts for which this is true is never above the term.
  std::vector<int> parts;  // Replace this term where its table is too large; indexes into Terms::parts.
};

struct Terms {
  std::vector<ir::OpId> variables;  // The first op of each class.
  IdVector<ir::OpId, int> variable_of;
  std::vector<bool> fixed;
  std::vector<TermKind> kinds;
  std::vector<Term> terms;  // One per value that may cost something, in program order.
  std::vector<Term> parts;
};

// `folding` null: nothing is folded.
Terms TermsOf(StrategyTable& table, const OpDemands& demands, const AssignmentOptions& assignment,
              const Folding* folding);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_NETWORK_TERMS_H_
