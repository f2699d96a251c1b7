#include "runtime/tokenizer/bpe/normalizer.h"

#include <optional>
#include <utility>

#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/lowercase.h"
#include "runtime/tokenizer/bpe/nfc.h"
#include "runtime/tokenizer/bpe/pattern.h"

namespace cleave::runtime {
namespace {

// Of what BERT takes away: all that is no character to see, but for white space.
constexpr char kControl[] = "(?![\\t\\n\\r])[\\p{Cc}\\p{Cf}\\p{Co}\uFFFD]";
constexpr char kSpace[] = "\\s";
constexpr char kAccent[] = "\\p{Mn}";
constexpr char kMark[] = "\\p{M}";
// Those of Chinese, which are words by themselves.
constexpr char kIdeograph[] =
    "[\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002B73F\U0002B740-\U0002B81F\U0002B920-\U0002CEAF"
    "\uF900-\uFAFF\U0002F800-\U0002FA1F]";

// Those that have no settings.
constexpr std::pair<const char*, std::string (*)(const std::string&)> kChanges[] = {
    {"NFC", ComposedText}, {"NFD", DecomposedText}, {"Lowercase", LowercaseText}};

}  // namespace

Result<Normalizer> Normalizer::Read(const Json* json) {
  Normalizer normalizer;
  if (json == nullptr) return normalizer;
  if (auto error = normalizer.Append(*json)) return *error;
  return normalizer;
}

std::optional<Error> Normalizer::Append(const Json& json) {
  const Result<std::string> type = Fields(json, "the normalizer").String("type");
  if (!type.ok()) return type.error();
  const Fields fields(json, "the normalizer `" + type.value() + "`");
  if (type.value() == "Sequence") {
    if (auto error = fields.Only({"type", "normalizers"})) return error;
    const Result<const std::vector<Json>*> steps = fields.Array("normalizers");
    if (!steps.ok()) return steps.error();
    for (const Json& step : *steps.value()) {
      if (auto error = Append(step)) return error;
    }
    return std::nullopt;
  }
  if (type.value() == "Prepend") {
    if (auto error = fields.Only({"type", "prepend"})) return error;
    Result<std::string> text = fields.String("prepend");
    if (!text.ok()) return text.error();
    steps_.emplace_back(Prepended{std::move(text.value())});
    return std::nullopt;
  }
  if (type.value() == "Replace") {
    if (auto error = fields.Only({"type", "pattern", "content"})) return error;
    const Result<Regex> pattern = ReadPattern(fields);
    if (!pattern.ok()) return pattern.error();
    Result<std::string> content = fields.String("content");
    if (!content.ok()) return content.error();
    steps_.emplace_back(Replaced{pattern.value(), std::move(content.value())});
    return std::nullopt;
  }
  for (const auto& [name, change] : kChanges) {
    if (type.value() != name) continue;
    steps_.emplace_back(change);
    return fields.Only({"type"});
  }
  if (type.value() == "StripAccents") {
    if (auto error = fields.Only({"type"})) return error;
    return AppendReplaced(kMark, "");
  }
  if (type.value() == "BertNormalizer") return AppendBert(fields);
  if (type.value() == "Strip") return AppendStrip(fields);
  if (type.value() == "Precompiled") {
    if (auto error = fields.Only({"type", "precompiled_charsmap"})) return error;
    const Result<std::string> text = fields.String("precompiled_charsmap", "");
    if (!text.ok()) return text.error();
    if (text.value().empty()) return std::nullopt;
    Result<Charsmap> map = Charsmap::Read(text.value());
    if (!map.ok()) return map.error();
    steps_.emplace_back(std::move(map.value()));
    return std::nullopt;
  }
  return WrongTokenizer("has " + fields.what() + ", which is not supported");
}

std::optional<Error> Normalizer::AppendReplaced(const char* expression, const char* content) {
  Result<Regex> pattern = Regex::Compile(expression);
  if (!pattern.ok()) return pattern.error();
  steps_.emplace_back(Replaced{std::move(pattern.value()), content});
  return std::nullopt;
}

std::optional<Error> Normalizer::AppendBert(const Fields& fields) {
  if (auto error = fields.Only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}))
    return error;
  const Result<bool> cleans = fields.Bool("clean_text", true);
  if (!cleans.ok()) return cleans.error();
  const Result<bool> parts_ideographs = fields.Bool("handle_chinese_chars", true);
  if (!parts_ideographs.ok()) return parts_ideographs.error();
  const Result<bool> lowers = fields.Bool("lowercase", true);
  if (!lowers.ok()) return lowers.error();
  const Result<bool> strips = fields.Bool("strip_accents", lowers.value());
  if (!strips.ok()) return strips.error();
  if (cleans.value()) {
    if (auto error = AppendReplaced(kControl, "")) return error;
    if (auto error = AppendReplaced(kSpace, " ")) return error;
  }
  if (parts_ideographs.value()) {
    Result<Regex> ideograph = Regex::Compile(kIdeograph);
    if (!ideograph.ok()) return ideograph.error();
    steps_.emplace_back(Spaced{std::move(ideograph.value())});
  }
  if (strips.value()) {
    steps_.emplace_back(DecomposedText);
    if (auto error = AppendReplaced(kAccent, "")) return error;
  }
  if (lowers.value()) steps_.emplace_back(LowercaseText);
  return std::nullopt;
}

std::optional<Error> Normalizer::AppendStrip(const Fields& fields) {
  if (auto error = fields.Only({"type", "strip_left", "strip_right"})) return error;
  // White space behind which nothing else stands, or before which nothing else does.
  for (const auto& [name, expression] :
       {std::pair("strip_left", "(?<![\\S\\s])\\s+"), std::pair("strip_right", "\\s+(?![\\S\\s])")}) {
    const Result<bool> is_wanted = fields.Bool(name);
    if (!is_wanted.ok()) return is_wanted.error();
    if (!is_wanted.value()) continue;
    if (auto error = AppendReplaced(expression, "")) return error;
  }
  return std::nullopt;
}

Result<std::string> Normalizer::Normalize(std::string text) const {
  for (const Step& step : steps_) {
    if (const auto* prepended = std::get_if<Prepended>(&step)) {
      if (!text.empty()) text.insert(0, prepended->text);
    } else if (const auto* replaced = std::get_if<Replaced>(&step)) {
      Result<std::string> result = ReplaceAll(replaced->pattern, replaced->content, text);
      if (!result.ok()) return result.error();
      text = std::move(result.value());
    } else if (const auto* spaced = std::get_if<Spaced>(&step)) {
      const Result<std::vector<Regex::Match>> matches = spaced->pattern.FindAll(text);
      if (!matches.ok()) return matches.error();
      for (auto match = matches.value().rbegin(); match != matches.value().rend(); ++match) {
        text.insert(match->end, " ").insert(match->begin, " ");
      }
    } else if (const auto* change = std::get_if<Changed>(&step)) {
      text = (*change)(text);
    } else {
      Result<std::string> result = std::get<Charsmap>(step).Normalize(text);
      if (!result.ok()) return result.error();
      text = std::move(result.value());
    }
  }
  return text;
}

}  // namespace cleave::runtime
