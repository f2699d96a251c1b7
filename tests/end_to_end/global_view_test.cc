// A model whose initial values and data come from files: three plans of it compute what one device does, prints show
// whole tensors whatever the plan is, and the lists of redistributions before and after the run agree.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr int kBatch = 8, kWidth = 4, kHidden = 6, kOut = 3, kSteps = 3;
constexpr double kTolerance = 2e-6;

using Matrix = std::vector<double>;

// The values in the files of the example.
Matrix Values(int count, int seed) {
  Matrix values;
  for (int i = 0; i < count; ++i) values.push_back(((37 * i + 11 * seed) % 23 - 11) / 16.0);
  return values;
}

// a [m, k] times b [k, n]; `a_turned`: a is [k, m]; `b_turned`: b is [n, k].
Matrix Product(const Matrix& a, const Matrix& b, int m, int k, int n, bool a_turned = false, bool b_turned = false) {
  Matrix product(static_cast<size_t>(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l) {
        product[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(a_turned ? l * m + i : i * k + l)] *
                                                   b[static_cast<size_t>(b_turned ? j * k + l : l * n + j)];
      }
    }
  }
  return product;
}

// Losses of the steps, and w1 at the beginning of each: the difference of two is its gradient times the learning rate.
struct Expected {
  std::vector<double> losses;
  std::vector<double> w1;
};

Expected TrainedOnPaper() {
  const Matrix x = Values(kBatch * kWidth, 1), target = Values(kBatch * kOut, 2);
  Matrix w0 = Values(kWidth * kHidden, 3), w1 = Values(kHidden * kOut, 4);
  Expected expected;
  for (int step = 0; step < kSteps; ++step) {
    expected.w1.insert(expected.w1.end(), w1.begin(), w1.end());
    const Matrix h = Product(x, w0, kBatch, kWidth, kHidden);
    Matrix dy = Product(h, w1, kBatch, kHidden, kOut);
    double loss = 0;
    for (size_t i = 0; i < dy.size(); ++i) {
      dy[i] -= target[i];
      loss += dy[i] * dy[i] / (kBatch * kOut);
      dy[i] *= 2.0 / (kBatch * kOut);
    }
    expected.losses.push_back(loss);
    const Matrix dw1 = Product(h, dy, kHidden, kBatch, kOut, true);
    const Matrix dh = Product(dy, w1, kBatch, kOut, kHidden, false, true);
    const Matrix dw0 = Product(x, dh, kWidth, kBatch, kHidden, true);
    for (size_t i = 0; i < w0.size(); ++i) w0[i] -= 0.1 * dw0[i];
    for (size_t i = 0; i < w1.size(); ++i) w1[i] -= 0.1 * dw1[i];
  }
  return expected;
}

// The numbers of all tensors that a program printed under `headline`.
std::vector<double> Printed(const std::string& out, const std::string& headline) {
  std::vector<double> numbers;
  bool inside = false;
  for (const absl::string_view line : absl::StrSplit(out, '\n')) {
    if (absl::StrContains(line, ") =")) {
      inside = absl::StartsWith(line, headline);
    } else if (inside && !absl::StartsWith(line, "[") && !absl::StartsWith(line, " ")) {
      inside = false;
    } else if (inside) {
      for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar("[], "), absl::SkipEmpty())) {
        double number = 0;
        EXPECT_TRUE(absl::SimpleAtod(word, &number)) << line;
        numbers.push_back(number);
      }
    }
  }
  return numbers;
}

class GlobalView : public testing::Test {
 protected:
  // One folder for all tests, so that what programs share is built once.
  static void SetUpTestSuite() { folder_ = FreshFolder("global_view"); }

  void SetUp() override {
    for (const char* file :
         {"columns_rows.model", "data_parallel.model", "rows.model", "target.npy", "w0.npy", "w1.npy", "x.npy"}) {
      WriteText(absl::StrCat(folder_, "/", file), ReadText(DataPath(absl::StrCat("examples/global_view/", file))));
    }
  }

  std::string Build(const std::string& model, const std::vector<std::string>& arguments = {}) {
    std::vector<std::string> command = {model, "--out", folder_ + "/out"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const CommandResult compiled = Compile(command, folder_);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
    const CommandResult built = MakeLocal(folder_ + "/out");
    EXPECT_EQ(built.exit_code, 0) << built.err;
    return compiled.out;
  }

  CommandResult Run(const std::vector<std::string>& environment = {}) {
    CommandResult result = StartLocal(folder_ + "/out", {}, environment);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }

  static std::string folder_;
};

std::string GlobalView::folder_;

TEST_F(GlobalView, EveryPlanComputesWhatOneDeviceDoes) {
  const Expected expected = TrainedOnPaper();
  const std::vector<std::vector<std::string>> plans = {{"data_parallel.model", "--set", "mesh=(x = 1)"},
                                                       {"data_parallel.model"},
                                                       {"rows.model"},
                                                       {"columns_rows.model"},
                                                       {"rows.model", "--set", "mesh=(x = 3)"}};
  for (const std::vector<std::string>& plan : plans) {
    SCOPED_TRACE(absl::StrJoin(plan, " "));
    Build(plan[0], {plan.begin() + 1, plan.end()});
    const std::string out = Run().out;
    EXPECT_LE(LargestRelativeDifference(Losses(folder_ + "/out"), expected.losses), kTolerance);
    const std::vector<double> w1 = Printed(out, "w1 [6, 3] (");
    ASSERT_EQ(w1.size(), expected.w1.size()) << out;
    for (size_t i = 0; i < w1.size(); ++i) EXPECT_NEAR(w1[i], expected.w1[i], kTolerance) << i;
  }
}

TEST_F(GlobalView, LocalPrintsTellWherePiecesLie) {
  Build("rows.model");
  const std::string out = Run().out;
  const std::vector<double> whole = Values(kHidden * kOut, 4);
  std::vector<double> pieces = Printed(out, "w1[0:3, 0:3] of [6, 3] on rank 0 (rows.model:");
  pieces.resize(9);
  EXPECT_EQ(pieces, std::vector<double>(whole.begin(), whole.begin() + 9)) << out;
  pieces = Printed(out, "w1[3:6, 0:3] of [6, 3] on rank 1 (rows.model:");
  pieces.resize(9);
  EXPECT_EQ(pieces, std::vector<double>(whole.begin() + 9, whole.end())) << out;
}

TEST_F(GlobalView, PrintsChangeNoNumber) {
  for (const char* model : {"rows.model", "columns_rows.model", "data_parallel.model"}) {
    std::vector<std::string> silent;
    std::vector<std::string> talkative;
    for (const absl::string_view line : absl::StrSplit(ReadText(absl::StrCat(folder_, "/", model)), '\n')) {
      talkative.emplace_back(line);
      if (!absl::StrContains(line, "print(")) silent.emplace_back(line);
      if (absl::StrContains(line, "print(w1)"))
        talkative.push_back("print(h); print(local h); print(y); print(error);");
    }
    WriteText(folder_ + "/silent.model", absl::StrJoin(silent, "\n"));
    WriteText(folder_ + "/talkative.model", absl::StrJoin(talkative, "\n"));
    SCOPED_TRACE(model);
    Build("silent.model");
    EXPECT_FALSE(absl::StrContains(Run().out, ") ="));
    const std::vector<double> losses = Losses(folder_ + "/out");
    Build("talkative.model");
    EXPECT_TRUE(absl::StrContains(Run().out, "h.matmul [8, 6] (talkative.model:"));
    EXPECT_EQ(Losses(folder_ + "/out"), losses);
  }
}

TEST_F(GlobalView, ListsOfRedistributionsAgree) {
  for (const char* model : {"rows.model", "columns_rows.model", "data_parallel.model"}) {
    SCOPED_TRACE(model);
    const std::string compiled = Build(model, {"--log", "reshard"});
    const size_t summary = compiled.find("GlobalView: ");
    ASSERT_NE(summary, std::string::npos) << compiled;
    const std::string list = compiled.substr(0, summary);
    EXPECT_EQ(ReadText(folder_ + "/out/redistributions.txt"), list);
    const std::string out = Run({"CLEAVE_LOG=reshard"}).out;
    const std::string headline = "redistributions of a step, measured on rank 0:\n";
    const size_t begin = out.find(headline);
    ASSERT_NE(begin, std::string::npos) << out;
    EXPECT_EQ(out.find(headline, begin + 1), std::string::npos) << "once";

    // The lines are the same, and what was measured is what was predicted.
    const std::vector<std::string> expected = absl::StrSplit(list, '\n', absl::SkipEmpty());
    const std::vector<std::string> ran = absl::StrSplit(out.substr(begin + headline.size()), '\n');
    ASSERT_GE(expected.size(), 2u);
    ASSERT_GE(ran.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      std::string without;
      for (const absl::string_view part : absl::StrSplit(ran[i], "; ")) {
        const size_t measured = part.find(", measured ");
        if (absl::StartsWith(part, "measured ")) continue;
        absl::StrAppend(&without, without.empty() ? "" : "; ", part.substr(0, measured));
        if (measured == absl::string_view::npos) continue;
        const std::vector<absl::string_view> words = absl::StrSplit(part, ' ');
        EXPECT_TRUE(absl::EndsWith(part, absl::StrCat("measured 1 x ", words[words.size() - 2], " B"))) << part;
        if (absl::StrContains(part, "gradients.")) continue;  // It counts all tensors of its collective.
        EXPECT_EQ(words[1], words[words.size() - 2]) << part;
      }
      EXPECT_EQ(without, expected[i]);
    }
    // There are alignment gaps between the tensors of one collective.
    const std::vector<std::string> total = absl::StrSplit(expected.back(), absl::ByAnyChar(" ,"), absl::SkipEmpty());
    const std::string& last = ran[expected.size() - 1];
    ASSERT_EQ(total[6], "B") << expected.back();
    int64_t listed = 0, measured = 0;
    ASSERT_TRUE(absl::SimpleAtoi(total[5], &listed)) << expected.back();
    ASSERT_TRUE(absl::SimpleAtoi(
        last.substr(last.rfind("measured ") + 9, last.rfind(" B in ") - last.rfind("measured ") - 9), &measured))
        << last;
    EXPECT_GE(measured, listed);
    EXPECT_LT(measured, listed + 2 * 64);
    EXPECT_TRUE(absl::EndsWith(last, absl::StrCat(" in ", total[3], " runs"))) << last;
  }
}

TEST_F(GlobalView, FilesAreLookedAtAgainWhenTheProgramStarts) {
  Build("rows.model");
  WriteText(folder_ + "/w1.npy", ReadText(folder_ + "/w0.npy"));
  WriteText(folder_ + "/w0.npy", ReadText(folder_ + "/w0.npy").substr(0, 200));
  const CommandResult ran = StartLocal(folder_ + "/out");
  EXPECT_EQ(ran.exit_code, 3);
  const std::string message = absl::StrCat(
      "error: `", folder_, "/w0.npy` is truncated: its header says 4x6 of float32, 96 bytes, and 72 follow it\n",
      "error: `", folder_, "/w1.npy` holds float32[4, 6], and parameter `w1` is f32[6, 3]\n");
  EXPECT_TRUE(absl::StrContains(ran.err, message)) << ran.err;
  EXPECT_EQ(ran.err.find("error: `"), ran.err.find(message)) << "one message";
}

}  // namespace
}  // namespace cleave::tests
