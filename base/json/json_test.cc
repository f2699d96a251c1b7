#include "base/json/json.h"

#include <utility>

#include "base/json/document_writer.h"
#include "gtest/gtest.h"

namespace cleave {
namespace {

TEST(ParseStrictJsonTest, TakesADocument) {
  const absl::StatusOr<Json> document = ParseStrictJson(R"({"a": [1, {"b": 2}], "c": {"b": 3}})");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->at("a").at(1).at("b"), 2);
}

TEST(ParseStrictJsonTest, RefusesBrokenTextAndAKeyTwice) {
  EXPECT_EQ(ParseStrictJson("{\"a\":\n  NaN}").status().message(), "line 2, column 3: not valid JSON");
  EXPECT_EQ(ParseStrictJson(R"({"a": 1)").status().message(), "line 1, column 8: not valid JSON");
  EXPECT_EQ(ParseStrictJson("").status().message(), "line 1, column 1: not valid JSON");
  EXPECT_EQ(ParseStrictJson("[{\"a\": 1},\n {\"b\": {\"a\": \"\\\"\", \"\\u0061\": 2}}]").status().message(),
            "line 2, column 20: the key \"a\" occurs twice in one object");
}

TEST(ParseStrictJsonTest, NestingHasALimit) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseStrictJson(nested(100)).ok());
  EXPECT_EQ(ParseStrictJson(nested(1000000)).status().message(), "nested more than 100 deep");
  EXPECT_EQ(ParseStrictJson("{\"a\": " + nested(200) + "}").status().message(), "nested more than 100 deep");
}

TEST(WithPlaceTest, SaysLineAndColumnOfThePath) {
  const std::string text =
      "{\"mesh\": [1, {\"x\": 2}],\n"
      " \"ops\": [{\"name\": \"a\"},\n"
      "  {\"name\": \"b\", \"factors\": {\"m\": \"}\", \"n\": []}}]}";
  ASSERT_TRUE(ParseStrictJson(text).ok());
  const auto place = [&](const std::string& where) {
    return std::string(WithPlace(JsonError(where, "wrong"), text).message());
  };
  EXPECT_EQ(place("plan"), "line 1, column 1: plan: wrong");
  EXPECT_EQ(place("plan.mesh"), "line 1, column 10: plan.mesh: wrong");
  EXPECT_EQ(place("mesh[1].x"), "line 1, column 20: mesh[1].x: wrong");
  EXPECT_EQ(place("mesh[1].y"), "line 1, column 14: mesh[1].y: wrong");
  EXPECT_EQ(place("mesh[2]"), "line 1, column 10: mesh[2]: wrong");
  EXPECT_EQ(place("ops[`b`].factors.n"), "line 3, column 44: ops[`b`].factors.n: wrong");
  EXPECT_EQ(place("ops[`c`]"), "line 2, column 9: ops[`c`]: wrong");
  EXPECT_EQ(WithPlace(absl::OkStatus(), text), absl::OkStatus());
  EXPECT_EQ(WithPlace(absl::NotFoundError("x"), text), absl::NotFoundError("x"));
}

TEST(CheckFieldsTest, NamesWhatIsMissingOrUnknown) {
  const Json object = *ParseStrictJson(R"({"a": 1, "b": 2})");
  EXPECT_TRUE(CheckFields(object, "file", {"a"}, {"b", "c"}).ok());
  EXPECT_EQ(CheckFields(object, "file", {"a", "c"}, {"b"}).message(), "file: the field \"c\" is missing");
  EXPECT_EQ(CheckFields(object, "file", {"a"}, {}).message(), "file: unknown field \"b\"");
  EXPECT_EQ(CheckFields(object.at("a"), "file.a", {}).message(), "file.a: expected an object");
}

TEST(FieldTest, HasTheTypeThatIsAskedFor) {
  const Json object = *ParseStrictJson(R"({"text": "x", "number": 1.5, "integer": 7})");
  EXPECT_EQ(*StringAt(object, "text", "file"), "x");
  EXPECT_EQ(*NumberAt(object, "number", "file"), 1.5);
  EXPECT_EQ(*NumberAt(object, "integer", "file"), 7);
  EXPECT_EQ(*IntegerAt(object, "integer", "file"), 7);
  EXPECT_EQ(StringAt(object, "number", "file").status().message(), "file.number: expected a string");
  EXPECT_EQ(NumberAt(object, "text", "file").status().message(), "file.text: expected a number");
  EXPECT_EQ(IntegerAt(object, "number", "file").status().message(), "file.number: expected an integer");
}

TEST(JsonTextTest, KeepsTheOrderOfFieldsAndReplacesWhatIsNotUtf8) {
  const Json json = {{"b", {1, 2}}, {"a", "x\xff"}};
  EXPECT_EQ(JsonLine(json), "{\"b\":[1,2],\"a\":\"x\xEF\xBF\xBD\"}");
  EXPECT_EQ(JsonObject({{"b", {1, 2}}, {"a", "x\xff"}}), json);
  EXPECT_EQ(JsonDocument({{"b", {1}}, {"a", nullptr}}), "{\n \"b\": [\n  1\n ],\n \"a\": null\n}\n");
}

TEST(JsonDocumentWriterTest, WritesWhatJsonDocumentWrites) {
  const Json items[] = {{{"name", "a\nb"}, {"list", {1, 2}}}, {{"name", "c\xff"}, {"list", Json::array()}}, 7};
  for (int count = 0; count <= 3; ++count) {
    JsonDocumentWriter writer;
    Json list = Json::array();
    writer.Field("object", {{"x", {1}}, {"y", nullptr}});
    writer.BeginItems("items");
    for (int i = 0; i < count; ++i) {
      writer.Item(items[i]);
      list.push_back(items[i]);
    }
    writer.EndItems();
    writer.Field("last", 0.5);
    EXPECT_EQ(std::move(writer).Done(),
              JsonDocument({{"object", {{"x", {1}}, {"y", nullptr}}}, {"items", list}, {"last", 0.5}}));
  }
}

}  // namespace
}  // namespace cleave
