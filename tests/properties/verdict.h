// The verdict of the compiler's proof on a broken program.
#ifndef CLEAVE_TESTS_PROPERTIES_VERDICT_H_
#define CLEAVE_TESTS_PROPERTIES_VERDICT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/properties/case.h"
#include "tests/properties/mutations.h"

namespace cleave::tests::properties {

struct Verdicts {
  int64_t applied = 0;
  int64_t statically = 0;     // Caught by the static check.
  int64_t by_simulation = 0;  // Caught by the simulated program only.
  int64_t equivalent = 0;     // Not caught, because the mutant is not a mistake.
  int64_t missed = 0;
};

// By mutation.
using VerdictTable = std::map<std::string, Verdicts>;

// Applies each of `mutations` to up to `places` random places of the program, and adds the verdicts of the proof to the
// table. Returns the texts of the mutants that the proof missed.
//
// A mutant that the proof accepts is equivalent, and no mistake, when the whole program, in its own sizes and on all
// its ranks, has the results of the graph and computes all values of one device on five independent draws of the
// sources. What ops compute is piecewise analytic in the sources; two such functions that agree at a random point agree
// everywhere around it with probability one (the zeros of an analytic function that is not zero have measure zero), and
// the draws visit the pieces.
std::vector<std::string> TryMutants(const Compiled& compiled, const std::vector<Mutation>& mutations, int places,
                                    uint64_t seed, VerdictTable& table);

std::string TableText(const VerdictTable& table);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_VERDICT_H_
