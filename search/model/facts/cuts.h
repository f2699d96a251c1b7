// Adds cuts to strategies and layouts, or removes them.
#ifndef CLEAVE_SEARCH_MODEL_FACTS_CUTS_H_
#define CLEAVE_SEARCH_MODEL_FACTS_CUTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/tensor/rule/rule.h"
#include "ir/tensor/types/types.h"

namespace cleave::search {

// The layout in which as many axes as have elements cut the first dimension.
ir::Layout CutByBatch(const ir::Shape& shape, const ir::Mesh& mesh);

// The most pieces into which a search cuts a factor: the number of its elements, or, for a slice, of the dimension that
// is sliced. A short slice is then made on the ranks that have its elements; if it could not be cut, every rank would
// need the whole dimension.
int64_t MostPieces(const ir::Rule& rule, int factor);

// `strategy` without `axis`.
ir::Strategy Without(const ir::Strategy& strategy, ir::AxisId axis);

// The dimension of `layout` that `axis` cuts; -1 for none.
int DimensionCutBy(const ir::Layout& layout, ir::AxisId axis);

// `strategy`, which does not use `axis`, with `factor` cut by it; nullopt where that is not valid. Among the factor's
// axes, `axis` gets its position in `order`, or the innermost one if it is not in `order`.
std::optional<ir::Strategy> WithFactorCut(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh,
                                          int factor, ir::AxisId axis, const ir::AxisList& order);

// The same for the first factor of a tensor's dimension that has elements left.
std::optional<ir::Strategy> WithDimensionCut(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh,
                                             const std::vector<ir::FactorList>& dimensions, size_t dimension,
                                             ir::AxisId axis, const ir::AxisList& order);

// The strategy under which an input or the output, whose factors are `dimensions`, has layout `layout`, without axes
// that the rule cannot place and without partial sums.
ir::Strategy StrategyFromDimensions(const ir::Layout& layout, const std::vector<ir::FactorList>& dimensions,
                                    const ir::Rule& rule, const ir::Mesh& mesh);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_FACTS_CUTS_H_
