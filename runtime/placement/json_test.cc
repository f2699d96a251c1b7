#include "runtime/placement/json.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

TEST(Json, KindsOfValues) {
  const std::optional<Json> json = ParseJson(" {\"a\": [1, -2.5e+3, true, null], \"b\": \"x\", \"c\": {}, \"d\": []} ");
  ASSERT_TRUE(json.has_value());
  ASSERT_EQ(json->kind, Json::Kind::kObject);
  ASSERT_EQ(json->members.size(), 4u);
  const Json* const a = json->Find("a");
  ASSERT_NE(a, nullptr);
  ASSERT_EQ(a->items.size(), 4u);
  EXPECT_EQ(a->items[1].kind, Json::Kind::kNumber);
  EXPECT_EQ(a->items[1].text, "-2.5e+3");
  EXPECT_EQ(a->items[2].text, "true");
  EXPECT_EQ(a->items[3].kind, Json::Kind::kNull);
  EXPECT_EQ(json->Find("b")->text, "x");
  EXPECT_EQ(json->Find("e"), nullptr);
}

TEST(Json, StringsWithEscapes) {
  const std::optional<Json> json = ParseJson(R"("\"\\\/\b\f\n\r\t \u0041\u00e9\u20ac\ud83d\ude00")");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->text, "\"\\/\b\f\n\r\t A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(Json, WhatIsNotOneValueIsRefused) {
  for (const char* text :
       {"",    "{",       "}",         "[1,]",        "{\"a\":1,}",  "{\"a\" 1}", "{a: 1}", "{\"a\": 1} x",
        "01",  "1.",      ".5",        "+1",          "1e",          "nul",       "True",   "'a'",
        "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\n\"",    "[1 2]",  "NaN"}) {
    EXPECT_FALSE(ParseJson(text).has_value()) << text;
  }
}

TEST(Json, AKeyThatStandsTwiceIsRefused) {
  EXPECT_FALSE(ParseJson("{\"a\": 1, \"a\": 1}").has_value());
  EXPECT_TRUE(ParseJson("{\"a\": {\"a\": 1}}").has_value());
}

TEST(Json, NestingHasALimit) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJson(nested(60)).has_value());
  EXPECT_FALSE(ParseJson(nested(1000000)).has_value());
}

}  // namespace
}  // namespace cleave::runtime
