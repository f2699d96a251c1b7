// Whether a value depends on the last bits of what it is computed from: the sign of a sum that is zero except for
// rounding, or the largest of equal elements.
//
// A split program adds in another order than one device, so such a value may differ though nothing is wrong.
#ifndef CLEAVE_IR_PROOF_CHECK_CONDITIONING_H_
#define CLEAVE_IR_PROOF_CHECK_CONDITIONING_H_

#include <cstdint>
#include <random>

#include "ir/graph/graph.h"
#include "ir/proof/interpret/interpret.h"

namespace cleave::ir {

// The value of every op as InterpretGraph has it, except that every value that an op computes is changed by up to
// `disturbance` of its tensor's largest element, and what is cast to or computed in 16 bits by up to `of_16_bits`.
IdVector<OpId, Tensor> InterpretDisturbed(double disturbance, const Graph& graph, const SourceValues& sources,
                                          int64_t step, std::mt19937_64& random, double of_16_bits = 0);

// Interprets the disturbed graph several times. For each op: how far its value moves at most, relative to its largest
// element, or absolute below 1; infinite where it becomes finite or ceases to be.
IdVector<OpId, double> MovementUnder(double disturbance, const Graph& graph, const SourceValues& sources, int64_t step);

// True for the ops whose values move by more than kAmplified under kDisturbance, or when everything that ops compute
// loses its last bits, which makes values equal that should be.
inline constexpr double kDisturbance = 1e-13;
inline constexpr double kAmplified = 1e-10;
IdVector<OpId, char> HangOnRounding(const Graph& graph, const SourceValues& sources, int64_t step);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_CONDITIONING_H_
