// Bytes that known plans send, in closed form: n ranks, P bytes of parameters, A bytes of an activation.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/collective_counts/programs.h"

namespace cleave::tests {
namespace {

const std::vector<int> kRanks = {2, 3, 4, 8};

struct Widths {
  int input;
  int hidden;
  int output;
};
const std::vector<Widths> kWidths = {{16, 32, 8}, {13, 7, 5}, {3, 50, 1}};

std::string TwoLayers(const Widths& widths, int batch, const std::string& settings) {
  return absl::Substitute(
      "model Two() { input x: f32[$0, $1]; input target: f32[$0, $3];\n"
      "param w1: f32[$2, $1] = he_uniform(); param b1: f32[$2] = zeros();\n"
      "param w2: f32[$3, $2] = he_uniform(); param b2: f32[$3] = zeros();\n"
      "let h = relu(bias_add(matmul(x, w1, transpose_b = true), b1));\n"
      "let y = bias_add(matmul(h, w2, transpose_b = true), b2);\nloss mse(y, target); }\n"
      "parallel { search = data_parallel; $4 }",
      batch, widths.input, widths.hidden, widths.output, settings);
}

double ParameterBytes(const Widths& widths) {
  return 4.0 * (widths.hidden * (widths.input + 1) + widths.output * (widths.hidden + 1));
}

TEST(BytesTest, DataParallel) {
  for (int ranks : kRanks) {
    for (const Widths& widths : kWidths) {
      const Compiled compiled = CompileModel(TwoLayers(widths, 25, absl::StrCat("devices = ", ranks, ";")), ranks);
      EXPECT_DOUBLE_EQ(SentBytesOf(compiled), 2.0 * (ranks - 1) / ranks * ParameterBytes(widths)) << ranks;
    }
  }
}

// The gradient that the loss gives to the last layer is sent like any other value, whichever op makes it: columns that
// feed rows need an activation's all-reduce, or two halves of it, and nothing else.
TEST(BytesTest, TheGradientOfALoss) {
  for (const char* loss : {"mse(y, target)", "reduce_mean(square(y - target))", "reduce_sum(abs(y - target))"}) {
    for (int ranks : {2, 3}) {
      const std::string text = absl::Substitute(
          "model Pair() { input x: f32[16, 256]; input target: f32[16, 256];\n"
          "param w1: f32[256, 256] = he_uniform(); param w2: f32[256, 256] = he_uniform();\n"
          "let y = matmul(relu(matmul(x, w1)), w2);\nloss $0; }\n"
          "parallel { devices = $1; gradient_weight = 1.0; }",
          loss, ranks);
      EXPECT_DOUBLE_EQ(SentBytesOf(CompileModel(text, ranks)), 2.0 * (ranks - 1) / ranks * 4 * 16 * 256)
          << loss << ", " << ranks;
    }
  }
}

// Levels 1 and 2 send as much as plain data parallelism; level 3 gathers what the backward pass reads a second time.
// That is the second matrix: the first layer's input is data, and no backward op reads a bias.
TEST(BytesTest, ShardedOptimizer) {
  for (int ranks : kRanks) {
    for (const Widths& widths : kWidths) {
      const double parameters = ParameterBytes(widths);
      const double read_again = 4.0 * widths.output * widths.hidden;
      const double share = (ranks - 1.0) / ranks;
      const std::vector<double> expected = {2 * share * parameters, 2 * share * parameters, 2 * share * parameters,
                                            share * (2 * parameters + read_again)};
      for (int level = 0; level <= 3; ++level) {
        const std::string settings = absl::StrCat("devices = ", ranks, "; zero = ", level, ";");
        EXPECT_DOUBLE_EQ(SentBytesOf(CompileModel(TwoLayers(widths, 25, settings), ranks)),
                         expected[static_cast<size_t>(level)])
            << ranks << " ranks, level " << level;
      }
    }
  }
}

// A sequence that is cut and shifted sends a few places, however long it is: in each direction at least the one that
// every rank needs of its neighbour, and at most one for each slice, pad and input of a concatenation, because pieces
// of lengths that differ by one are rounded differently.
TEST(BytesTest, ShiftedSequences) {
  struct Shift {
    const char* text;
    double least, most;  // Places.
  };
  const Shift shifts[] = {
      {"concat((h[.., $0 - 1..], h[.., ..$0 - 1]), axis = 1)", 2, 8},
      {"concat((h[.., 1..], h[.., ..1]), axis = 1)", 2, 8},
      {"pad(h[.., ..$0 - 1], before = (0, 1, 0), after = (0, 0, 0))", 2, 4},
      {"pad(h[.., 1..], before = (0, 0, 0), after = (0, 1, 0))", 2, 4},
      {"concat((0.5 * h[.., ..1], h[.., ..$0 - 1]), axis = 1)", 2, 8},
  };
  const double place = 4.0 * 2 * 6;
  for (const Shift& shift : shifts) {
    for (int ranks : kRanks) {
      for (int places : {10, 16, 64}) {
        const std::string text = absl::Substitute(
            "model Shifted() { input target: f32[2, $0, 6]; param x: f32[2, $0, 6] = he_uniform();\n"
            "#[layout(_, \"sp\", _)] let h = relu(x);\n#[layout(_, \"sp\", _)] let y = h + $2;\n"
            "loss mse(y, target); }\nparallel { mesh = (sp = $1); cost = bytes; dataset = { \"target\": layout(_, "
            "\"sp\", _) }; }",
            places, ranks, absl::Substitute(shift.text, places));
        const double sent = SentBytesOf(CompileModel(text, ranks)) / place;
        EXPECT_GE(sent, shift.least) << text;
        EXPECT_LE(sent, shift.most) << text;
      }
    }
  }
}

// Halves of a sequence that change places where its columns are cut: the gradients of both are put together there, and
// sent once as they were sent forward.
TEST(BytesTest, HalvesThatChangePlaces) {
  for (int ranks : kRanks) {
    const std::string text = absl::Substitute(
        "model Halves() { input target: f32[2, 48, 24]; param x: f32[2, 48, 24] = he_uniform();\n"
        "#[layout(_, \"sp\", _)] let h = relu(x);\n"
        "#[layout(_, _, \"sp\")] let swapped = concat((h[.., 24..], h[.., ..24]), axis = 1);\n"
        "#[layout(_, \"sp\", _)] let y = relu(swapped);\nloss mse(y, target); }\n"
        "parallel { mesh = (sp = $0); dataset = { \"target\": layout(_, \"sp\", _) }; }",
        ranks);
    const Compiled compiled = CompileModel(text, ranks);
    EXPECT_EQ(CollectivesOf(compiled), "all_to_all 4") << ranks;
    EXPECT_DOUBLE_EQ(SentBytesOf(compiled), 4 * (ranks - 1.0) / ranks * 4 * (2 * 48 * 24) / ranks) << ranks;
  }
}

// Columns that are divided unevenly among three ranks count with the size of the largest piece; the replicas on the
// other axis share each piece. No backward op reads the weight, so all levels send the same.
TEST(BytesTest, ShardedOptimizerOfACutWeight) {
  for (int level = 0; level <= 3; ++level) {
    const std::string text = absl::Substitute(
        "model Columns() { input x: f32[8, 5]; input target: f32[8, 7]; param w: f32[7, 5] = he_uniform();\n"
        "#[shard((2, 1), (3, 1))] let y = matmul(x, w, transpose_b = true);\n"
        "#[shard((2, 3), (2, 3))] let error = mse(y, target);\nloss error; }\n"
        "parallel { mesh = (dp = 2, tp = 3); zero = $0; }",
        level);
    EXPECT_DOUBLE_EQ(SentBytesOf(CompileModel(text, 6)), 2 * 0.5 * 4 * (3 * 5)) << "level " << level;
  }
}

// A column product and a row product on an input that needs a gradient. `input` is its layout, `output` the layout of
// the second product's result.
std::string Pair(int batch, int width, int ranks, const std::string& input, const std::string& output) {
  return absl::Substitute(
      "model Pair() { #[layout($3, _)] param x: f32[$0, $1] = he_uniform(); input target: f32[$0, $1];\n"
      "param w1: f32[24, $1] = he_uniform(); param w2: f32[$1, 24] = he_uniform();\n"
      "#[shard((1, 1), ($2, 1))] let h = matmul(x, w1, transpose_b = true);\n"
      "#[shard(in = ((1, $2), (1, $2)), out = ($4, 1))] let y = matmul(relu(h), w2, transpose_b = true);\n"
      "#[shard(($4, 1), ($4, 1))] let error = mse(y, target);\nloss error; }\nparallel { mesh = (tp = $2); }",
      batch, width, ranks, input, output);
}

TEST(BytesTest, ColumnAndRow) {
  for (int ranks : kRanks) {
    for (int batch : {24, 25}) {
      const double activation = 4.0 * batch * 10;
      const Compiled compiled = CompileModel(Pair(batch, 10, ranks, "_", "1"), ranks);
      EXPECT_EQ(CollectivesOf(compiled), "all_reduce 2") << ranks;
      EXPECT_DOUBLE_EQ(SentBytesOf(compiled), 2 * 2.0 * (ranks - 1) / ranks * activation) << ranks;
    }
  }
}

// Sequence parallel: an all_gather and a reduce_scatter in place of each all_reduce.
TEST(BytesTest, ColumnAndRowWithCutEnds) {
  for (int ranks : kRanks) {
    for (int batch : {24, 25}) {
      const double activation = 4.0 * batch * 10;
      const Compiled compiled = CompileModel(Pair(batch, 10, ranks, "\"tp\"", absl::StrCat(ranks)), ranks);
      EXPECT_EQ(CollectivesOf(compiled), "all_gather 2, reduce_scatter 2") << ranks;
      EXPECT_DOUBLE_EQ(SentBytesOf(compiled), 2 * 2.0 * (ranks - 1) / ranks * activation) << ranks;
    }
  }
}

}  // namespace
}  // namespace cleave::tests
