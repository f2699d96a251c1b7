// Products in chunks of their rows, so that the reduction of one chunk runs beside the product of the next one.
//
//   y = matmul(x, w), partial(m1: sum), which its readers want complete
//   -> y.rows = x as [pieces, chunks, rows, k]      y.0 = matmul(y.rows[:, 0], w), all-reduced
//                                                   y.1 = matmul(y.rows[:, 1], w), all-reduced …
//      y = concat(y.0, y.1, …) in the shape of y
//
// Each rank computes as much as before, of its own rows: `pieces` are what ranks and micro-batches cut rows into, in
// all layouts that x and y have here, and a chunk has as many rows of each. No sum over k is divided, so the numbers
// are those of the whole product, as far as the library that multiplies adds a row up alike whatever the other rows
// are. (Wang et al. 2023, "Overlap Communication with Dependent Computation via Decomposition", decompose along such a
// dimension too.)
#ifndef CLEAVE_IR_TRANSFORMS_DISTRIBUTE_CHUNKS_H_
#define CLEAVE_IR_TRANSFORMS_DISTRIBUTE_CHUNKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// The products that, under the strategies of the plan, can be computed in so many chunks. REQUIRES: VerifyGraph finds
// no error, the strategies of the plan are valid, and chunks > 1.
std::vector<OpId> ProductsInChunks(const Graph& graph, const Plan& plan, int64_t chunks);

// Why the op is none of these, as a clause: "its sums are not divided between ranks"; nullopt where it is one.
std::optional<std::string> WhyNotInChunks(const Graph& graph, const Plan& plan, OpId op, int64_t chunks);

// The graph and plan in which products are chunks as the plan says (OpPlan::chunks), where they can be; nullopt where
// there is none.
std::optional<Distributed> WithChunkedProducts(const Graph& graph, const Plan& plan);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_CHUNKS_H_
