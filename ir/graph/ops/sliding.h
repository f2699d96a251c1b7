// A kernel that slides over the rows and columns of images [n, c, h, w]: shared by convolutions and poolings. Inside of
// ir/graph/ops only.
//
// Padding is at the ends of the whole image, never at the border of a rank's piece.
#ifndef CLEAVE_IR_GRAPH_OPS_SLIDING_H_
#define CLEAVE_IR_GRAPH_OPS_SLIDING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/ops.h"
#include "ir/tensor/piece/piece.h"
#include "ir/tensor/piece/sliding.h"

namespace cleave::ir {

struct Sliding2d {
  Sliding rows;
  Sliding columns;
};

// An attribute that holds (rows, columns), or one number for both.
struct Pair {
  int64_t rows = 0;
  int64_t columns = 0;
};
Pair PairOf(const Attributes& attributes, Attribute<std::vector<int64_t>> key);
void SetPair(Attribute<std::vector<int64_t>> key, int64_t rows, int64_t columns, Attributes& attributes);

// A kernel, stride, padding or dilation is at most this: places in a padded image then fit int64_t.
inline constexpr int64_t kMaxSliding = (int64_t{1} << 31) - 1;

// An error unless the attribute holds one or two numbers from `least` to `most`.
std::optional<OpError> CheckPair(const Attributes& attributes, Attribute<std::vector<int64_t>> key, int64_t least,
                                 int64_t most = kMaxSliding);

// An error unless input `index` is f32 with four dimensions; `argument` is its name in the signature.
std::optional<OpError> CheckImages(Types inputs, int index, const std::string& argument);

// An error where the kernel fits nowhere into images of input `index`, padded.
std::optional<OpError> CheckFits(Types inputs, int index, const Sliding2d& sliding);

// [n, channels, h', w'] for images [n, _, h, w].
Shape SlidOver(const Shape& images, int64_t channels, const Sliding2d& sliding);

// Along one dimension on one rank: local pieces and where they begin in the whole.
struct LocalSliding {
  Sliding sliding;
  Piece input;
  Piece output;

  // The local element of the input that local output element `i` looks at with tap `tap`; -1 for padding.
  int64_t At(int64_t i, int64_t tap) const;
  // The local output elements that look at an element with tap `tap`.
  Piece OutputsOf(int64_t tap) const;
};

struct LocalSliding2d {
  LocalSliding rows;
  LocalSliding columns;

  // Calls visit(input, output, tap) with indexes into one local image, one local output and the kernel, all row-major,
  // for every place at which an output element looks at an element; taps of one output element in order.
  template <typename Visit>
  void ForEachTap(Visit visit) const {
    ForEachRun([&](int64_t input, int64_t output, int64_t tap, int64_t count) {
      for (int64_t i = 0; i < count; ++i) visit(input + i * columns.sliding.stride, output + i, tap);
    });
  }

  // The same with visit(input, output, tap, count) for `count` neighbours in a row of the output at once, which look at
  // elements that lie columns.sliding.stride apart.
  template <typename Visit>
  void ForEachRun(Visit visit) const {
    for (int64_t row_tap = 0; row_tap < rows.sliding.kernel; ++row_tap) {
      const Piece looking_rows = rows.OutputsOf(row_tap);
      for (int64_t column_tap = 0; column_tap < columns.sliding.kernel; ++column_tap) {
        const Piece looking = columns.OutputsOf(column_tap);
        if (looking.size == 0) continue;
        const int64_t column = columns.At(looking.begin, column_tap);
        for (int64_t row = looking_rows.begin; row < looking_rows.end(); ++row) {
          visit(rows.At(row, row_tap) * columns.input.size + column, row * columns.output.size + looking.begin,
                row_tap * columns.sliding.kernel + column_tap, looking.size);
        }
      }
    }
  }
};

// How the kernel of a rule's first windows slides: those of the rows, then those of the columns.
Sliding2d SlidingOf(const Rule& rule);

// The two factors of a rule that stand for rows and columns.
struct ImageFactors {
  int rows = 0;
  int columns = 0;
};

// The local sliding of a rank when the factors are those of the output (`images`: the local input), or of the input
// (`outputs`: the local output, which is read in windows).
LocalSliding2d SlidingOverInput(const Evaluation& evaluation, const Sliding2d& sliding, ImageFactors factors,
                                const Shape& images);
LocalSliding2d SlidingOverOutput(const Evaluation& evaluation, const Sliding2d& sliding, ImageFactors factors,
                                 const Shape& outputs);

// A Sliding of the runtime, between dimensions of two tensors of a call.
CallArgument SlidingArgument(const Sliding& sliding, const LocalDimension& input, const LocalDimension& output);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_SLIDING_H_
