#include "tools/plan_diff/plan_diff.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tools/plan_diff/command.h"
#include "tools/plan_diff/diff_page.h"

namespace cleave::tools {
namespace {

constexpr char kPlan[] = R"({
 "format": "cleave-plan", "version": 1,
 "model": {"name": "M", "file": "m.model", "hash": "xxh3:1"},
 "cluster": {"name": "cpu", "devices": 4},
 "mesh": [{"axis": "m0", "size": 2, "link": "host"}, {"axis": "m1", "size": 2, "link": "host"}],
 "search": {"algorithm": "sapp", "objective": "speed", "price": "bytes", "gradient_weight": 0.1, "zero": 0,
            "seconds": 0.5, "cost": 1000.5, "lower_bound": null, "gap": null},
 "ops": [
  {"name": "x.0.matmul", "factors": {"i": ["m0", "m1"], "j": []}, "decided_by": "search", "reason": "r",
   "choices": [{"factors": {"i": ["m0", "m1"], "j": []}, "cost": 10, "chosen": true},
               {"factors": {"i": [], "j": ["m0", "m1"]}, "cost": 12, "chosen": false}]},
  {"name": "x.1.matmul", "factors": {"i": ["m0", "m1"], "j": []}, "decided_by": "search", "reason": "r",
   "choices": [{"factors": {"i": ["m0", "m1"], "j": []}, "cost": 10, "chosen": true}]},
  {"name": "loss", "factors": {}, "decided_by": "fallback", "reason": "", "choices": []}],
 "tensors": [
  {"name": "x.0.weight", "dtype": "f32", "shape": [4, 8], "layout": [["m0"], []], "partial": {}},
  {"name": "x.1.weight", "dtype": "f32", "shape": [4, 8], "layout": [["m0"], []], "partial": {}}],
 "collectives": [{"kind": "all_reduce", "phase": "update", "sent_bytes": 64}],
 "predicted": {"step_seconds": 0.01, "compute_seconds": 0.008, "communication_seconds": 0.002,
               "sent_bytes_per_rank": 64,
               "memory_per_rank": {"parameters": 1, "gradients": 1, "optimizer": 1,
                                   "activations": 1, "buffers": 1, "peak": 5}}
})";

// kPlan with every `from` replaced.
std::string With(const std::string& from, const std::string& to) {
  const std::string text = absl::StrReplaceAll(kPlan, {{from, to}});
  EXPECT_NE(text, kPlan) << from;
  return text;
}

PlanDiff DiffTo(const std::string& after) {
  const absl::StatusOr<PlanView> before = ReadPlanView(kPlan), changed = ReadPlanView(after);
  EXPECT_TRUE(before.ok()) << before.status();
  EXPECT_TRUE(changed.ok()) << changed.status();
  return before.ok() && changed.ok() ? Diff(*before, *changed) : PlanDiff();
}

TEST(PlanDiffTest, AsACommentForAPullRequest) {
  const std::string after =
      absl::StrReplaceAll(kPlan, {{"\"step_seconds\": 0.01", "\"step_seconds\": 0.012"},
                                  {"\"layout\": [[\"m0\"], []]", "\"layout\": [[], [\"m0\"]]"},
                                  {"{\"kind\": \"all_reduce\", \"phase\": \"update\", \"sent_bytes\": 64}",
                                   "{\"kind\": \"all_reduce\", \"phase\": \"update\", \"sent_bytes\": 64}, "
                                   "{\"kind\": \"all_gather\", \"phase\": \"forward\", \"sent_bytes\": 32}"}});
  EXPECT_EQ(DiffMarkdown(DiffTo(after)), R"(<!-- cleave diff -->
**Plan: step 10.00 ms → 12.00 ms (+20.0 %)**

| | before | after | |
|---|---:|---:|---:|
| step, predicted | 10.00 ms | 12.00 ms | +20.0 % |
| `all_gather`, forward | none | 1, 32 B | +1 |

<details><summary>2 layouts</summary>

| | before | after |
|---|---|---|
| `x.0..1.weight x 2` | `f32[4, 8] as [m0, -]` | `f32[4, 8] as [-, m0]` |

</details>
)");
  EXPECT_EQ(DiffMarkdown(DiffTo(kPlan)), "<!-- cleave diff -->\n**Plan: unchanged**\n");
}

TEST(PlanDiffTest, APlanEqualsItself) {
  EXPECT_TRUE(DiffTo(kPlan).is_empty());
  EXPECT_EQ(DiffText(DiffTo(kPlan)), "the plans are equal\n");
}

TEST(PlanDiffTest, TheTimeOfTheSearchAndReasonsAreNotCompared) {
  EXPECT_TRUE(DiffTo(With("\"seconds\": 0.5", "\"seconds\": 0.7")).is_empty());
  EXPECT_TRUE(DiffTo(With("\"reason\": \"r\"", "\"reason\": \"s\"")).is_empty());
  EXPECT_TRUE(DiffTo(With("\"version\": 1", "\"version\": 1, \"later\": [1]")).is_empty());
}

TEST(PlanDiffTest, EqualChangesOfLayersAreOneInTheText) {
  const PlanDiff diff =
      DiffTo(With(R"("factors": {"i": ["m0", "m1"], "j": []})", R"("factors": {"i": ["m0"], "j": ["m1"]})"));
  ASSERT_EQ(diff.ops.size(), 2u);
  EXPECT_EQ(diff.ops[0].before->cuts, "i: m0 m1");
  EXPECT_EQ(diff.ops[0].after->cuts, "i: m0, j: m1");
  const std::string text = DiffText(diff);
  EXPECT_TRUE(absl::StrContains(text, "  x.0..1.matmul x 2\n    - i: m0 m1; cost 10\n    + i: m0, j: m1; cost 10\n"))
      << text;
}

TEST(PlanDiffTest, SettingsTensorsFiguresAndCollectives) {
  const PlanDiff zero = DiffTo(With("\"zero\": 0", "\"zero\": 1"));
  EXPECT_EQ(zero.settings, (std::vector<TextChange>{{"zero", "0", "1"}}));
  const PlanDiff layout = DiffTo(With(R"("layout": [["m0"], []])", R"("layout": [[], ["m1"]])"));
  ASSERT_EQ(layout.tensors.size(), 2u);
  EXPECT_EQ(layout.tensors[1].after, "f32[4, 8] as [-, m1]");
  const PlanDiff peak = DiffTo(With("\"peak\": 5", "\"peak\": 6"));
  EXPECT_EQ(peak.figures, (std::vector<FigureChange>{{"memory peak", 5, 6}}));
  const PlanDiff gathers = DiffTo(
      With(R"("collectives": [)", R"("collectives": [{"kind": "all_gather", "phase": "forward", "sent_bytes": 32}, )"));
  ASSERT_EQ(gathers.collectives.size(), 1u);
  EXPECT_EQ(gathers.collectives[0].count_before, 0);
  EXPECT_EQ(gathers.collectives[0].bytes_after, 32);
}

TEST(PlanDiffTest, OpsThatOnePlanDoesNotHave) {
  const PlanDiff diff = DiffTo(With("\"loss\"", "\"other\""));
  ASSERT_EQ(diff.ops.size(), 2u);
  EXPECT_EQ(diff.ops[0].name, "loss");
  EXPECT_FALSE(diff.ops[0].after.has_value());
  EXPECT_EQ(diff.ops[1].name, "other");
  EXPECT_FALSE(diff.ops[1].before.has_value());
}

TEST(PlanDiffTest, TextIsNarrowAndJsonHoldsEverything) {
  const PlanDiff diff = DiffTo(With("m1", std::string(90, 'm')));
  for (absl::string_view line : absl::StrSplit(DiffText(DiffTo(With("\"i\": [\"m0\"", "\"i\": [\"m1\""))), '\n')) {
    EXPECT_LE(line.size(), 100u) << line;
  }
  const absl::StatusOr<Json> json = ParseStrictJson(DiffJson(diff));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->at("equal"), false);
  EXPECT_EQ(json->at("ops").size(), diff.ops.size());
}

TEST(DiffPageTest, BothSidesStandBesideEachOtherAsText) {
  const std::string changed = absl::StrReplaceAll(
      kPlan, {{R"("factors": {"i": ["m0", "m1"], "j": []})", R"("factors": {"i": ["m0"], "j": ["m1"]})"},
              {"0.01,", "0.005,"},
              {"x.0.weight", "</td><script>x"}});
  const std::string page = DiffPage(DiffTo(changed), "a<b.json", "b.json");
  for (const char* const part : {"a step from 10.00 ms to 5.00 ms (x\xc2\xa0"
                                 "0.500)",
                                 "a&lt;b.json and b.json",
                                 "x.0..1.matmul x\xc2\xa0"
                                 "2",
                                 ">i: m0 m1; cost 10<", ">i: m0, j: m1; cost 10<", "&lt;/td&gt;&lt;script&gt;x"}) {
    EXPECT_TRUE(absl::StrContains(page, part)) << part << "\n" << page;
  }
  EXPECT_FALSE(absl::StrContains(page, "<script"));
  EXPECT_TRUE(absl::StrContains(DiffPage(PlanDiff(), "a", "b"), "The plans are equal."));
}

TEST(PlanViewTest, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) { return std::string(ReadPlanView(text).status().message()); };
  EXPECT_EQ(error("{"), "line 1, column 2: not valid JSON");
  EXPECT_TRUE(absl::StrContains(error(With("\"version\": 1", "\"version\": 1, \"version\": 1")), "occurs twice"));
  EXPECT_EQ(error(With("\"version\": 1", "\"version\": 2")),
            "line 2, column 38: plan.version: this version reads 1, found 2");
  EXPECT_TRUE(absl::StrContains(error(With("cleave-plan", "plan")), "plan.format"));
  EXPECT_TRUE(absl::StrContains(error(With("\"tensors\"", "\"tensor\"")), "the field \"tensors\" is missing"));
  EXPECT_TRUE(absl::StrContains(error(With("\"cost\": 10,", "\"cost\": \"x\",")), "expected a number"));
  EXPECT_TRUE(absl::StrContains(error("[]"), "expected an object"));
}

// Whichever byte is lost, the file is either refused or read.
TEST(PlanViewTest, DamageIsRefusedOrHarmless) {
  const std::string text = kPlan;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged.erase(i, 1 + i % 7);
    (void)ReadPlanView(damaged);
    (void)ReadPlanView(text.substr(0, i));
  }
}

class DiffCommandTest : public testing::Test {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(testing::TempDir(), "/", name);
    std::ofstream(path) << text;
    return path;
  }
};

DiffAnswer Answer(const std::vector<std::string>& words) { return RunDiff("diff", "Compares two plans.", words); }

TEST_F(DiffCommandTest, ExitCodes) {
  const std::string a = File("a.json", kPlan), b = File("b.json", With("\"peak\": 5", "\"peak\": 6"));
  EXPECT_EQ(Answer({a, a}).exit_code, ExitCode::kDone);
  EXPECT_EQ(Answer({a, b}).exit_code, ExitCode::kDiffers);
  EXPECT_EQ(Answer({a, b, "--json"}).exit_code, ExitCode::kDiffers);
  EXPECT_EQ(Answer({"--help"}).exit_code, ExitCode::kDone);
  EXPECT_EQ(Answer({a}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Answer({a, a, a}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Answer({a, b, "--yaml"}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Answer({a, testing::TempDir()}).exit_code, ExitCode::kModelWrong);
  EXPECT_EQ(Answer({"nowhere.json", a}).exit_code, ExitCode::kModelWrong);
  EXPECT_EQ(Answer({a, b, "--jsno"}).error,
            "error: unexpected `--jsno`; did you mean `--json`?\nhelp: `--help` lists the options\n");
  EXPECT_EQ(Answer({a}).error, "error: AFTER is required\nhelp: `--help` lists the options\n");
  const std::string page = absl::StrCat(testing::TempDir(), "/plan_diff_page.html");
  std::filesystem::remove(page);
  EXPECT_EQ(Answer({a, b, "--html", page}).exit_code, ExitCode::kDiffers);
  EXPECT_TRUE(std::filesystem::exists(page));
  EXPECT_EQ(Answer({a, b, "--html", a}).exit_code, ExitCode::kEnvironment) << "a is no page";
  const DiffAnswer broken = Answer({a, File("broken.json", "{")});
  EXPECT_EQ(broken.exit_code, ExitCode::kModelWrong);
  EXPECT_TRUE(absl::StrContains(broken.error, "broken.json`: line 1, column 2: not valid JSON")) << broken.error;
}

}  // namespace
}  // namespace cleave::tools
