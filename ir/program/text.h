// The text form of a Program as one rank runs it, with local shapes and the ranks of each group; parsed back.
//
//   program MnistMlp "mnist_mlp.model" mesh(m0=2, m1=2, m2=2) rank 1 {
//     %14: f32[64, 512] = matmul(%12, %13) {transpose_b = true} in_strategy((4, 2), (1, 2))  // h1.matmul, mlp.model:7
//     %15: f32[64, 512] = all_reduce(%14) {op = sum, axes = (m2), ranks = (0, 1)}            // partial sums
//   }
#ifndef CLEAVE_IR_PROGRAM_TEXT_H_
#define CLEAVE_IR_PROGRAM_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/program/program.h"

namespace cleave::ir {

// The program as `rank` runs it. Global types and layouts stand in a `value` table after the steps, so the text is
// complete.
std::string ProgramText(const Program& program, int rank);

absl::StatusOr<Program> ParseProgram(absl::string_view text);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_TEXT_H_
