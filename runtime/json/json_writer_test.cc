#include "runtime/json/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/json/json.h"

namespace cleave::runtime {
namespace {

TEST(JsonWriter, MembersAndItemsStandInTheOrderInWhichTheyAreAdded) {
  JsonObject inner;
  inner.AddInteger("z", INT64_MIN);
  JsonArray mesh;
  mesh.Add("m0");
  mesh.AddInteger(2);
  JsonArray items;
  items.Add(mesh);
  items.Add(JsonArray());
  items.Add(inner);
  items.AddInteger(-1);
  JsonObject object;
  object.Add("b", inner);
  object.Add("a", items);
  object.Add("c", JsonArray({3, 4}));
  object.Add("d", "text");
  object.Add("e", JsonObject());
  EXPECT_EQ(
      object.Text(),
      R"({"b":{"z":-9223372036854775808},"a":[["m0",2],[],{"z":-9223372036854775808},-1],"c":[3,4],"d":"text","e":{}})");
}

TEST(JsonWriter, Numbers) {
  JsonObject object;
  object.Add("a", 0.1);
  object.Add("b", std::numeric_limits<double>::infinity());
  object.Add("c", std::numeric_limits<double>::quiet_NaN());
  object.AddWhole("d", 1e15);
  object.Add("e", 1e15);
  EXPECT_EQ(object.Text(), R"({"a":0.1,"b":null,"c":null,"d":1000000000000000,"e":1e+15})");
}

TEST(JsonWriter, EscapesWhatMustNotStandInAString) {
  JsonObject object;
  object.Add("a\"\\", "\n\x01\x7f/\xc3\xa9");
  EXPECT_EQ(object.Text(), "{\"a\\\"\\\\\":\"\\u000a\\u0001\\u007f/\xc3\xa9\"}");
}

TEST(JsonWriter, EveryByteOfAStringIsReadAgain) {
  std::string text;
  for (int i = 0; i < 0x80; ++i) text += static_cast<char>(i);
  text += "\xe2\x82\xac\xf0\x9f\x98\x80";
  JsonObject object;
  object.Add(text, text);
  const Result<Json> json = ParseJson(object.Text());
  ASSERT_TRUE(json.ok()) << json.error().message;
  ASSERT_NE(json.value().Find(text), nullptr);
  EXPECT_EQ(json.value().Find(text)->text, text);
}

}  // namespace
}  // namespace cleave::runtime
