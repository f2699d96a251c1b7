// Whether a value hangs on the last bits of what it is computed from: the sign of a sum that is zero but for rounding,
// the largest of equal elements.
//
// A split program adds in another order than one device, so such a value may differ though nothing is wrong.
#ifndef CLEAVE_IR_CHECK_CONDITIONING_H_
#define CLEAVE_IR_CHECK_CONDITIONING_H_

#include <cstdint>
#include <random>

#include "ir/graph/graph.h"
#include "ir/interpret/interpret.h"

namespace cleave {

// The value of every op, as InterpretGraph has it, but with every value that an op computes changed by up to
// `disturbance` of its tensor's largest element, and what is cast to or computed in bf16 by up to `of_bf16`.
IdVector<OpId, Tensor> InterpretDisturbed(double disturbance, const Graph& graph, const SourceValues& sources,
                                          int64_t step, std::mt19937_64& random, double of_bf16 = 0);

// Interprets the disturbed graph some times over. Per op, how far its value moves at most, relative to its largest element, or absolute below 1;
// infinite where it comes or ceases to be finite.
IdVector<OpId, double> MovementUnder(double disturbance, const Graph& graph, const SourceValues& sources, int64_t step);

// True for the ops whose values move by more than kAmplified under kDisturbance, or when what ops compute loses its last
// bits, so that values that should be equal are.
inline constexpr double kDisturbance = 1e-13;
inline constexpr double kAmplified = 1e-10;
IdVector<OpId, char> HangOnRounding(const Graph& graph, const SourceValues& sources, int64_t step);

}  // namespace cleave

#endif  // CLEAVE_IR_CHECK_CONDITIONING_H_
