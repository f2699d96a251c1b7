#include "runtime/tokenizer/bpe/template.h"

#include <cinttypes>
#include <optional>
#include <string>

#include "runtime/json/json_writer.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/model.h"

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
Result<Tokens> PrefixOfTemplate(const Fields& fields) {
  if (auto error = fields.Only({"type", "single", "pair", "special_tokens"})) return *error;
  const Result<const std::vector<Json>*> items = fields.Array("single");
  if (!items.ok()) return items.error();
  Tokens prefix;
  bool has_text = false;
  for (const Json& item : *items.value()) {
    const std::optional<std::string> special = NamedBy(item, "SpecialToken");
    if (has_text) {
      return WrongTokenizer(Format("has `%s` behind the text in %s, which is not supported",
                                   JsonEscaped(special.value_or("something")).c_str(), fields.what().c_str()));
    }
    has_text = NamedBy(item, "Sequence") == "A";
    if (has_text) continue;
    if (!special.has_value()) {
      return WrongTokenizer("has an item in " + fields.what() + " that is neither a special token nor the text");
    }
    const Result<Tokens> tokens = TokensNamed(*special, fields);
    if (!tokens.ok()) return tokens;
    prefix.insert(prefix.end(), tokens.value().begin(), tokens.value().end());
  }
  if (!has_text) return WrongTokenizer("has no text in " + fields.what());
  return prefix;
}

Result<Tokens> PrefixOfSequence(const Fields& fields) {
  if (auto error = fields.Only({"type", "processors"})) return *error;
  const Result<const std::vector<Json>*> steps = fields.Array("processors");
  if (!steps.ok()) return steps.error();
  Tokens prefix;
  for (const Json& step : *steps.value()) {
    const Result<Tokens> before = ReadTemplatePrefix(&step);
    if (!before.ok()) return before;
    prefix.insert(prefix.begin(), before.value().begin(), before.value().end());
  }
  return prefix;
}

}  // namespace

Result<Tokens> ReadTemplatePrefix(const Json* json) {
  if (json == nullptr) return Tokens();
  const Result<std::string> type = Fields(*json, "the post_processor").String("type");
  if (!type.ok()) return type.error();
  const Fields fields(*json, "the post_processor `" + type.value() + "`");
  if (type.value() == "TemplateProcessing") return PrefixOfTemplate(fields);
  if (type.value() == "Sequence") return PrefixOfSequence(fields);
  // It is about places in the text, which nobody asks for.
  if (type.value() == "ByteLevel") return Tokens();
  return WrongTokenizer("has " + fields.what() + ", which is not supported");
}

}  // namespace cleave::runtime
