#include "tools/export/config_text.h"

#include "gtest/gtest.h"
#include "runtime/json/json.h"

namespace cleave::tools {
namespace {

TEST(ConfigTextTest, OnlyTheValueChanges) {
  const std::string text =
      "{\n  \"a\": 1,\n  \"b\" : [1, {\"c\": \"]\"}] ,\n  \"d\": {\"e\": \"x\\\"},\", \"f\":null}\n}\n";
  const auto with = [&](const std::string& path, const std::string& value) {
    return WithField(text, path, value).value_or("nothing");
  };
  EXPECT_EQ(with("a", "27"),
            "{\n  \"a\": 27,\n  \"b\" : [1, {\"c\": \"]\"}] ,\n  \"d\": {\"e\": \"x\\\"},\", \"f\":null}\n}\n");
  EXPECT_EQ(with("b", "0"), "{\n  \"a\": 1,\n  \"b\" : 0 ,\n  \"d\": {\"e\": \"x\\\"},\", \"f\":null}\n}\n");
  EXPECT_EQ(with("d", "{}"), "{\n  \"a\": 1,\n  \"b\" : [1, {\"c\": \"]\"}] ,\n  \"d\": {}\n}\n");
  EXPECT_EQ(with("d.e", "\"y\""),
            "{\n  \"a\": 1,\n  \"b\" : [1, {\"c\": \"]\"}] ,\n  \"d\": {\"e\": \"y\", \"f\":null}\n}\n");
  EXPECT_EQ(with("d.f", "true"),
            "{\n  \"a\": 1,\n  \"b\" : [1, {\"c\": \"]\"}] ,\n  \"d\": {\"e\": \"x\\\"},\", \"f\":true}\n}\n");
  EXPECT_EQ(with("new", "3"),
            "{\n  \"new\": 3,\n  \"a\": 1,\n  \"b\" : [1, {\"c\": \"]\"}] ,\n  \"d\": {\"e\": \"x\\\"},\", "
            "\"f\":null}\n}\n");
  EXPECT_EQ(
      with("d.new", "3"),
      "{\n  \"a\": 1,\n  \"b\" : [1, {\"c\": \"]\"}] ,\n  \"d\": {\"new\": 3,\"e\": \"x\\\"},\", \"f\":null}\n}\n");
  EXPECT_EQ(with("a.b", "3"), "nothing");
  EXPECT_EQ(with("none.b", "3"), "nothing");
  EXPECT_EQ(WithField(" { } ", "x", "1"), " {\"x\": 1 } ");
  EXPECT_EQ(WithField("{\"x\":1}", "x", "2"), "{\"x\":2}");
}

}  // namespace
}  // namespace cleave::tools
