// How the values of a graph get their price from the strategies of a search's variables: formulas over strategy
// numbers.
//
// A StrategyFormula says how one op gets its strategy: it is a variable, a fixed number, or follows from other formulas
// (a backward op from its forward op, a parameter from its leader). A TermKind is the price of a value as a function of
// its scope's strategies, with its formulas written over local variables 0, 1, …, so that equal layers have one kind.
#ifndef CLEAVE_SEARCH_SOLVE_NETWORK_TERMS_H_
#define CLEAVE_SEARCH_SOLVE_NETWORK_TERMS_H_

#include <map>
#include <optional>
#include <vector>

#include "search/solve/assignment/assignment.h"
#include "search/solve/assignment/strategy_table.h"
#include "search/solve/network/folding.h"

namespace cleave::search {

// How an op gets its strategy from the formulas before it in the list.
struct StrategyFormula {
  enum class Kind {
    kVariable,   // Local variable `number`.
    kNumber,     // Strategy `number`: fixed by a demand, or replicated.
    kInherited,  // StrategyTable::Inherited of inputs[0].
    kStored,     // LyingLike what the op of inputs[0] reads in `slots[0]`.
    kUpdated,    // LyingLike the value of inputs[0].
    kSum,        // StrategyTable::Sum of the values of inputs; the last is the value summed for where has_value.
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
  int seen = -1;  // The layout that consumers see by demand; -1: what is made.
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
  std::vector<StrategyFormula> formulas;  // In order: a formula uses earlier ones. Those of reads and of the value.
  int variables = 0;
  ir::OpId value;     // Of one that stands for all.
  int made = 0;       // The formula of the value's op.
  bool local = true;  // What the op costs by itself is counted here.
  bool moves = true;  // Redistributions of the value are priced.
  std::vector<TermRead> reads;
  std::vector<int> inner;  // Formulas of the ops whose distributed forms are priced here.
  int inner_kind = -1;
};

struct Term {
  int kind = 0;
  int64_t count = 1;       // How often it occurs over this scope.
  std::vector<int> scope;  // Variables, ascending: local variable i is scope[i].
  bool never_more = true;  // For a part: all parts for which this is true together are never above the term.
  std::vector<int> parts;  // Terms that stand for this one where its table is too large; indices into Terms::parts.
};

struct Terms {
  std::vector<ir::OpId> variables;  // The first op of each.
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
