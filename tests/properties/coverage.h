// What a number of cases has covered, so that a gap can be seen.
#ifndef CLEAVE_TESTS_PROPERTIES_COVERAGE_H_
#define CLEAVE_TESTS_PROPERTIES_COVERAGE_H_

#include <cstdint>
#include <map>
#include <string>

#include "ir/program/program.h"

namespace cleave::tests::properties {

struct Coverage {
  int64_t cases = 0;
  std::map<std::string, int64_t> ops;        // Steps by kind of op.
  std::map<std::string, int64_t> cut_ops;    // Those with a factor cut or a sum that passes.
  std::map<std::string, int64_t> movements;  // Collectives by kind, and slices.
  std::map<std::string, int64_t>
      features;                      // Phases, passes, merged collectives, windows, partial maxima, empty pieces.
  std::map<int64_t, int64_t> ranks;  // Cases by number of ranks.

  void Add(const ir::Program& program);
  void Add(const Coverage& other);

  std::string Text() const;
};

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_COVERAGE_H_
