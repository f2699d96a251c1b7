// Whether what is said once says what was to be said: the third half of the proof (docs/proof.md). The first two end at
// the program as a value; this one says that loops over layers, structs of layers and forms give the same statements.
#ifndef CLEAVE_CODEGEN_ROLL_UNROLL_H_
#define CLEAVE_CODEGEN_ROLL_UNROLL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/roll/roll.h"

namespace cleave::codegen {

// What one execution of a statement does: which statement it is, where each buffer that it refers to lies in each
// micro-batch, and the names and lines that it gives.
struct Invocation {
  std::string shape;
  std::vector<Place::Kind> kinds;
  std::vector<std::vector<int64_t>> places;  // By buffer and micro-batch.
  std::vector<std::pair<std::string, int>> names;

  bool operator==(const Invocation&) const = default;
};

// The invocations of a list of the rolled program, in the order in which it runs: loops are run, calls are made, and
// fields are computed from their forms. An error where the program refers to a layer, a field or a piece that is not
// there. `micro_batches` >= 1.
absl::StatusOr<std::vector<Invocation>> Unroll(const RolledProgram& rolled, size_t list,
                                               const std::vector<std::vector<Statement>>& lists, int64_t micro_batches,
                                               const std::function<Buffer(int buffer)>& buffer_of);

// OK if each list of the rolled program unrolls to its statements, one by one; else what differs first. Takes time
// linear in the number of references and of micro-batches.
absl::Status CheckUnrolled(const RolledProgram& rolled, const std::vector<std::vector<Statement>>& lists,
                           int64_t micro_batches, const std::function<Buffer(int buffer)>& buffer_of);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_ROLL_UNROLL_H_
