#include "tools/page/page.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/pins/pins.h"
#include "search/testing/models.h"
#include "search/testing/planned_model.h"
#include "tools/page/data.h"
#include "tools/page/escape.h"
#include "tools/page/tree.h"

namespace cleave::tools {
namespace {

using search::testing::PlannedModel;

ir::ParallelSettings WithStages(int64_t stages) {
  ir::ParallelSettings settings;
  settings.stages = stages;
  settings.micro_batches = 4;
  return settings;
}

Json DataOf(const PlannedModel& planned) {
  const search::Explained explained = planned.explained();
  return PageData({.explained = explained, .pipeline = planned.pipeline(), .source = "", .proof = "checked"});
}

size_t Count(absl::string_view text, absl::string_view what) {
  return std::vector<std::string>(absl::StrSplit(text, what)).size() - 1;
}

constexpr absl::string_view kHostile =
    "</script><script>alert(1)</script><!--<script>\"'`&amp; \xe2\x80\xa8\xe2\x80\xa9 ]]> \\u003c ${data} %if";

TEST(EscapeTest, JsonInsideOfAScriptGivesTheSameValuesBack) {
  const std::string text = JsonForScript(Json::object({{std::string(kHostile), std::string(kHostile)}}));
  for (const char* part : {"<", ">", "&", "\xe2\x80\xa8", "\xe2\x80\xa9"}) {
    EXPECT_FALSE(absl::StrContains(text, part)) << text;
  }
  EXPECT_EQ(Json::parse(text)[std::string(kHostile)], std::string(kHostile));
}

TEST(EscapeTest, TextOfAPageHasNoMarkup) { EXPECT_EQ(EscapedForHtml("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;"); }

// The model decides its texts, so none of them may end the element in which it stands.
TEST(PageTest, AHostileModelIsShownAsText) {
  PlannedModel planned(search::testing::Mlp(8, {16, 8}), 2);
  planned.graph.model = planned.graph.file = std::string(kHostile);
  for (ir::Op& op : planned.graph.ops) op.name = absl::StrCat(op.name, kHostile);
  for (ir::OpPlan& op : planned.plan.ops) op.reason = std::string(kHostile);
  const search::Explained explained = planned.explained();
  const std::string page = PlanPage({.explained = explained, .source = kHostile, .proof = std::string(kHostile)});
  // The page's own: the data, and the script.
  EXPECT_EQ(Count(page, "<script"), 2u);
  EXPECT_EQ(Count(page, "</script"), 2u);
  EXPECT_EQ(Count(page, "<!--"), 1u);
  const std::string begin = "id=\"plan\">";
  const size_t data = page.find(begin) + begin.size();
  const std::string text = page.substr(data, page.find("</script>", data) - data);
  EXPECT_EQ(Count(text, "\xe2\x80\xa8"), 0u);
  const Json read = Json::parse(text);
  EXPECT_EQ(read["source"], std::string(kHostile));
  EXPECT_EQ(read["model"], std::string(kHostile));
}

TEST(PageTest, ItLoadsNothingAndItsVerdictNeedsNoScript) {
  const PlannedModel planned(search::testing::Mlp(64, {48, 32}), 4);
  const search::Explained explained = planned.explained();
  const std::string page = PlanPage({.explained = explained, .source = "", .proof = "checked; not proven"});
  EXPECT_EQ(page, PlanPage({.explained = explained, .source = "", .proof = "checked; not proven"}));
  EXPECT_TRUE(absl::StrContains(page, "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"));
  for (const char* const part : {"src=", "@import", "url(http", "href=\"http"}) {
    EXPECT_FALSE(absl::StrContains(page, part)) << part;
  }
  const std::string verdict =
      page.substr(page.find("id=\"verdict\""), page.find("<script") - page.find("id=\"verdict\""));
  for (const std::string& figure :
       {FormatSeconds(planned.predicted.whole.step), FormatBytes(planned.made.memory.use.prediction.peak),
        FormatBytes(Bytes(static_cast<int64_t>(planned.predicted.whole.sent_bytes_per_rank))),
        std::string("checked")}) {
    EXPECT_TRUE(absl::StrContains(verdict, figure)) << figure << "\n" << verdict;
  }
}

TEST(PageDataTest, SlicesAreThoseOfTheLayouts) {
  // 250 samples on 6 ranks: pieces of several sizes.
  const PlannedModel planned(search::testing::Mlp(250, {50, 70, 30}), 6);
  const Json data = DataOf(planned);
  size_t compared = 0;
  for (const Json& value : data["values"]) {
    const std::optional<ir::OpId> id = planned.graph.Find(value["name"].get<std::string>());
    if (!id.has_value()) continue;  // Of several layers.
    const ir::Op& op = planned.graph.op(*id);
    const ir::OpPlan& own = planned.plan.ops[*id];
    const ir::Layout layout = own.output.value_or(ir::OutputLayout(own.strategy, ir::RuleOf(planned.graph, op)));
    for (int rank = 0; rank < 6; ++rank) {
      const std::vector<ir::Piece> slice = ir::SliceOf(layout, planned.plan.mesh, op.type.shape, rank);
      for (size_t d = 0; d < slice.size(); ++d, ++compared) {
        const Json& begins = data["cuts"][value["cuts"][d].get<size_t>()];
        const auto piece = data["layouts"][value["layout"].get<size_t>()]["ranks"][rank][d].get<size_t>();
        EXPECT_EQ(begins[piece], slice[d].begin) << op.name;
        EXPECT_EQ(begins[piece + 1], slice[d].end()) << op.name;
      }
    }
  }
  EXPECT_GT(compared, 100u);
}

TEST(PageDataTest, TimesAndBytesOfTheTreeAndOfTheTimelineAreThoseOfTheWork) {
  const PlannedModel planned(search::testing::Gpt({}), 4);
  const Json data = DataOf(planned);
  double seconds = 0, sent = 0, bars = 0;
  for (const Json& row : data["work"]) {
    const double runs = row["runs"].get<double>();
    seconds += runs * row["each"].get<double>();
    if (row.contains("sent")) sent += runs * row["sent"].get<double>();
    if (row["kind"] == "collectives") EXPECT_NE(row["why"], "");
  }
  for (const Json& bar : data["timeline"]) bars += 1e-9 * bar[2].get<double>();
  const double step = planned.predicted.whole.step.value();
  EXPECT_NEAR(seconds, planned.predicted.whole.Alone().value(), 1e-3 * step);
  EXPECT_NEAR(bars, seconds, 1e-3 * step);
  EXPECT_NEAR(sent, planned.predicted.whole.sent_bytes_per_rank, 1e-3 * sent);
  EXPECT_NEAR(data["tree"]["seconds"].get<double>(), seconds, 1e-3 * step);
  EXPECT_NEAR(data["tree"]["sent"].get<double>(), sent, 1e-3 * sent);
  // Equal layers are one: no name has the number of a layer alone that is like another one.
  std::set<std::string> names;
  for (const Json& value : data["values"]) {
    EXPECT_TRUE(names.insert(absl::StrCat(value["name"].get<std::string>(), value["phase"].get<std::string>())).second)
        << value["name"];
  }
}

TEST(PageDataTest, APipelineShowsEachPassOnce) {
  const PlannedModel planned(search::testing::Gpt({}), 4, WithStages(2));
  ASSERT_NE(planned.pipeline(), nullptr);
  const Json data = DataOf(planned);
  EXPECT_TRUE(data["timeline"].is_null());
  // A forward and a backward pass of 4 micro-batches in 2 stages.
  EXPECT_EQ(data["pipeline"]["passes"].size(), 16u);
  std::set<int> parts;
  for (const Json& row : data["work"]) parts.insert(row["part"].get<int>());
  EXPECT_EQ(parts, (std::set<int>{0, 1}));
}

TEST(ModuleTreeTest, LayersAreOneModule) {
  ModuleTree tree;
  tree.Add(std::vector<std::string>{"x.0.attn.q", "x.1.attn.q", "x.2.attn.q"}, {.seconds = 3});
  tree.Add(std::vector<std::string>{"x.0.attn.k"}, {.seconds = 1, .bytes = 8});
  tree.Add(std::vector<std::string>{"loss"}, {.sent = 4});
  EXPECT_EQ(
      JsonLine(tree.ToJson()),
      R"({"name":"","seconds":4.0,"bytes":8.0,"sent":4.0,"parts":[)"
      R"({"name":"x.0..2","seconds":4.0,"bytes":8.0,"sent":0.0,"parts":[)"
      R"({"name":"attn","seconds":4.0,"bytes":8.0,"sent":0.0,"parts":[)"
      R"({"name":"q","seconds":3.0,"bytes":0.0,"sent":0.0},{"name":"k","seconds":1.0,"bytes":8.0,"sent":0.0}]}]},)"
      R"({"name":"loss","seconds":0.0,"bytes":0.0,"sent":4.0}]})");
}

TEST(WritePageTest, OnlyPagesAreReplaced) {
  const std::string folder = ::testing::TempDir();
  const std::string path = absl::StrCat(folder, "/page_test.html"), other = absl::StrCat(folder, "/page_test.model");
  std::remove(path.c_str());
  std::ofstream(other) << "model Precious() {}";
  const PlannedModel planned(search::testing::Mlp(8, {4, 4}), 1);
  const search::Explained explained = planned.explained();
  const std::string page = PlanPage({.explained = explained, .source = "", .proof = ""});
  EXPECT_EQ(WritePage(path, page), absl::OkStatus());
  EXPECT_EQ(WritePage(path, page), absl::OkStatus());
  EXPECT_EQ(std::filesystem::file_size(path), page.size());
  EXPECT_TRUE(absl::IsFailedPrecondition(WritePage(other, page)));
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckPagePlace(folder)));
  EXPECT_TRUE(absl::IsUnavailable(WritePage(absl::StrCat(folder, "/no_such_folder/p.html"), page)));
  EXPECT_EQ(std::filesystem::file_size(other), 19u);
}

}  // namespace
}  // namespace cleave::tools
