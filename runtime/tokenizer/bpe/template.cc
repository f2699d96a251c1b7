#include "runtime/tokenizer/bpe/template.h"

#include <cinttypes>
#include <optional>
#include <string>
#include <utility>

#include "runtime/json/json_writer.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/token_model.h"

namespace cleave::runtime {
namespace {

using Tokens = std::vector<int32_t>;

// What an item such as {"SpecialToken": {"id": "<s>", "type_id": 0}} names, if it is of this kind.
std::optional<std::string> NamedBy(const Json& item, const char* kind) {
  const Json* const content = item.Find(kind);
  const Json* const id = content == nullptr ? nullptr : content->Find("id");
  if (id == nullptr || item.members.size() != 1) return std::nullopt;
  return id->text;
}

// The tokens of an item of a template.
Result<Tokens> TokensNamed(const std::string& name, const Fields& fields) {
  const Json* const named = fields.Find("special_tokens");
  const Json* const special = named == nullptr ? nullptr : named->Find(name);
  if (special == nullptr) {
    return WrongTokenizer("has `" + JsonEscaped(name) + "` in " + fields.what() + ", but not in its `special_tokens`");
  }
  const Fields members(*special, "`" + JsonEscaped(name) + "` of " + fields.what());
  const Result<const std::vector<Json>*> ids = members.Array("ids");
  if (!ids.ok()) return ids.error();
  Tokens tokens;
  for (const Json& item : *ids.value()) {
    const std::optional<int64_t> id = JsonInteger(item);
    if (!id.has_value() || *id < 0 || *id >= kMostTokens) {
      return WrongTokenizer("has `ids` in " + members.what() + " that are no tokens");
    }
    tokens.push_back(static_cast<int32_t>(*id));
  }
  return tokens;
}

// `pair` is about two texts, which nobody has.
Result<AroundText> AroundByTemplate(const Fields& fields) {
  if (auto error = fields.Only({"type", "single", "pair", "special_tokens"})) return *error;
  const Result<const std::vector<Json>*> items = fields.Array("single");
  if (!items.ok()) return items.error();
  AroundText around;
  bool has_text = false;
  for (const Json& item : *items.value()) {
    if (!has_text && NamedBy(item, "Sequence") == "A") {
      has_text = true;
      continue;
    }
    const std::optional<std::string> special = NamedBy(item, "SpecialToken");
    if (!special.has_value()) {
      return WrongTokenizer("has an item in " + fields.what() + " that is neither a special token nor the text");
    }
    const Result<Tokens> tokens = TokensNamed(*special, fields);
    if (!tokens.ok()) return tokens.error();
    Tokens& side = has_text ? around.behind : around.before;
    side.insert(side.end(), tokens.value().begin(), tokens.value().end());
  }
  if (!has_text) return WrongTokenizer("has no text in " + fields.what());
  return around;
}

// `sep` and `cls` are each a token and its number.
Result<AroundText> AroundByPair(const Fields& fields) {
  // The others are about places in the text, which nobody asks for.
  if (auto error = fields.Only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"})) return *error;
  AroundText around;
  for (const auto& [name, side] : {std::pair("cls", &around.before), std::pair("sep", &around.behind)}) {
    const Result<const std::vector<Json>*> pair = fields.Array(name);
    if (!pair.ok()) return pair.error();
    const std::optional<int64_t> id = pair.value()->size() == 2 ? JsonInteger((*pair.value())[1]) : std::nullopt;
    if (!id.has_value() || *id < 0 || *id >= kMostTokens) {
      return WrongTokenizer(Format("has a `%s` in %s that is no token", name, fields.what().c_str()));
    }
    side->push_back(static_cast<int32_t>(*id));
  }
  return around;
}

Result<AroundText> AroundBySequence(const Fields& fields) {
  if (auto error = fields.Only({"type", "processors"})) return *error;
  const Result<const std::vector<Json>*> steps = fields.Array("processors");
  if (!steps.ok()) return steps.error();
  AroundText around;
  for (const Json& step : *steps.value()) {
    const Result<AroundText> own = ReadTemplate(&step);
    if (!own.ok()) return own;
    around.before.insert(around.before.begin(), own.value().before.begin(), own.value().before.end());
    around.behind.insert(around.behind.end(), own.value().behind.begin(), own.value().behind.end());
  }
  return around;
}

}  // namespace

Result<AroundText> ReadTemplate(const Json* json) {
  if (json == nullptr) return AroundText();
  const Result<std::string> type = Fields(*json, "the post_processor").String("type");
  if (!type.ok()) return type.error();
  const Fields fields(*json, "the post_processor `" + type.value() + "`");
  if (type.value() == "TemplateProcessing") return AroundByTemplate(fields);
  if (type.value() == "BertProcessing" || type.value() == "RobertaProcessing") return AroundByPair(fields);
  if (type.value() == "Sequence") return AroundBySequence(fields);
  // It is about places in the text, which nobody asks for.
  if (type.value() == "ByteLevel") return AroundText();
  return WrongTokenizer("has " + fields.what() + ", which is not supported");
}

}  // namespace cleave::runtime
