#include "runtime/json/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

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

TEST(Json, MembersAreSortedByName) {
  const Result<Json> json = ParseJson("{\"b\": 1, \"\": 2, \"ab\": 3, \"a\": 4}");
  ASSERT_TRUE(json.ok());
  std::string names;
  for (const auto& [name, value] : json.value().members) names += name + "=" + value.text + " ";
  EXPECT_EQ(names, "=2 a=4 ab=3 b=1 ");
  EXPECT_EQ(json.value().Find("c"), nullptr);
}

TEST(Json, AnObjectMayHaveManyMembers) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) text += "\"" + std::to_string(i * 7919 % 100000) + "\": " + std::to_string(i) + ",";
  const Result<Json> json = ParseJson(text + "\"x\": 0}");
  ASSERT_TRUE(json.ok());
  ASSERT_EQ(json.value().members.size(), 100001u);
  for (int i = 0; i < 100000; ++i) {
    const Json* const member = json.value().Find(std::to_string(i * 7919 % 100000));
    ASSERT_NE(member, nullptr) << i;
    ASSERT_EQ(member->text, std::to_string(i));
  }
  EXPECT_EQ(ParseJson(text + "\"5\": 0}").error().message.substr(0, 22), "has the member `5` twi");
}

TEST(Json, AMemberThatStandsTwiceIsRefused) {
  EXPECT_EQ(ParseJson("{\"b\": 1,\n \"a\": 1, \"c\": 1, \"a\": 2}").error().message,
            "has the member `a` twice, at line 2, column 23");
  EXPECT_EQ(ParseJson("[{\"\\n\": 1, \"\\u000A\": 2}]").error().message,
            "has the member `\\u000a` twice, at line 1, column 22");
  EXPECT_TRUE(ParseJson("{\"a\": {\"a\": 1}}").ok());
}

TEST(Json, NestingHasALimit) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJson(nested(60)).ok());
  EXPECT_FALSE(ParseJson(nested(1000000)).ok());
}

TEST(Json, IntegersAreWholeAndFit) {
  const auto integer = [](const std::string& text) { return JsonInteger(ParseJson(text).value()); };
  EXPECT_EQ(integer("0"), 0);
  EXPECT_EQ(integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(integer("9223372036854775807"), INT64_MAX);
  for (const char* text :
       {"9223372036854775808", "-9223372036854775809", "1.0", "1e3", "\"1\"", "true", "null", "[1]"}) {
    EXPECT_FALSE(integer(text).has_value()) << text;
  }
}

TEST(Json, MembersOfAnExpectedKind) {
  const Json json =
      ParseJson(R"({"i": 5, "list": [1, 2], "mixed": [1, 2.5], "none": [], "s": "x", "o": {"p": 1}})").value();
  EXPECT_EQ(IntegerMember(json, "i").value(), 5);
  EXPECT_EQ(IntegersMember(json, "list").value(), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(IntegersMember(json, "none").value().empty());
  EXPECT_EQ(StringMember(json, "s").value(), "x");
  EXPECT_EQ(ArrayMember(json, "mixed").value()->items.size(), 2u);
  EXPECT_EQ(IntegerMember(*ObjectMember(json, "o").value(), "p").value(), 1);

  EXPECT_EQ(IntegerMember(json, "s").error().message, "has a `s` that is not a whole number of 64 bits");
  EXPECT_EQ(IntegersMember(json, "mixed").error().message,
            "has a `mixed` that is not an array of whole numbers of 64 bits");
  EXPECT_EQ(IntegersMember(json, "i").error().message, "has a `i` that is not an array of whole numbers of 64 bits");
  EXPECT_EQ(StringMember(json, "i").error().message, "has a `i` that is not a string");
  EXPECT_EQ(ArrayMember(json, "o").error().message, "has a `o` that is not an array");
  EXPECT_EQ(ObjectMember(json, "list").error().message, "has a `list` that is not an object");
  EXPECT_EQ(StringMember(json, "y").error().message, "has no `y`");
  EXPECT_EQ(IntegerMember(json.Find("i")[0], "y").error().message, "has no `y`");
  EXPECT_EQ(IntegerMember(json, "y").error().code, ExitCode::kInput);
}

}  // namespace
}  // namespace cleave::runtime
