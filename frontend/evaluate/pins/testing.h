// What tests of pins share.
#ifndef CLEAVE_FRONTEND_EVALUATE_PINS_TESTING_H_
#define CLEAVE_FRONTEND_EVALUATE_PINS_TESTING_H_

#include <cstdint>
#include <vector>

#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

// Empty where no counts are given.
inline std::vector<int64_t> NumbersOf(const ir::CountsPin& counts) {
  std::vector<int64_t> numbers;
  if (!counts.has_value()) return numbers;
  for (const ir::Placed<int64_t>& count : *counts) numbers.push_back(count.value);
  return numbers;
}

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_PINS_TESTING_H_
