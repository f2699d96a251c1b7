#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/zigzag.h"

namespace cleave::ir {
namespace {

struct Cut {
  int64_t columns = 0, pieces = 1, window = 0;
  bool zigzag = false, cuts_keys = false;
};

// How many pairs of a query and a key that it sees the piece has that has most.
int64_t Counted(const Cut& c) {
  const ZigzagOrder order{c.zigzag ? c.pieces : 0, c.columns};
  const int64_t size = c.columns / c.pieces;
  std::vector<int64_t> counts(static_cast<size_t>(c.pieces));
  for (int64_t at = 0; at < c.columns; ++at) {
    const int64_t row = order.PlaceOf(at);
    for (int64_t key = 0; key <= row; ++key) {
      if (c.window > 0 && row - key >= c.window) continue;
      ++counts[static_cast<size_t>((c.cuts_keys ? key : at) / size)];
    }
  }
  return *std::max_element(counts.begin(), counts.end());
}

// The share of its scores for which a piece is priced.
double Priced(OpKind kind, const Cut& c) {
  const int64_t size = c.columns / c.pieces;
  const int64_t rows = c.cuts_keys ? c.columns : size, keys = c.cuts_keys ? size : c.columns;
  const TensorType q = {DType::kF32, {1, rows, 4}}, k = {DType::kF32, {1, keys, 4}}, sums = {DType::kF32, {1, rows}};
  std::vector<TensorType> inputs = {q, k, k, sums};
  TensorType output = q;
  if (kind == OpKind::kAttentionGradientKey) {
    inputs = {q, k, k, q, sums, q};
    output = k;
  }
  Attributes attributes = {{attribute::kHeadsInside, std::vector<int64_t>{0, 0, 0, 0}},
                           {attribute::kWindow, 0},
                           {attribute::kCausal, false},
                           {attribute::kRanges, false},
                           {attribute::kBiased, false},
                           {attribute::kRate, 0.0}};
  const OpDefinition& definition = DefinitionOf(kind);
  const double all = definition.flops(inputs, output, attributes).value();
  attributes.Set(attribute::kCausal, true);
  attributes.Set(attribute::kWindow, c.window);
  if (c.zigzag) attributes.Set(attribute::kZigzag, c.pieces);
  return definition.flops(inputs, output, attributes).value() / all;
}

// The price of a piece is that of the largest one, up to a row and where a window begins within a piece.
TEST(AttentionFlopsTest, AreThoseOfTheLargestPiece) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 60; ++i) {
    Cut c{.pieces = 1 + static_cast<int64_t>(random() % 9), .zigzag = i % 2 == 0, .cuts_keys = i % 4 == 3};
    c.columns = 2 * c.pieces * (1 + static_cast<int64_t>(random() % 20));
    if (i % 3 == 0) c.window = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(c.columns));
    const int64_t size = c.columns / c.pieces;
    const OpKind kind = c.cuts_keys ? OpKind::kAttentionGradientKey : OpKind::kAttention;
    const double counted = static_cast<double>(Counted(c)) / static_cast<double>(size * c.columns);
    const double row = 1.0 / static_cast<double>(c.columns);
    const double slack = c.window > 0 ? static_cast<double>(size) * row : 0;
    SCOPED_TRACE(testing::Message() << c.columns << " rows in " << c.pieces << ", window " << c.window << ", zigzag "
                                    << c.zigzag << ", cuts keys " << c.cuts_keys);
    EXPECT_GE(Priced(kind, c), counted - row);
    EXPECT_LE(Priced(kind, c), counted + slack + 1e-12);
  }
}

}  // namespace
}  // namespace cleave::ir
