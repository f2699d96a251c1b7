#include "runtime/chat_template/chat_template.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/json/json.h"

namespace cleave::runtime {
namespace {

constexpr char kFolder[] = "runtime/chat_template/testdata/";

std::string ReadText(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

RenderOptions OptionsOf2024() {
  RenderOptions options;
  options.date = std::tm{};
  options.date->tm_year = 124;
  options.date->tm_mon = 6;
  options.date->tm_mday = 26;
  return options;
}

// The text, or "line 1, column 4: what is wrong".
std::string Render(const std::string& text, const std::map<std::string, Value>& variables = {},
                   const RenderOptions& options = {}) {
  ChatTemplate parsed;
  Rendering rendering;
  auto problem = ChatTemplate::Parse(text, parsed);
  if (!problem.has_value()) problem = parsed.Render(variables, options, rendering);
  if (!problem.has_value()) return rendering.text.text();
  return PlaceIn(text, problem->offset) + ": " + problem->message;
}

// Places in bytes of those in characters.
std::vector<MarkedRange> InBytes(const std::string& text, const Json& places) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) starts.push_back(at);
  }
  starts.push_back(text.size());
  std::vector<MarkedRange> ranges;
  for (const Json& place : places.items) {
    const size_t begin = starts[static_cast<size_t>(*JsonInteger(place.items[0]))];
    const size_t end = starts[static_cast<size_t>(*JsonInteger(place.items[1]))];
    if (begin < end) ranges.push_back({begin, end, MarkedText::kNoMark});
  }
  return ranges;
}

TEST(ChatTemplateTest, WritesWhatTransformersDoes) {
  const auto cases = ParseJson(ReadText("cases.json"));
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  std::set<std::string> names;
  for (const Json& item : cases.value().items) {
    const std::string& name = item.items[0].text;
    names.insert(name);
    std::map<std::string, Value> variables = {{"bos_token", TextValue("<s>")}, {"eos_token", TextValue("</s>")}};
    for (const auto& [key, value] : item.items[1].members) variables[key] = *ValueOfJson(value, 1);
    ChatTemplate parsed;
    const auto problem = ChatTemplate::Parse(ReadText(name), parsed);
    ASSERT_FALSE(problem.has_value()) << name << ": " << problem->message;
    Rendering rendering;
    const auto failed = parsed.Render(variables, OptionsOf2024(), rendering);
    const bool is_expected = item.items[2].kind != Json::Kind::kNull;
    ASSERT_EQ(!failed.has_value(), is_expected) << name << ": " << failed->message;
    if (!is_expected) continue;
    EXPECT_EQ(rendering.text.text(), item.items[2].text) << name;
    EXPECT_EQ(rendering.generated, InBytes(item.items[2].text, item.items[3])) << name;
  }
  EXPECT_EQ(names.size(), 9u);
}

// What the template writes has no mark; what a message says has one, whatever was done to it.
TEST(ChatTemplateTest, BytesOfMessagesKeepTheirMarks) {
  const std::string text =
      "{{ '<|user|>' + m.content.strip()[1:] ~ '|' ~ m.content.replace('b', '-') ~ m.content.split('b') | join('+') }}"
      "{{ m | tojson }}{{ m.content | upper }}";
  ChatTemplate parsed;
  ASSERT_FALSE(ChatTemplate::Parse(text, parsed).has_value());
  const std::map<std::string, Value> variables = {
      {"m", *ValueOfJson(ParseJson(R"({"content": " a\"bc "})").value(), 7)}};
  Rendering rendering;
  ASSERT_FALSE(parsed.Render(variables, {}, rendering).has_value());
  EXPECT_EQ(rendering.text.text(), "<|user|>\"bc| a\"-c  a\"+c {\"content\": \" a\\\"bc \"} A\"BC ");
  std::string marks;
  for (size_t at = 0; at < rendering.text.size(); ++at) {
    marks += rendering.text.MarkAt(at) == 7 ? 'x' : rendering.text.MarkAt(at) == 0 ? '.' : '?';
  }
  EXPECT_EQ(marks, "........xxx.xxx.xxxxx.xx..xxxxxxx....xxxxxxx..xxxxxx");
}

TEST(ChatTemplateTest, ProblemsHaveNamesAndPlaces) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n {% include 'x' %}", "line 2, column 5: `{% include %}` is not supported"},
      {"{% endif %}", "line 1, column 4: `{% endif %}` ends nothing here"},
      {"{% if x %}", "line 1, column 11: expected `{% endif %}`, not the end"},
      {"{{ x", "line 1, column 1: the tag is not closed by `}}`"},
      {"{# x", "line 1, column 1: the comment `{#` is not closed by `#}`"},
      {"{{ 'x }}", "line 1, column 4: the string is not closed"},
      {"{{ x | sort }}", "line 1, column 6: the filter `sort` is not supported"},
      {"{{ x | trm }}", "line 1, column 6: the filter `trm` is not supported"},
      {"{{ 'a' is lower }}", "line 1, column 8: the test `lower` is not supported"},
      {"{{ 'a'.format(1) }}", "line 1, column 7: the method `format` is not supported"},
      {"{{ x.y }}", "line 1, column 5: `.y` of nothing (there is no `x`)"},
      {"{{ x() }}", "line 1, column 5: a call of nothing (there is no `x`) is not supported"},
      {"{{ 'a' + 1 }}", "line 1, column 8: `+` of a text and a whole number"},
      {"{{ [1] }}", "line 1, column 4: a list as a text is not supported (`tojson` writes it)"},
      {"{{ 1 // 0 }}", "line 1, column 6: a division by zero"},
      {"{{ 9223372036854775807 + 1 }}", "line 1, column 24: a number is too large"},
      {"{{ ) }}", "line 1, column 4: unexpected `)`"},
      {"{{ a ? b }}", "line 1, column 6: unexpected `?`"},
      {"{% break %}", "line 1, column 4: `{% break %}` stands in no loop"},
      {"{% set x.y = 1 %}", "line 1, column 4: `{% set %}` of a member of nothing (there is no `x`)"},
      {"{% set a, b = [1] %}", "line 1, column 4: 1 values for 2 names"},
      {"{{ raise_exception('no') }}", "line 1, column 19: the template refuses this: no"},
      {"{{ strftime_now('%Y') }}", "line 1, column 16: the template writes today's date, and none is given"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Render(text), expected) << text;
}

TEST(ChatTemplateTest, HostileTemplatesComeToAnEnd) {
  const std::string many = std::string(400, '[') + std::string(400, ']') + " }}";
  const std::pair<std::string, const char*> cases[] = {
      {"{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "runs too long"},
      {"{{ range(999999999999) | length }}", "runs too long"},
      {"{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}", "too long"},
      {"{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x == n.x }}",
       "too large"},
      {"{% set n = namespace() %}{% set n.n = n %}", "as a member of a namespace is not supported"},
      {"{% set n = namespace() %}{{ [n] }}", "has a namespace or macro in it"},
      {"{{ 'x' * 999999999 }}", "a text is too long"},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested too deep"},
      {"{{ " + many, "nested too deep"},
      {"{{ " + std::string(9999, '-') + "1 }}", "nested too deep"},
      {"{{ 1" + std::string(3000, '+') + "1 }}", "nested too deep"},
  };
  RenderOptions options;
  options.most_steps = 1'000'000;
  for (const auto& [text, expected] : cases) {
    const std::string said = Render(text, {}, options);
    EXPECT_TRUE(said.find(expected) != std::string::npos) << said;
  }
  std::string chain = "{{ x";
  for (int i = 0; i < 5000; ++i) chain += " or x";
  EXPECT_TRUE(Render(chain + " }}").find("this expression is too long") != std::string::npos);
  std::string ifs;
  for (int i = 0; i < 5000; ++i) ifs += "{% if x %}";
  EXPECT_TRUE(Render(ifs).find("nested too deep") != std::string::npos);
}

}  // namespace
}  // namespace cleave::runtime
