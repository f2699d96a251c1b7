// Min-sum problems for tests.
#ifndef CLEAVE_SEARCH_SOLVE_MINSUM_RANDOM_PROBLEM_H_
#define CLEAVE_SEARCH_SOLVE_MINSUM_RANDOM_PROBLEM_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "search/solve/minsum/minsum.h"

namespace cleave::search {

struct RandomProblemOptions {
  int variables = 6;        // At most.
  int domain = 4;           // At most.
  int terms = 10;           // At most.
  int scope = 3;            // At most.
  int64_t cost = 20;        // At most, where not forbidden.
  double forbidden = 0.05;  // The share of forbidden entries.
};

MinSum RandomProblem(const RandomProblemOptions& options, std::mt19937_64& random);

// A chain of equal layers with 25 variables each: a trunk with leaves and short cuts, and one variable that all layers
// share. Domains of 3 to 8, some 60 tables over one to four variables.
MinSum LayeredProblem(int layers, std::mt19937_64& random);

// The best choice, found by trying all of them; of equal ones the first in the order of counting.
Solution BruteForce(const MinSum& problem);

std::string ToString(const MinSum& problem);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_MINSUM_RANDOM_PROBLEM_H_
