#include "ir/tensor/piece/sliding.h"

namespace cleave::ir {

int64_t Sliding::OutputSize(int64_t input) const {
  const int64_t room = input + 2 * padding - span();
  return room < 0 ? 0 : room / stride + 1;
}

int64_t Sliding::InputSize(int64_t output) const { return (output - 1) * stride + span() - 2 * padding; }

Window Sliding::OverInput(int64_t input, int64_t output) const {
  return {.elements = input, .outer = output, .numerator = stride, .first = -padding, .last = span() - 1 - padding};
}

Window Sliding::OverOutput(int64_t input, int64_t output) const {
  return {
      .elements = output, .outer = input, .denominator = stride, .first = padding - span() + stride, .last = padding};
}

}  // namespace cleave::ir
