// Every text that a family can give: the compiler accepts the model, and the mapping names all of its parameters.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"
#include "ir/graph/graph.h"
#include "tools/import/family.h"
#include "tools/import/model.h"
#include "tools/weights/mapping.h"

namespace cleave::tools {
namespace {

// The values that a rule can give, in which texts may differ.
std::vector<std::string> ValuesOf(const FieldRule& rule) {
  switch (rule.kind) {
    case FieldKind::kSize:
    case FieldKind::kSizes: {
      const std::map<std::string, std::string> sizes = {{"depth", "2"},       {"heads", "4"},       {"key_heads", "2"},
                                                        {"experts", "4"},     {"chosen", "1"},      {"groups", "2"},
                                                        {"open_groups", "1"}, {"depths", "(2, 1)"}, {"furthest", "9"}};
      const auto found = sizes.find(rule.name);
      if (found != sizes.end()) return {found->second};
      return {rule.kind == FieldKind::kSize ? "8" : "(8, 12)"};
    }
    case FieldKind::kCount:
      return {"2"};
    case FieldKind::kLength:
      return {"16"};
    case FieldKind::kWhole:
      return {"1"};
    case FieldKind::kOptional:
      return {"", "5"};
    case FieldKind::kNumber:
      return {rule.name == "rope_high" ? "4.0" : "1.5"};
    case FieldKind::kRate:
      return {"0.5"};  // Without any, models are compiled in tests/import.
    case FieldKind::kFlag:
      return {"false", "true"};
    case FieldKind::kChoice:
      // Of the values' types, no text differs otherwise.
      return rule.name == "precision" ? std::vector<std::string>{"f32"} : rule.stands_for;
    case FieldKind::kIs:
    case FieldKind::kAmong:
    case FieldKind::kCycle:
    case FieldKind::kIgnored:
      break;
  }
  return {};
}

// Calls `check` with each combination of values of the rules from `next` on.
void ForEach(const Family& family, size_t next, TemplateValues values,
             const std::function<void(const TemplateValues&)>& check) {
  if (next == family.rules.size()) return check(values);
  const FieldRule& rule = family.rules[next];
  const bool is_read = rule.when.empty() || Holds(values, rule.when);
  const std::vector<std::string> choices = ValuesOf(rule);
  if (choices.empty() || !is_read) return ForEach(family, next + 1, std::move(values), check);
  std::set<std::string> seen;
  for (const std::string& choice : choices) {
    if (!seen.insert(choice).second) continue;  // What stands for several words makes one text.
    TemplateValues with = values;
    with[rule.name] = choice;
    if (rule.kind == FieldKind::kChoice && !choice.empty()) with[choice] = "true";
    if (rule.kind == FieldKind::kLength) with["seq"] = choice;
    ForEach(family, next + 1, std::move(with), check);
  }
}

TEST(FamiliesTest, EveryModelCompilesAndHasItsMapping) {
  for (const Family& family : Families()) {
    int count = 0;
    const bool answers = !Holds(family.values, "data");
    ForEach(family, 0, family.values, [&](TemplateValues given) {
      // A third of the texts each is for packed rows and for pairs: all other choices, of two values each, meet them.
      ++count;
      given["packed"] = given["chat"] = count % 3 == 0 && answers ? "true" : "";
      given["pairs"] = count % 3 == 1 && answers ? "true" : "";
      const TemplateValues values = WithWhatFollows(family, given);
      std::string shown = family.name;
      for (const auto& [name, value] : given) absl::StrAppend(&shown, " ", name, "=", value);
      SCOPED_TRACE(shown);
      const frontend::Analyzed analyzed = frontend::AnalyzeText(ModelText(family, values));
      ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
      EXPECT_EQ(analyzed.messages, "");
      const runtime::Result<Mapping> mapping = ParseMapping(family.mapping, MapText(family, values));
      ASSERT_TRUE(mapping.ok()) << mapping.error().message;
      std::set<int> used;
      for (const ir::Op& op : analyzed.module->graph.ops) {
        if (op.kind != ir::OpKind::kParameter) continue;
        int lines = 0;
        for (const MappingLine& line : mapping.value().lines) {
          if (!line.ours.has_value() || !line.ours->Match(op.name).has_value()) continue;
          used.insert(line.number);
          ++lines;
        }
        EXPECT_EQ(lines, 1) << op.name;
      }
      for (const MappingLine& line : mapping.value().lines) {
        if (line.ours.has_value()) EXPECT_EQ(used.count(line.number), 1u) << line.ours->text();
      }
    });
    EXPECT_GT(count, 1) << family.name;
  }
}

TEST(FamiliesTest, OwnLinesTakeThePlaceOfThoseOfAList) {
  const absl::StatusOr<Family> family =
      ParseFamily("own", "x size y = 5\nx flag z\ninclude list\ninclude list in a.b\n",
                  {{"list", "x ignored\nw ignored\nw flag v\n"}});
  ASSERT_TRUE(family.ok());
  std::vector<std::string> fields;
  for (const FieldRule& rule : family->rules) fields.push_back(absl::StrCat(rule.fields[0], " ", rule.name));
  EXPECT_EQ(fields, (std::vector<std::string>{"x y", "x z", "w ", "w v", "a.b.x ", "a.b.w ", "a.b.w v"}));
}

TEST(FamiliesTest, MistakesInATable) {
  const auto message = [](const std::string& text) {
    const absl::StatusOr<Family> family = ParseFamily("own", text, {{"list", "x what y\n"}});
    return family.ok() ? "" : std::string(family.status().message());
  };
  EXPECT_EQ(message("title Own\nmodel_type own\nx|a.x size width = 4 * y when z // by hand\n"), "");
  EXPECT_EQ(message("x what y\n"), "line 1 of own.fields has the kind `what`");
  EXPECT_EQ(message("\nx flag y when z z\n"), "line 2 of own.fields has `z` at its end");
  EXPECT_EQ(message("x size y many\n"), "line 1 of own.fields has a wrong limit");
  EXPECT_EQ(message("include nothing\n"), "line 1 of own.fields includes what is not there");
  EXPECT_EQ(message("include list\n"), "line 1 of list.fields has the kind `what`");
}

}  // namespace
}  // namespace cleave::tools
