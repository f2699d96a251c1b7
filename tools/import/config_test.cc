// What config.json may say: each value that is refused, and how it is told.
#include "tools/import/config.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/import/family.h"
#include "tools/import/model.h"

namespace cleave::tools {
namespace {

struct Read {
  std::optional<TemplateValues> values;
  std::vector<std::string> errors;
};

// A family with each kind of rule, and what it makes of an object of JSON.
Read ReadObject(const std::string& json, const std::set<std::string>& ignored = {}) {
  const absl::StatusOr<Family> family = ParseFamily("own",
                                                    "title Own\n"
                                                    "set own true\n"
                                                    "width|size.width size width 100\n"
                                                    "hidden size hidden = 4 * width\n"
                                                    "head size head = 128\n"
                                                    "places length places = 16\n"
                                                    "pad whole pad = 1\n"
                                                    "window optional window = 8\n"
                                                    "theta|rope.theta number theta = 10000.0\n"
                                                    "rate rate rate = 0.1\n"
                                                    "widths sizes widths 100 = (${width}, )\n"
                                                    "number|labels count classes = 2\n"
                                                    "bias flag bias = false\n"
                                                    "rope.type choice scaled default: linear:linear = // other turns\n"
                                                    "rope.factor number factor when linear\n"
                                                    "act is \"silu\"\n"
                                                    "heads among A B\n"
                                                    "layers cycle x y\n"
                                                    "note ignored\n",
                                                    {});
  EXPECT_TRUE(family.ok()) << family.status().message();
  SourceSet sources;
  Diagnostics diagnostics;
  runtime::Result<runtime::Json> parsed = runtime::ParseJson(json);
  EXPECT_TRUE(parsed.ok()) << json;
  const Config config = {std::move(parsed.value()), sources.Add("config.json", json)};
  Read read = {ReadConfig(*family, config, ignored, sources, diagnostics), {}};
  for (const Diagnostic& each : diagnostics.items()) {
    std::string text = each.message;
    for (const std::string& help : each.help) absl::StrAppend(&text, "; ", help);
    read.errors.push_back(text);
  }
  EXPECT_NE(read.values.has_value(), diagnostics.has_errors()) << json;
  return read;
}

TEST(ConfigTest, Values) {
  const Read least = ReadObject(R"({"width": 7})");
  ASSERT_TRUE(least.values.has_value());
  EXPECT_EQ(*least.values, (TemplateValues{{"own", "true"},
                                           {"width", "7"},
                                           {"hidden", "4 * width"},
                                           {"head", "128"},
                                           {"places", "16"},
                                           {"seq", "16"},
                                           {"pad", "1"},
                                           {"window", "8"},
                                           {"theta", "10000.0"},
                                           {"rate", "0.1"},
                                           {"widths", "(7, )"},
                                           {"classes", "2"},
                                           {"bias", "false"},
                                           {"scaled", ""}}));
  const Read all = ReadObject(R"({"size": {"width": 100}, "hidden": null, "places": 4096, "window": null,
      "rope": {"theta": 1e7, "type": "linear", "factor": 2}, "rate": 0, "bias": true, "act": "silu", "heads": ["B"],
      "widths": [3, 100], "number": 3, "labels": {"0": "a", "1": "b", "2": "c"},
      "layers": ["x", "y", "x"], "note": {"any": [1]}, "model_type": "own", "other": null})");
  ASSERT_TRUE(all.values.has_value()) << all.errors[0];
  const TemplateValues& values = *all.values;
  EXPECT_EQ(values.at("width"), "100");
  EXPECT_EQ(values.at("hidden"), "4 * width") << "null is as if it were missing";
  EXPECT_EQ(values.at("seq"), "1024");
  EXPECT_FALSE(Holds(values, "window"));
  EXPECT_EQ(values.at("theta"), "1e07") << "as the language writes numbers";
  EXPECT_EQ(values.at("factor"), "2.0");
  EXPECT_EQ(values.at("widths"), "(3, 100, )");
  EXPECT_EQ(values.at("classes"), "3");
  EXPECT_EQ(ReadObject(R"({"width": 7, "labels": ["a", "b", "c", "d"]})").values.value_or(TemplateValues())["classes"],
            "4");
  EXPECT_TRUE(Holds(values, "linear"));
}

struct Refused {
  std::string member;  // Beside a width.
  std::string error;
};

TEST(ConfigTest, WhatIsRefused) {
  const std::vector<Refused> cases = {
      {R"("hidden": 0)", "`hidden` is 0, and for Own whole numbers from 1 to 2147483647 are supported"},
      {R"("hidden": -1)", "`hidden` is -1"},
      {R"("hidden": 1.0)", "`hidden` is 1.0"},
      {R"("hidden": 99999999999999999999)", "`hidden` is 99999999999999999999"},
      {R"("hidden": "8")", "`hidden` is \"8\""},
      {R"("hidden": [8])", "`hidden` is an array of 1 element"},
      {R"("hidden": {"a": 1})", "`hidden` is an object of 1 member"},
      {R"("head": null)", "`head` is null"},
      {R"("window": 0)", "`window` is 0"},
      {R"("theta": null)", "`theta` is null"},
      {R"("theta": 0)", "`theta` is 0, and for Own numbers from 1e-30 to 1e30 are supported"},
      {R"("theta": 1e999)", "`theta` is 1e999"},
      {R"("theta": -1)", "`theta` is -1"},
      {R"("theta": 1, "rope": {"theta": 2})", "`theta` is 1, and `rope.theta` is 2"},
      {R"("rate": 1)", "`rate` is 1, and for Own numbers of at least 0 and less than 1 are supported"},
      {R"("widths": [3, 0])", "`widths` is 0, and for Own whole numbers from 1 to 100 are supported"},
      {R"("widths": [])",
       "`widths` is an array of 0 elements, and for Own arrays of 1 to 100 whole numbers are supported"},
      {R"("widths": 3)", "`widths` is 3"},
      {R"("labels": {})", "`labels` is an object of 0 members, and for Own whole numbers from 1 to"},
      {R"("number": 2, "labels": {"0": "a"})", "`number` is 2, and `labels` is an object of 1 member"},
      {R"("bias": 1)", "`bias` is 1, and for Own `true` or `false` is supported"},
      {R"("rope": {"type": "yarn"})",
       "`rope.type` is \"yarn\", and for Own `default` and `linear` are supported; by hand it would be other "
       "turns"},
      {R"("rope": {"type": "linear"})", "config.json has no `rope.factor`, which Own needs"},
      {R"("rope": 3)", "nothing is known of `rope`, which is 3, for Own; if it does not: `--ignore rope`"},
      {R"("rope": {"new": 3})", "nothing is known of `rope.new`, which is 3"},
      {R"("act": "relu")", "`act` is \"relu\", and for Own `\"silu\"` is supported"},
      {R"("heads": "A")", "`heads` is \"A\""},
      {R"("heads": ["A", "C"])", "`heads` is \"C\", and for Own `A` and `B` are supported"},
      {R"("layers": ["x", "x"])", "`layers[1]` is \"x\""},
      {R"("factor of\nlogits": 3)", "nothing is known of `factor of\\u000alogits`, which is 3"},
  };
  for (const Refused& refused : cases) {
    const Read read = ReadObject(absl::StrCat(R"({"width": 8, )", refused.member, "}"));
    ASSERT_EQ(read.errors.size(), 1u) << refused.member;
    EXPECT_TRUE(absl::StartsWith(read.errors[0], refused.error)) << read.errors[0];
  }
  EXPECT_EQ(ReadObject("{}").errors,
            (std::vector<std::string>{"config.json has no `width` or `size.width`, which Own needs"}));
  EXPECT_EQ(ReadObject(R"({"width": 101, "hidden": 0, "z": 1})").errors.size(), 3u) << "all of them together";
}

TEST(ConfigTest, OnlyWhatIsNotKnownIsIgnored) {
  EXPECT_TRUE(ReadObject(R"({"width": 8, "z": 1})", {"z"}).values.has_value());
  EXPECT_FALSE(ReadObject(R"({"width": 8, "hidden": 0})", {"hidden"}).values.has_value());
}

TEST(ConfigTest, TokensHaveNumbersFromZeroOn) {
  EXPECT_EQ(ReadObject(R"({"width": 7, "pad": 0})").values.value_or(TemplateValues())["pad"], "0");
  for (const char* const pad : {"-1", "null", "1.5", "\"x\""}) {
    const Read read = ReadObject(absl::StrCat(R"({"width": 7, "pad": )", pad, "}"));
    ASSERT_EQ(read.errors.size(), 1u) << pad;
    EXPECT_TRUE(absl::StrContains(read.errors[0], "whole numbers from 0 to")) << read.errors[0];
  }
}

// As RoBERTa counts: of 514 places the first two are never a token's.
TEST(ConfigTest, PlacesBeginBehindThatOfThePad) {
  const Family& family = *FindFamily("roberta");
  const TemplateValues values =
      WithWhatFollows(family, {{"vocab", "9"}, {"pad", "1"}, {"places", "514"}, {"seq", "514"}});
  EXPECT_EQ(values.at("first_place"), "2");
  EXPECT_EQ(values.at("seq"), "512");
}

}  // namespace
}  // namespace cleave::tools
