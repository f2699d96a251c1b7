#include "runtime/placement/json.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

TEST(Json, KindsOfValues) {
  const Result<Json> json = ParseJson(" {\"a\": [1, -2.5e+3, true, null], \"b\": \"x\", \"c\": {}, \"d\": []} ");
  ASSERT_TRUE(json.ok());
  ASSERT_EQ(json.value().kind, Json::Kind::kObject);
  ASSERT_EQ(json.value().members.size(), 4u);
  const Json* const a = json.value().Find("a");
  ASSERT_NE(a, nullptr);
  ASSERT_EQ(a->items.size(), 4u);
  EXPECT_EQ(a->items[1].kind, Json::Kind::kNumber);
  EXPECT_EQ(a->items[1].text, "-2.5e+3");
  EXPECT_EQ(a->items[2].text, "true");
  EXPECT_EQ(a->items[3].kind, Json::Kind::kNull);
  EXPECT_EQ(json.value().Find("b")->text, "x");
  EXPECT_EQ(json.value().Find("e"), nullptr);
}

TEST(Json, StringsWithEscapes) {
  const Result<Json> json = ParseJson(R"("\"\\\/\b\f\n\r\t \u0041\u00e9\u20ac\ud83d\ude00")");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json.value().text, "\"\\/\b\f\n\r\t A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(Json, WhatIsNotOneValueIsRefused) {
  for (const char* text :
       {"",    "{",       "}",         "[1,]",        "{\"a\":1,}",  "{\"a\" 1}", "{a: 1}", "{\"a\": 1} x",
        "01",  "1.",      ".5",        "+1",          "1e",          "nul",       "True",   "'a'",
        "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\n\"",    "[1 2]",  "NaN"}) {
    EXPECT_FALSE(ParseJson(text).ok()) << text;
  }
}

TEST(Json, SaysWhereTheTextStopsToBeJson) {
  EXPECT_EQ(ParseJson("{\n  \"ä\": nul}").error().message, "is not valid JSON at line 2, column 8");
  EXPECT_EQ(ParseJson("").error().message, "is not valid JSON at line 1, column 1");
  EXPECT_EQ(ParseJson("[1] 2").error().message, "is not valid JSON at line 1, column 5");
  EXPECT_EQ(PlaceIn("{\n \"a\": 1}", ParseJson("{\n \"a\": 1}").value().Find("a")->offset), "line 2, column 7");
}

TEST(Json, AnObjectHasALargestNumberOfMembers) {
  std::string text = "{\"x\": 0";
  for (int i = 0; i < 999; ++i) text += ", \"" + std::to_string(i) + "\": 0";
  EXPECT_TRUE(ParseJson(text + "}").ok());
  EXPECT_FALSE(ParseJson(text + ", \"y\": 0}").ok());
}

TEST(Json, AKeyThatStandsTwiceIsRefused) {
  EXPECT_FALSE(ParseJson("{\"a\": 1, \"a\": 1}").ok());
  EXPECT_TRUE(ParseJson("{\"a\": {\"a\": 1}}").ok());
}

TEST(Json, NestingHasALimit) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJson(nested(60)).ok());
  EXPECT_FALSE(ParseJson(nested(1000000)).ok());
}

}  // namespace
}  // namespace cleave::runtime
