#include "tools/data/facts.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"

namespace cleave::tools {
namespace {

constexpr int64_t kFactsVersion = 2;

constexpr std::pair<const char*, std::string DataFacts::*> kTexts[] = {
    {"digest", &DataFacts::digest},
    {"tokenizer", &DataFacts::tokenizer},
    {"tokenizer_digest", &DataFacts::tokenizer_digest}};

constexpr std::pair<const char*, int64_t DataFacts::*> kNumbers[] = {
    {"seq", &DataFacts::seq},         {"rows", &DataFacts::rows},           {"samples", &DataFacts::samples},
    {"tokens", &DataFacts::tokens},   {"learned", &DataFacts::learned},     {"test_rows", &DataFacts::test_rows},
    {"skipped", &DataFacts::skipped}, {"truncated", &DataFacts::truncated}, {"dropped", &DataFacts::dropped},
    {"split", &DataFacts::split},     {"unlearned", &DataFacts::unlearned}, {"passed_over", &DataFacts::passed_over},
    {"pairs", &DataFacts::pairs}};

std::string PathIn(const std::string& folder) { return (std::filesystem::path(folder) / kFactsFile).string(); }

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::optional<Diagnostic> WriteFacts(const std::string& folder, const DataFacts& facts) {
  runtime::JsonObject json;
  json.AddInteger("version", kFactsVersion);
  for (const auto& [name, member] : kTexts) json.Add(name, facts.*member);
  for (const auto& [name, member] : kNumbers) json.AddInteger(name, facts.*member);
  std::ofstream stream(PathIn(folder), std::ios::binary);
  stream << json.Text() << "\n" << std::flush;
  if (stream.good()) return std::nullopt;
  return Error(Code::kE0602, absl::StrCat("cannot write ", QuotedPath(PathIn(folder))));
}

std::optional<Diagnostic> ReadFacts(const std::string& folder, DataFacts& facts) {
  const auto wrong = [&](const std::string& what) {
    return Error(Code::kE0636, absl::StrCat(QuotedPath(PathIn(folder)), " ", what));
  };
  const runtime::Result<std::vector<uint8_t>> bytes = runtime::ReadFile(PathIn(folder), int64_t{1} << 20);
  if (!bytes.ok()) {
    return Error(Code::kE0636, bytes.error().message)
        .Help("`cleave data chat` and `cleave data pairs` make such folders");
  }
  const auto json = runtime::ParseJson(std::string(bytes.value().begin(), bytes.value().end()));
  if (!json.ok()) return wrong(json.error().message);
  const auto version = runtime::IntegerMember(json.value(), "version");
  if (!version.ok()) return wrong(version.error().message);
  if (version.value() != kFactsVersion)
    return wrong(absl::StrCat("has version ", version.value(), "; known is ", kFactsVersion));
  for (const auto& [name, member] : kTexts) {
    const auto text = runtime::StringMember(json.value(), name);
    if (!text.ok()) return wrong(text.error().message);
    facts.*member = text.value();
  }
  for (const auto& [name, member] : kNumbers) {
    const auto number = runtime::IntegerMember(json.value(), name);
    if (!number.ok()) return wrong(number.error().message);
    facts.*member = number.value();
  }
  return std::nullopt;
}

std::string FactsText(const DataFacts& facts) {
  const int64_t places = (facts.rows + facts.pairs) * facts.seq;
  std::string text = absl::StrFormat(
      "%s of %s tokens: %s, %s tokens, of which %.1f %% are learned; %.1f %% of the places are padding\n",
      Plural(facts.rows, facts.pairs > 0 ? "pair" : "row"), FormatCount(facts.seq), Plural(facts.samples, "sample"),
      FormatCount(facts.tokens), Share(facts.learned, facts.tokens), Share(places - facts.tokens, places));
  const auto line = [&](int64_t count, absl::string_view noun, absl::string_view what) {
    if (count > 0) absl::StrAppend(&text, Plural(count, noun), " ", what, "\n");
  };
  line(facts.test_rows, facts.pairs > 0 ? "pair" : "row", "for testing, in the folder `test`");
  const absl::string_view sample = facts.pairs > 0 ? "pair" : "sample";
  line(facts.truncated, sample, "cut off at the end of a row (`--long` has other ways)");
  line(facts.dropped, sample, "left out: longer than a row");
  line(facts.split, sample, "split: longer than a row");
  line(facts.unlearned, sample, "left out: nothing within a row is learned");
  line(facts.skipped, "line", "skipped: no sample");
  line(facts.passed_over, "special token", "written out within messages: text there, and no mark");
  return text;
}

}  // namespace cleave::tools
