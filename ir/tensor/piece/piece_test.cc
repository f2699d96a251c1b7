#include "ir/tensor/piece/piece.h"

#include <set>

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

TEST(PieceTest, PiecesCoverADimensionInOrder) {
  for (int64_t elements = 0; elements <= 20; ++elements) {
    for (int64_t count = 1; count <= 13; ++count) {
      int64_t next = 0;
      for (int64_t i = 0; i < count; ++i) {
        const Piece piece = PieceOf(elements, count, i);
        EXPECT_EQ(piece.begin, next);
        EXPECT_LE(piece.size, LargestPiece(elements, count));
        next = piece.end();
      }
      EXPECT_EQ(next, elements);
    }
  }
}

TEST(PieceTest, PiecesOfInnerAxesMakeUpThePieceOfTheOuterOnes) {
  for (int64_t elements = 0; elements <= 20; ++elements) {
    for (int64_t outer = 1; outer <= 4; ++outer) {
      for (int64_t inner = 1; inner <= 4; ++inner) {
        for (int64_t i = 0; i < outer; ++i) {
          const Piece whole = PieceOf(elements, outer, i);
          EXPECT_EQ(PieceOf(elements, outer * inner, i * inner).begin, whole.begin);
          EXPECT_EQ(PieceOf(elements, outer * inner, i * inner + inner - 1).end(), whole.end());
        }
      }
    }
  }
}

TEST(PieceTest, HugeCountsDoNotOverflow) {
  const int64_t elements = int64_t{1} << 62;
  EXPECT_EQ(PieceOf(elements, 1 << 20, (1 << 20) - 1), (Piece{elements - (elements >> 20), elements >> 20}));
}

TEST(PieceTest, IntersectionsOfDisjointPiecesAreEmpty) {
  EXPECT_EQ(Intersection({2, 3}, {4, 5}), (Piece{4, 1}));
  EXPECT_EQ(Intersection({2, 3}, {5, 5}), (Piece{0, 0}));
  EXPECT_TRUE((Piece{2, 3}).Contains({0, 0}));
  EXPECT_FALSE((Piece{2, 3}).Contains({1, 2}));
}

// The rows that a convolution's output rows [b, e) look at, one by one.
std::set<int64_t> RowsOfConvolution(const Piece& piece, int64_t rows, int64_t stride, int64_t padding, int64_t width,
                                    int64_t dilation) {
  std::set<int64_t> read;
  for (int64_t o = piece.begin; o < piece.end(); ++o) {
    for (int64_t w = 0; w < width; ++w) {
      const int64_t row = o * stride - padding + w * dilation;
      if (row >= 0 && row < rows) read.insert(row);
    }
  }
  return read;
}

TEST(WindowTest, HoldsAllThatAConvolutionLooksAt) {
  for (int64_t stride = 1; stride <= 3; ++stride) {
    for (int64_t padding = 0; padding <= 2; ++padding) {
      for (int64_t width = 1; width <= 3; ++width) {
        for (int64_t dilation = 1; dilation <= 2; ++dilation) {
          const int64_t rows = 11;
          const int64_t extent = dilation * (width - 1) + 1;
          const int64_t outer = (rows + 2 * padding - extent) / stride + 1;
          const Window forward{
              .elements = rows, .outer = outer, .numerator = stride, .first = -padding, .last = extent - 1 - padding};
          const Window backward{.elements = outer,
                                .outer = rows,
                                .denominator = stride,
                                .first = padding - extent + stride,
                                .last = padding};
          for (int64_t count = 2; count <= 5; ++count) {
            for (int64_t i = 0; i < count; ++i) {
              const Piece piece = PieceOf(outer, count, i);
              const std::set<int64_t> read = RowsOfConvolution(piece, rows, stride, padding, width, dilation);
              const Piece window = forward.Of(piece);
              for (int64_t row : read) EXPECT_TRUE(window.Contains({row, 1})) << row;
              // Where no row is skipped, the window has nothing else.
              if (dilation == 1 && piece.size > 0 && stride <= width) {
                EXPECT_EQ(window.size, static_cast<int64_t>(read.size()));
              }
              // Every output row that reads one of these input rows is in the gradient's window.
              const Piece mine = PieceOf(rows, count, i);
              for (int64_t o = 0; o < outer; ++o) {
                for (int64_t row : RowsOfConvolution({o, 1}, rows, stride, padding, width, dilation)) {
                  if (mine.Contains({row, 1})) {
                    EXPECT_TRUE(backward.Of(mine).Contains({o, 1})) << o << " " << row;
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(WindowTest, HasWhatIsReadAndNoMore) {
  const Window window{.elements = 10, .outer = 3, .numerator = 2, .first = 1, .last = 1};
  EXPECT_EQ(window.Of({0, 3}), (Piece{1, 5}));
  EXPECT_EQ(window.Of({1, 0}), (Piece{0, 0}));
  EXPECT_EQ(window.Of({1, 2}), (Piece{3, 3}));
}

}  // namespace
}  // namespace cleave::ir
