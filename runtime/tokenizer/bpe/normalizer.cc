#include "runtime/tokenizer/bpe/normalizer.h"

#include <optional>
#include <utility>

#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/nfc.h"
#include "runtime/tokenizer/bpe/pattern.h"

namespace cleave::runtime {

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
  if (type.value() == "NFC") {
    steps_.emplace_back(Composed{});
    return fields.Only({"type"});
  }
  return WrongTokenizer("has " + fields.what() + ", which is not supported");
}

Result<std::string> Normalizer::Normalize(std::string text) const {
  for (const Step& step : steps_) {
    if (const auto* prepended = std::get_if<Prepended>(&step)) {
      if (!text.empty()) text.insert(0, prepended->text);
    } else if (const auto* replaced = std::get_if<Replaced>(&step)) {
      Result<std::string> result = ReplaceAll(replaced->pattern, replaced->content, text);
      if (!result.ok()) return result.error();
      text = std::move(result.value());
    } else {
      text = ComposedText(text);
    }
  }
  return text;
}

}  // namespace cleave::runtime
