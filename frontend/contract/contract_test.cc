#include "frontend/contract/contract.h"

#include <string>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/parse/parse.h"
#include "gtest/gtest.h"

namespace cleave::frontend {
namespace {

struct Read {
  Contract contract;
  std::string messages;
};

Read ReadText(const std::string& body) {
  SourceSet sources;
  Diagnostics diagnostics;
  const auto file = dsl::Parse(sources.Add("test.model", absl::StrCat("expect { ", body, " }")), sources, diagnostics);
  EXPECT_TRUE(file.has_value()) << RenderText(diagnostics, sources);
  if (!file.has_value()) return {};
  Contract contract = ReadContract(std::get<dsl::syntax::Expect>(file->items.front().kind), diagnostics);
  return {std::move(contract), RenderText(diagnostics, sources)};
}

// "all_gather < 2" as figure, unit and number.
void ExpectBound(const std::string& text, const std::string& figure, Unit unit, double limit) {
  const Read read = ReadText(absl::StrCat(text, ";"));
  ASSERT_EQ(read.contract.bounds.size(), 1u) << read.messages;
  const Bound& bound = read.contract.bounds.front();
  EXPECT_EQ(bound.text, text);
  EXPECT_EQ(bound.figure, figure);
  EXPECT_EQ(bound.unit, unit);
  EXPECT_EQ(bound.limit, limit);
}

TEST(ContractTest, BoundsHaveTheUnitsOfTheirFigures) {
  ExpectBound("all_gather <= 2", "all_gather", Unit::kCount, 2);
  ExpectBound("collectives == 0", "collectives", Unit::kCount, 0);
  ExpectBound("sent < 1.5MiB", "sent", Unit::kBytes, 1.5 * (1 << 20));
  ExpectBound("sent == 0", "sent", Unit::kBytes, 0);
  ExpectBound("memory >= 8GB", "memory", Unit::kBytes, 8e9);
  ExpectBound("step > 20ms", "step", Unit::kSeconds, 0.02);
  ExpectBound("step <= 3us", "step", Unit::kSeconds, 3e-6);
  ExpectBound("step <= 0.5s", "step", Unit::kSeconds, 0.5);
}

TEST(ContractTest, LayoutsHaveAxesByDimension) {
  const Read read = ReadText("layout(h1.weight) = ((dp, tp), _); layout(\"x.*.bias\") = (tp); layout(s) = ();");
  ASSERT_EQ(read.contract.layouts.size(), 3u) << read.messages;
  const ExpectedLayout& first = read.contract.layouts[0];
  EXPECT_EQ(first.name, "h1.weight");
  EXPECT_EQ(first.layout, "((dp, tp), _)");
  ASSERT_EQ(first.dimensions.size(), 2u);
  ASSERT_EQ(first.dimensions[0].size(), 2u);
  EXPECT_EQ(first.dimensions[0][1].value, "tp");
  EXPECT_TRUE(first.dimensions[1].empty());
  EXPECT_EQ(read.contract.layouts[1].name, "x.*.bias");
  ASSERT_EQ(read.contract.layouts[1].dimensions.size(), 1u);
  EXPECT_EQ(read.contract.layouts[1].dimensions[0][0].value, "tp");
  EXPECT_TRUE(read.contract.layouts[2].dimensions.empty());
}

TEST(ContractTest, SaysWhatAnExpectationIs) {
  const auto expect = [](const std::string& body, const std::string& message, const std::string& help) {
    const Read read = ReadText(body);
    EXPECT_TRUE(read.contract.bounds.empty() && read.contract.layouts.empty()) << body;
    EXPECT_TRUE(absl::StrContains(read.messages, absl::StrCat("error[E0803]: ", message))) << read.messages;
    EXPECT_TRUE(absl::StrContains(read.messages, absl::StrCat("help: ", help))) << read.messages;
  };
  expect("al_gather <= 2;", "a plan has no figure `al_gather`", "did you mean `all_gather`?");
  expect("latency <= 2ms;", "a plan has no figure `latency`", "there are `all_reduce`, ");
  expect("memory <= 8;", "`memory` is compared with a size, such as `64MiB`", "`memory <= 64MiB;`");
  expect("memory <= 8ms;", "`memory` is compared with a size", "`memory <= 64MiB;`");
  expect("all_gather <= 2MiB;", "`all_gather` is compared with a whole number", "`all_gather <= 2;`");
  expect("all_gather <= 2.5;", "`all_gather` is compared with a whole number", "`all_gather <= 2;`");
  expect("all_gather <= -1;", "`all_gather` is compared with a whole number", "`all_gather <= 2;`");
  expect("step <= 20;", "`step` is compared with a time, such as `20ms`", "`step <= 20ms;`");
  expect("step = 20ms;", "only a layout is given with `=`", "`step <= 20ms;`");
  expect("step;", "an expectation compares a figure of the plan with a number", "`step <= 20ms;`");
  expect("step != 20ms;", "an expectation compares a figure of the plan with a number",
         "an expectation is `all_gather <= 2;`");
  expect("20ms >= step;", "a figure of the plan stands before the sign", "an expectation is ");
  expect("step <= 20ms && memory <= 1GiB;", "an expectation compares a figure", "an expectation is ");
  expect("layout(h) == (tp, _);", "a layout is given with `=`", "`layout(h1.weight) = (tp, _);`");
  expect("layout(h);", "the layout of `h` is missing", "`layout(h) = (tp, _);`");
  expect("layout(h, g) = (tp);", "`layout` takes the name of one tensor", "`layout(h1.weight)`, or as a string");
  expect("layout(2) = (tp);", "`layout` takes the name of one tensor", "`layout(h1.weight)`, or as a string");
  expect("layout(h) = (2, _);", "a layout has for each dimension `_`", "`(tp, _)`, `((dp, tp), _)`");
  expect("layout(h) = (x = tp);", "a layout has for each dimension `_`", "`(tp, _)`, `((dp, tp), _)`");
}

}  // namespace
}  // namespace cleave::frontend
