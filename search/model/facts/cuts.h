// Strategies and layouts with one cut more or less.
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

// The layout in which the axes cut the first dimension, as many of them as it has elements for.
ir::Layout CutByBatch(const ir::Shape& shape, const ir::Mesh& mesh);

// Into how many pieces a search cuts a factor: as many as it has elements, or, where it is a slice of a dimension, as
// that dimension has. A short slice of a cut dimension is then made where its elements lie, and other ranks have none
// of it; if it could not be cut, every rank would need the whole dimension.
int64_t MostPieces(const ir::Rule& rule, int factor);

// `strategy` without `axis`.
ir::Strategy Without(const ir::Strategy& strategy, ir::AxisId axis);

// The dimension of `layout` that `axis` cuts; -1 for none.
int DimensionCutBy(const ir::Layout& layout, ir::AxisId axis);

// `strategy`, which does not use `axis`, with `factor` cut by it; nullopt where that is not valid. Among the factor's
// axes, `axis` takes the place that it has in `order`, or the innermost one if it is not in `order`.
std::optional<ir::Strategy> WithFactorCut(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh,
                                          int factor, ir::AxisId axis, const ir::AxisList& order);

// The same for a dimension of a tensor of the rule: the first of its factors that has elements left.
std::optional<ir::Strategy> WithDimensionCut(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh,
                                             const std::vector<ir::FactorList>& dimensions, size_t dimension,
                                             ir::AxisId axis, const ir::AxisList& order);

// The strategy that gives an input or the output, whose factors are `dimensions`, the layout `layout` as far as the
// rule can express it: axes that do not fit are left out, and so are partial sums.
ir::Strategy StrategyFromDimensions(const ir::Layout& layout, const std::vector<ir::FactorList>& dimensions,
                                    const ir::Rule& rule, const ir::Mesh& mesh);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_FACTS_CUTS_H_
