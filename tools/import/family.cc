#include "tools/import/family.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"

namespace cleave::tools {
namespace {

struct FamilyFile {
  absl::string_view path;  // "tools/import/families/gpt2.model"
  absl::string_view text;
};

constexpr FamilyFile kFamilyFiles[] = {
#include "tools/import/families.inc"
};

absl::string_view FileName(const FamilyFile& file) { return file.path.substr(file.path.rfind('/') + 1); }

constexpr int64_t kMostOfSize = (int64_t{1} << 31) - 1;

// Reads the words behind the fields of one line.
class RuleReader {
 public:
  RuleReader(std::vector<std::string> words, FieldRule rule) : words_(std::move(words)), rule_(std::move(rule)) {}

  absl::StatusOr<FieldRule> Read() {
    const std::string kind = Next();
    if (kind == "ignored") return Finish(FieldKind::kIgnored);
    if (kind == "is") {
      rule_.words = {Next()};
      return Finish(FieldKind::kIs);
    }
    if (kind == "among" || kind == "cycle") {
      while (HasWord()) rule_.words.push_back(Next());
      return Finish(kind == "among" ? FieldKind::kAmong : FieldKind::kCycle);
    }
    rule_.name = Next();
    if (kind == "length") return Finish(FieldKind::kLength);
    if (kind == "count") return Finish(FieldKind::kCount);
    if (kind == "whole") return Finish(FieldKind::kWhole);
    if (kind == "optional") return Finish(FieldKind::kOptional);
    if (kind == "number") return Finish(FieldKind::kNumber);
    if (kind == "rate") return Finish(FieldKind::kRate);
    if (kind == "flag") return Finish(FieldKind::kFlag);
    if (kind == "size" || kind == "sizes") {
      rule_.most = kMostOfSize;
      if (HasWord() && !absl::SimpleAtoi(Next(), &rule_.most)) return absl::InvalidArgumentError("has a wrong limit");
      return Finish(kind == "size" ? FieldKind::kSize : FieldKind::kSizes);
    }
    if (kind != "choice") return absl::InvalidArgumentError(absl::StrCat("has the kind `", kind, "`"));
    while (HasWord()) {
      const std::pair<std::string, std::string> choice = absl::StrSplit(Next(), absl::MaxSplits(':', 1));
      rule_.words.push_back(choice.first);
      rule_.stands_for.push_back(choice.second);
    }
    return Finish(FieldKind::kChoice);
  }

 private:
  bool HasWord() const { return next_ < words_.size() && words_[next_] != "=" && words_[next_] != "when"; }
  std::string Next() { return next_ < words_.size() ? words_[next_++] : ""; }

  absl::StatusOr<FieldRule> Finish(FieldKind kind) {
    rule_.kind = kind;
    if (next_ < words_.size() && words_[next_] == "=") {
      std::vector<std::string> value;
      for (++next_; HasWord();) value.push_back(Next());
      rule_.otherwise = absl::StrJoin(value, " ");
    }
    if (next_ < words_.size() && words_[next_] == "when") {
      ++next_;
      rule_.when = Next();
    }
    if (next_ < words_.size()) return absl::InvalidArgumentError(absl::StrCat("has `", words_[next_], "` at its end"));
    return rule_;
  }

  std::vector<std::string> words_;
  size_t next_ = 0;
  FieldRule rule_;
};

absl::StatusOr<FieldRule> ParseRule(absl::string_view line) {
  FieldRule rule;
  const std::pair<absl::string_view, absl::string_view> sides = absl::StrSplit(line, absl::MaxSplits(" // ", 1));
  rule.by_hand = std::string(sides.second);
  std::vector<std::string> words = absl::StrSplit(sides.first, ' ', absl::SkipEmpty());
  rule.fields = absl::StrSplit(words[0], '|');
  words.erase(words.begin());
  return RuleReader(std::move(words), std::move(rule)).Read();
}

// `count`: of the family's first rules.
bool HasRuleFor(const Family& family, const FieldRule& rule, size_t count) {
  return std::any_of(family.rules.begin(), family.rules.begin() + static_cast<int64_t>(count),
                     [&](const FieldRule& own) { return own.fields[0] == rule.fields[0]; });
}

// `own`: how many rules there are that take the place of those here for the same fields. `within`: the object in which
// the fields are, and a dot.
absl::Status ReadFields(absl::string_view name, absl::string_view text, const TemplateValues& lists, size_t own,
                        const std::string& within, Family& family) {
  const std::vector<std::pair<absl::string_view, std::string*>> heads = {{"title ", &family.title},
                                                                         {"paper ", &family.paper},
                                                                         {"model_type ", &family.model_type},
                                                                         {"template ", &family.model},
                                                                         {"mapping ", &family.mapping}};
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, " of ", name, ".fields ", what));
    };
    if (line.empty() || line[0] == '#') continue;
    bool is_head = false;
    for (const auto& [word, target] : heads) {
      if (!absl::ConsumePrefix(&line, word)) continue;
      *target = std::string(line);
      is_head = true;
    }
    if (is_head) continue;
    if (absl::ConsumePrefix(&line, "set ")) {
      const std::pair<std::string, std::string> value = absl::StrSplit(line, absl::MaxSplits(' ', 1));
      family.values.insert(value);
      continue;
    }
    if (absl::ConsumePrefix(&line, "include ")) {
      const std::pair<std::string, std::string> include = absl::StrSplit(line, absl::MaxSplits(" in ", 1));
      const auto list = lists.find(include.first);
      if (list == lists.end()) return wrong("includes what is not there");
      const std::string object = include.second.empty() ? "" : include.second + ".";
      CLEAVE_RETURN_IF_ERROR(ReadFields(include.first, list->second, {}, family.rules.size(), object, family));
      continue;
    }
    absl::StatusOr<FieldRule> rule = ParseRule(line);
    if (!rule.ok()) return wrong(rule.status().message());
    for (std::string& field : rule->fields) field.insert(0, within);
    if (!HasRuleFor(family, *rule, own)) family.rules.push_back(*std::move(rule));
  }
  return absl::OkStatus();
}

std::vector<Family> ReadFamilies() {
  TemplateValues lists;
  for (const FamilyFile& file : kFamilyFiles) {
    absl::string_view name = FileName(file);
    if (absl::ConsumeSuffix(&name, ".fields")) lists[std::string(name)] = std::string(file.text);
  }
  std::vector<Family> families;
  for (const auto& [name, text] : lists) {
    absl::StatusOr<Family> family = ParseFamily(name, text, lists);
    CLEAVE_CHECK(family.ok()) << family.status().message();
    if (!family->model_type.empty()) families.push_back(*std::move(family));
  }
  return families;
}

}  // namespace

absl::StatusOr<Family> ParseFamily(absl::string_view name, absl::string_view text, const TemplateValues& lists) {
  Family family = {.name = std::string(name)};
  CLEAVE_RETURN_IF_ERROR(ReadFields(name, text, lists, 0, "", family));
  return family;
}

const std::vector<Family>& Families() {
  static const auto& families = *new std::vector<Family>(ReadFamilies());
  return families;
}

const Family* FindFamily(absl::string_view model_type) {
  for (const Family& family : Families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

absl::string_view FamilyText(absl::string_view file) {
  for (const FamilyFile& each : kFamilyFiles) {
    if (FileName(each) == file) return each.text;
  }
  CLEAVE_CHECK(false) << "no file " << file;
  return "";
}

}  // namespace cleave::tools
