// The relative cost of SAPP as published: element counts at the current level, no bytes, no links, one halving per
// level.
//
// A product A(I, K) x B(K, J) = C(I, J): cutting I costs 0.1 |B| / 2, J costs |A| / 2, K costs |C| / 2, a batch factor
// nothing. A tensor between two products costs `redistribution_weight` times its elements if the level cuts it
// differently on both sides, else nothing. Source: the symbolic cost model of D-Rec / SAPP (docs/cost.md).
#ifndef CLEAVE_SEARCH_PRICE_COST_CLASSIC_H_
#define CLEAVE_SEARCH_PRICE_COST_CLASSIC_H_

#include <vector>

#include "ir/sharding/strategy/strategy.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::search {

struct ClassicOptions {
  double row_weight = 0.1;  // The published constant c.
  double redistribution_weight = 16;
};

// The published letter of a factor of a product's rule.
enum class ProductFactor { kBatch, kRows, kColumns, kContracted, kOther };

ProductFactor ProductFactorOf(const ir::Rule& rule, int factor);

// The local elements of a tensor whose dimensions consist of the factors `dimensions`, under `strategy`.
double LocalElements(const ir::Rule& rule, const ir::Strategy& strategy, const ir::Mesh& mesh,
                     const std::vector<ir::FactorList>& dimensions);

// The local elements of an input, without the halos of dimensions that are read in windows.
double LocalInputElements(const ir::Rule& rule, const ir::Strategy& strategy, const ir::Mesh& mesh, int input);

// The cost inside the op of cutting `factor` one level further. REQUIRES: the rule is a product's.
double ClassicFactorCost(const ir::Rule& rule, const ir::Strategy& strategy, const ir::Mesh& mesh, int factor,
                         const ClassicOptions& options = {});

// Whether the published rules allow the cut: columns and the contracted dimension exclude each other.
bool ClassicAllows(const ir::Rule& rule, const ir::Strategy& strategy, int factor);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_CLASSIC_H_
