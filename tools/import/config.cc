// Reading guide: Reader::Read takes each rule in turn, finds its field (`Find`) and turns its value into text
// (`Accept`, a function for each kind), then looks for fields that no rule has named (`CheckNames`).
#include "tools/import/config.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "dsl/parse/parse.h"
#include "runtime/json/json_writer.h"

namespace cleave::tools {
namespace {

using runtime::Json;

constexpr int64_t kMostBytes = int64_t{1} << 20;
constexpr size_t kMostShown = 60;  // Of a value, in messages.

Span SpanOf(const Config& config, const Json& value, const SourceSet& sources) {
  const size_t end = sources.file(config.file).text().size();
  const bool is_text = value.kind == Json::Kind::kString;
  const size_t length = is_text ? value.text.size() + 2 : std::max<size_t>(value.text.size(), 1);
  const size_t last = std::min(end, value.offset + length);
  return {.file = config.file, .begin = static_cast<int32_t>(value.offset), .end = static_cast<int32_t>(last)};
}

// A value on one line, as a message shows it.
std::string Shown(const Json& value) {
  switch (value.kind) {
    case Json::Kind::kNull:
      return "null";
    case Json::Kind::kBool:
    case Json::Kind::kNumber:
      return value.text.substr(0, kMostShown);
    case Json::Kind::kString:
      return absl::StrCat("\"", runtime::JsonEscaped(value.text.substr(0, kMostShown)), "\"");
    case Json::Kind::kArray:
      return absl::StrCat("an array of ", Plural(static_cast<int64_t>(value.items.size()), "element"));
    case Json::Kind::kObject:
      break;
  }
  return absl::StrCat("an object of ", Plural(static_cast<int64_t>(value.members.size()), "member"));
}

// Whether null is as if the field were missing: not where the default is another value than none.
bool IsNullMissing(const FieldRule& rule) {
  switch (rule.kind) {
    case FieldKind::kWhole:
    case FieldKind::kOptional:
    case FieldKind::kNumber:
    case FieldKind::kRate:
    case FieldKind::kFlag:
      return false;
    case FieldKind::kSize:
    case FieldKind::kLength: {
      int64_t ignored = 0;
      return !absl::SimpleAtoi(rule.otherwise.value_or("0"), &ignored);
    }
    case FieldKind::kSizes:
    case FieldKind::kCount:
    case FieldKind::kChoice:
    case FieldKind::kIs:
    case FieldKind::kAmong:
    case FieldKind::kCycle:
    case FieldKind::kIgnored:
      break;
  }
  return true;
}

std::optional<double> NumberOf(const Json& value) {
  double number = 0;
  if (value.kind != Json::Kind::kNumber || !absl::SimpleAtod(value.text, &number) || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

// Whether a value is the one that is written as `literal`.
bool IsLiteral(const Json& value, absl::string_view literal) {
  switch (value.kind) {
    case Json::Kind::kNull:
      return true;  // As where the field is missing.
    case Json::Kind::kBool:
      return value.text == literal;
    case Json::Kind::kNumber: {
      double number = 0;
      return absl::SimpleAtod(literal, &number) && NumberOf(value) == number;
    }
    case Json::Kind::kString:
      return absl::StrCat("\"", value.text, "\"") == literal;
    case Json::Kind::kArray:
      return literal == "[]" && value.items.empty();
    case Json::Kind::kObject:
      break;
  }
  return literal == "{}" && value.members.empty();
}

// A positive number as the language writes it: 1e-05, 500000.0.
std::string FloatText(double number) {
  std::string text = FormatDouble(number);
  const size_t plus = text.find("e+");
  if (plus != std::string::npos) text.erase(plus + 1, 1);
  return text;
}

// Whether a rule names the field, or a part of it.
bool IsNamed(const Family& family, const std::string& path, bool or_part) {
  for (const FieldRule& rule : family.rules) {
    for (const std::string& field : rule.fields) {
      if (field == path || (or_part && absl::StartsWith(field, path + "."))) return true;
    }
  }
  return path == "model_type";
}

struct UnknownField {
  std::string path;
  const Json* value;
};

std::vector<UnknownField> FindUnknown(const Family& family, const Json& object, const std::string& prefix) {
  std::vector<UnknownField> found;
  for (const runtime::JsonMember& member : object.members) {
    const std::string path = prefix + member.name;
    if (IsNamed(family, path, false) || member.value.kind == Json::Kind::kNull) continue;
    if (member.value.kind == Json::Kind::kObject && IsNamed(family, path, true)) {
      const std::vector<UnknownField> within = FindUnknown(family, member.value, path + ".");
      found.insert(found.end(), within.begin(), within.end());
    } else {
      found.push_back({path, &member.value});
    }
  }
  return found;
}

class Reader {
 public:
  Reader(const Family& family, const Config& config, const std::set<std::string>& ignored, const SourceSet& sources,
         Diagnostics& diagnostics)
      : family_(family), config_(config), ignored_(ignored), sources_(sources), diagnostics_(diagnostics) {}

  std::optional<TemplateValues> Read() && {
    values_ = family_.values;
    for (const FieldRule& rule : family_.rules) {
      if (rule.when.empty() || Holds(values_, rule.when)) ReadRule(rule);
    }
    CheckNames();
    if (diagnostics_.has_errors()) return std::nullopt;
    return std::move(values_);
  }

 private:
  // By which the same value under two names is known.
  static std::string Text(const FieldRule& rule, const Json& value) {
    const size_t count = value.members.size() + value.items.size();
    return rule.kind == FieldKind::kCount && count > 0 ? absl::StrCat(count) : Shown(value);
  }

  void ReadRule(const FieldRule& rule) {
    const Json* found = nullptr;
    std::string field = rule.fields[0];
    for (const std::string& name : rule.fields) {
      const Json* const value = FieldAt(config_.json, name);
      if (value == nullptr || (value->kind == Json::Kind::kNull && IsNullMissing(rule))) continue;
      if (found != nullptr && Text(rule, *found) != Text(rule, *value)) {
        return Refuse(absl::StrCat("`", field, "` is ", Shown(*found), ", and `", name, "` is ", Shown(*value)), *value,
                      "another value for the same", "");
      }
      if (found == nullptr) field = name;
      found = value;
    }
    if (found != nullptr) return Accept(rule, field, *found);
    if (rule.otherwise.has_value()) {
      const absl::StatusOr<std::string> text = FillTemplate(*rule.otherwise, values_);
      // A name without a value is that of a field that was refused.
      return text.ok() ? Set(rule, std::string(absl::StripSuffix(*text, "\n"))) : void();
    }
    if (!rule.name.empty()) {
      diagnostics_.Add(Error(Code::kE0616, absl::StrCat("config.json has no `", absl::StrJoin(rule.fields, "` or `"),
                                                        "`, which ", family_.title, " needs")));
    }
  }

  void Set(const FieldRule& rule, const std::string& text) {
    values_[rule.name] = text;
    if (rule.kind == FieldKind::kChoice && !text.empty()) values_[text] = "true";
    int64_t places = 0;
    if (rule.kind == FieldKind::kLength && absl::SimpleAtoi(text, &places)) {
      values_["seq"] = absl::StrCat(std::min(places, kLongest));
    }
  }

  void Accept(const FieldRule& rule, const std::string& field, const Json& value) {
    switch (rule.kind) {
      case FieldKind::kIgnored:
        return;
      case FieldKind::kOptional:
        if (value.kind == Json::Kind::kNull) return Set(rule, "");
        return AcceptWhole(rule, field, value, 1, int64_t{1} << 40);
      case FieldKind::kLength:
        return AcceptWhole(rule, field, value, 1, int64_t{1} << 30);
      case FieldKind::kSize:
        return AcceptWhole(rule, field, value, 1, rule.most);
      case FieldKind::kSizes:
        return AcceptSizes(rule, field, value);
      case FieldKind::kCount:
        if (value.members.size() + value.items.size() > 0) return Set(rule, Text(rule, value));
        return AcceptWhole(rule, field, value, 1, int64_t{1} << 30);
      case FieldKind::kWhole:
        return AcceptWhole(rule, field, value, 0, int64_t{1} << 30);
      case FieldKind::kNumber:
        return AcceptNumber(rule, field, value);
      case FieldKind::kRate:
        return AcceptRate(rule, field, value);
      case FieldKind::kFlag:
        if (value.kind == Json::Kind::kBool) return Set(rule, value.text);
        return RefuseValue(rule, field, value, "`true` or `false`");
      case FieldKind::kChoice:
        return AcceptChoice(rule, field, value);
      case FieldKind::kIs:
        if (IsLiteral(value, rule.words[0])) return;
        return RefuseValue(rule, field, value, rule.words[0] == "null" ? "no value" : Quoted(rule.words));
      case FieldKind::kAmong:
        return AcceptAmong(rule, field, value);
      case FieldKind::kCycle:
        return AcceptCycle(rule, field, value);
    }
  }

  void AcceptWhole(const FieldRule& rule, const std::string& field, const Json& value, int64_t least, int64_t most) {
    const std::optional<int64_t> number = runtime::JsonInteger(value);
    if (number.has_value() && *number >= least && *number <= most) return Set(rule, absl::StrCat(*number));
    RefuseValue(rule, field, value, absl::StrCat("whole numbers from ", least, " to ", most));
  }

  void AcceptSizes(const FieldRule& rule, const std::string& field, const Json& value) {
    constexpr size_t kMostSizes = 100;
    std::string tuple;
    const bool is_array = value.kind == Json::Kind::kArray && !value.items.empty() && value.items.size() <= kMostSizes;
    for (const Json& item : is_array ? value.items : std::vector<Json>()) {
      const std::optional<int64_t> size = runtime::JsonInteger(item);
      if (!size.has_value() || *size < 1 || *size > rule.most) {
        return RefuseValue(rule, field, item, absl::StrCat("whole numbers from 1 to ", rule.most));
      }
      absl::StrAppend(&tuple, *size, ", ");
    }
    if (is_array) return Set(rule, absl::StrCat("(", tuple, ")"));
    RefuseValue(rule, field, value, absl::StrCat("arrays of 1 to ", kMostSizes, " whole numbers"));
  }

  void AcceptNumber(const FieldRule& rule, const std::string& field, const Json& value) {
    constexpr double kLeast = 1e-30, kMost = 1e30;
    const std::optional<double> number = NumberOf(value);
    if (number.has_value() && *number >= kLeast && *number <= kMost) return Set(rule, FloatText(*number));
    RefuseValue(rule, field, value, "numbers from 1e-30 to 1e30");
  }

  void AcceptRate(const FieldRule& rule, const std::string& field, const Json& value) {
    const std::optional<double> number = NumberOf(value);
    if (number.has_value() && *number >= 0 && *number < 1) return Set(rule, FloatText(*number));
    RefuseValue(rule, field, value, "numbers of at least 0 and less than 1");
  }

  void AcceptChoice(const FieldRule& rule, const std::string& field, const Json& value) {
    for (size_t i = 0; i < rule.words.size(); ++i) {
      if (value.kind == Json::Kind::kString && value.text == rule.words[i]) return Set(rule, rule.stands_for[i]);
    }
    RefuseValue(rule, field, value, Quoted(rule.words));
  }

  void AcceptAmong(const FieldRule& rule, const std::string& field, const Json& value) {
    if (value.kind != Json::Kind::kArray) return RefuseValue(rule, field, value, "arrays of " + Quoted(rule.words));
    for (const Json& item : value.items) {
      if (std::count(rule.words.begin(), rule.words.end(), item.text) == 0) {
        return RefuseValue(rule, field, item, Quoted(rule.words));
      }
    }
  }

  void AcceptCycle(const FieldRule& rule, const std::string& field, const Json& value) {
    const std::string supported = absl::StrCat(Quoted(rule.words), rule.words.size() > 1 ? " in turn" : "",
                                               ", one for each of `num_hidden_layers`");
    if (value.kind != Json::Kind::kArray) return RefuseValue(rule, field, value, supported);
    for (size_t i = 0; i < value.items.size(); ++i) {
      if (value.items[i].text != rule.words[i % rule.words.size()]) {
        return RefuseValue(rule, absl::StrCat(field, "[", i, "]"), value.items[i], supported);
      }
    }
    const auto depth = values_.find("depth");
    if (depth != values_.end() && depth->second != absl::StrCat(value.items.size())) {
      RefuseValue(rule, field, value, supported);
    }
  }

  static std::string Quoted(const std::vector<std::string>& words) { return QuotedList(words, "and"); }

  void RefuseValue(const FieldRule& rule, const std::string& field, const Json& value, const std::string& supported) {
    Refuse(
        absl::StrCat("`", field, "` is ", Shown(value), ", and for ", family_.title, " ", supported,
                     absl::StrContains(supported, "and ") || absl::StrContains(supported, "numbers") ? " are" : " is",
                     " supported"),
        value, "", rule.by_hand);
  }

  void Refuse(const std::string& message, const Json& value, const std::string& label, const std::string& by_hand) {
    Diagnostic error =
        Error(Code::kE0616, message).At(SpanOf(config_, value, sources_), label.empty() ? "not supported" : label);
    if (!by_hand.empty()) error.help.push_back(absl::StrCat("by hand it would be ", by_hand));
    diagnostics_.Add(std::move(error));
  }

  void CheckNames() {
    for (const UnknownField& field : FindUnknown(family_, config_.json, "")) {
      if (ignored_.count(field.path) > 0) continue;
      const std::string shown = runtime::JsonEscaped(field.path.substr(0, kMostShown));
      const std::string message =
          absl::StrCat("nothing is known of `", shown, "`, which is ", Shown(*field.value), ", for ", family_.title);
      diagnostics_.Add(Error(Code::kE0616, message)
                           .At(SpanOf(config_, *field.value, sources_), "may change what the model computes")
                           .Help(absl::StrCat("if it does not: `--ignore ", shown, "`")));
    }
  }

  const Family& family_;
  const Config& config_;
  const std::set<std::string>& ignored_;
  const SourceSet& sources_;
  Diagnostics& diagnostics_;
  TemplateValues values_;
};

}  // namespace

std::optional<Config> LoadConfig(const std::string& folder, SourceSet& sources, Diagnostics& diagnostics) {
  const std::string path = absl::StrCat(folder, absl::EndsWith(folder, "/") ? "" : "/", "config.json");
  absl::StatusOr<std::string> text = ReadFile(path, {.what = "description of a model", .most_bytes = kMostBytes});
  if (!text.ok()) {
    diagnostics.Add(
        Error(Code::kE0614, absl::StrCat("the folder ", QuotedPath(folder), " cannot be imported"))
            .Note(std::string(text.status().message()))
            .Help("name a folder that `save_pretrained` of transformers has written, or that was downloaded "
                  "from Hugging Face: with config.json and model.safetensors"));
    return std::nullopt;
  }
  return ParseConfig(path, *std::move(text), sources, diagnostics);
}

std::optional<Config> ParseConfig(const std::string& path, std::string text, SourceSet& sources,
                                  Diagnostics& diagnostics) {
  if (static_cast<int64_t>(text.size()) > kMostBytes) {
    diagnostics.Add(Error(Code::kE0614, absl::StrCat(QuotedPath(path), " has more than ", kMostBytes, " bytes")));
    return std::nullopt;
  }
  const std::optional<FileId> file = dsl::AddSource(path, std::move(text), sources, diagnostics);
  if (!file.has_value()) return std::nullopt;
  runtime::Result<Json> json = runtime::ParseJson(std::string(sources.file(*file).text()));
  const bool is_object = json.ok() && json.value().kind == Json::Kind::kObject;
  if (!is_object) {
    diagnostics.Add(Error(Code::kE0614, absl::StrCat(QuotedPath(path), " ",
                                                     json.ok() ? "is not an object of JSON" : json.error().message)));
    return std::nullopt;
  }
  return Config{std::move(json.value()), *file};
}

const Family* FamilyOf(const Config& config, const SourceSet& sources, Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const Family& family : Families()) known.push_back(family.model_type);
  const Json* const type = config.json.Find("model_type");
  const bool is_text = type != nullptr && type->kind == Json::Kind::kString;
  const Family* const family = is_text ? FindFamily(type->text) : nullptr;
  if (family != nullptr) return family;
  Diagnostic error = Error(
      Code::kE0615, type == nullptr ? "config.json has no `model_type`"
                                    : absl::StrCat("models of the `model_type` ", Shown(*type), " cannot be imported"));
  if (type != nullptr) error.labels.push_back({SpanOf(config, *type, sources), "not known"});
  diagnostics.Add(std::move(error)
                      .Note(absl::StrCat("known are ", QuotedList(known, "and")))
                      .Help("any other model can be written by hand, with a mapping of the names of its weights: "
                            "docs/language.md, docs/weights.md"));
  return nullptr;
}

const Json* FieldAt(const Json& json, absl::string_view path) {
  const Json* value = &json;
  for (const absl::string_view part : absl::StrSplit(path, '.')) {
    value = value->kind == Json::Kind::kObject ? value->Find(std::string(part)) : nullptr;
    if (value == nullptr) return nullptr;
  }
  return value;
}

bool IsKnownField(const Family& family, const std::string& field) { return IsNamed(family, field, false); }

std::vector<std::string> UnknownFields(const Family& family, const Config& config) {
  std::vector<std::string> fields;
  for (const UnknownField& field : FindUnknown(family, config.json, "")) fields.push_back(field.path);
  return fields;
}

std::optional<TemplateValues> ReadConfig(const Family& family, const Config& config,
                                         const std::set<std::string>& ignored, const SourceSet& sources,
                                         Diagnostics& diagnostics) {
  return Reader(family, config, ignored, sources, diagnostics).Read();
}

}  // namespace cleave::tools
