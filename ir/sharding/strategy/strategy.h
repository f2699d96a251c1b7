// For one op: which mesh axes cut which factor of its rule. Layouts of its inputs and output follow.
//
//   matmul "i k, j k -> i j" on 2x2x2 with i: m0 m1, k: m2
//     inputs [m0 m1, m2] and [-, m2], output [m0 m1, -] partial(m2: sum); in_strategy ((4, 2), (1, 2))
//
// Ranks along an axis that no factor and no pass-through uses repeat the work.
#ifndef CLEAVE_IR_SHARDING_STRATEGY_STRATEGY_H_
#define CLEAVE_IR_SHARDING_STRATEGY_STRATEGY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {

// A partial sum over `axis` passes through the op: the inputs of linear group `group` and the output are partial over
// it.
struct PassThrough {
  AxisId axis;
  int group = 0;  // Index into Rule::linear.

  bool operator==(const PassThrough&) const = default;
};

struct Strategy {
  std::vector<AxisList> cuts;       // For each factor of the op's rule the axes that cut it, major first.
  std::vector<PassThrough> passes;  // Ordered by axis.

  static Strategy Replicated(const Rule& rule) {
    return Strategy{.cuts = std::vector<AxisList>(rule.factors.size()), .passes = {}};
  }

  bool operator==(const Strategy&) const = default;
};

// An error where no strategy may cut the factor into `count` pieces. The message is for the user.
absl::Status CheckPieces(const Factor& factor, int64_t count);

// Checks that no axis is used twice, that CheckPieces allows what each factor is cut into, and that the axes of a
// reduced factor and of a pass-through are distinct.
absl::Status VerifyCuts(const Strategy& strategy, const Rule& rule, const Mesh& mesh);

// Checks the cuts, and how they go together. In a compound dimension an axis may cut a factor only when all
// more major factors of that dimension are exhausted (cut into single elements). Its cut must divide the factor, unless
// no elements of less major factors follow, because only then the pieces are those of the layout convention. A factor
// that is the only one of its dimensions may be cut unevenly, also into more pieces than it has elements.
absl::Status VerifyStrategy(const Strategy& strategy, const Rule& rule, const Mesh& mesh);

// The strategy with `axis` appended to factor `factor`'s axes, if that is valid.
absl::StatusOr<Strategy> WithCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int factor, AxisId axis);

// The layout in which the op reads input `input` (with windows where its rule has them), and the layout of its value
// (partial where a reduced factor is cut or a sum passes).
Layout InputLayout(const Strategy& strategy, const Rule& rule, int input);
Layout OutputLayout(const Strategy& strategy, const Rule& rule);

// The part of each factor that `rank` works on.
std::vector<FactorRange> RangesOf(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int rank);

// Classic integer form: for each input and each of its dimensions the number of slices.
std::vector<std::vector<int64_t>> InStrategy(const Strategy& strategy, const Rule& rule, const Mesh& mesh);
std::vector<int64_t> OutStrategy(const Strategy& strategy, const Rule& rule, const Mesh& mesh);
std::string InStrategyText(const std::vector<std::vector<int64_t>>& in_strategy);  // "((4, 2), (1, 2))"

// The place of a number in the classic form; -1 where there is none.
struct CountsPlace {
  int input = -1;
  int dimension = -1;
};

// From the classic form (docs/language.md, "Pins"): factors take mesh axes in the order in which they appear, first
// input first, left to right, outermost axis first; the first assignment in lexicographic order whose products match.
// nullopt in `counts` is `auto`: left uncut unless another input cuts the same factor. Errors: RESOURCE_EXHAUSTED where
// all counts together need more axes than the mesh has; INVALID_ARGUMENT for a count that no product of axes gives, two
// counts for one factor, a whole factor that is cut, and wrong lengths. The message is for the user; `place`, where not
// null, gets the place of the offending number.
absl::StatusOr<Strategy> StrategyFromCounts(const std::vector<std::optional<std::vector<int64_t>>>& counts,
                                            const Rule& rule, const Mesh& mesh, CountsPlace* place);

// The strategy of the forward op for an op that inherits from it (Op::inherits): each axis cuts the factor that maps to
// the forward op's. Axes whose factor has no counterpart stay idle, and cuts that are not valid here are left out.
Strategy InheritStrategy(const Strategy& forward, const Inheritance& inheritance, const Rule& rule, const Mesh& mesh);

// The strategy under which the op's value has `layout` in its dimensions (reduced factors uncut); an error where the
// rule cannot give it.
absl::StatusOr<Strategy> StrategyFromOutputLayout(const Layout& layout, const Rule& rule, const Mesh& mesh);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_STRATEGY_STRATEGY_H_
