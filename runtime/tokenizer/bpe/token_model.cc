#include "runtime/tokenizer/bpe/token_model.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "runtime/json/json_writer.h"
#include "runtime/tokenizer/bpe/model.h"
#include "runtime/tokenizer/bpe/unigram.h"
#include "runtime/tokenizer/bpe/word_piece.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

// "U+00E9 (`é`)"
std::string CharacterText(const std::string& character) {
  size_t at = 0;
  return Format("U+%04" PRIX32 " (`%s`)", ReadUtf8(character, at), JsonEscaped(character).c_str());
}

template <typename Model>
Result<std::unique_ptr<const TokenModel>> ReadAs(const Fields& fields) {
  auto model = std::make_unique<Model>();
  if (auto error = model->ReadFrom(fields)) return *error;
  return std::unique_ptr<const TokenModel>(std::move(model));
}

}  // namespace

uint32_t TextSizeOf(const std::string& text, bool in_characters) {
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<uint32_t>(in_characters ? std::count_if(text.begin(), text.end(), is_start)
                                             : static_cast<int64_t>(text.size()));
}

Result<std::unique_ptr<const TokenModel>> TokenModel::Read(const Json& json) {
  const Fields fields(json, "the model");
  // Files from before there was a `type` are of this kind if they have merges.
  const Result<std::string> type = fields.String("type", fields.Find("merges") == nullptr ? "none" : "BPE");
  if (!type.ok()) return type.error();
  if (type.value() == "BPE") return ReadAs<BpeModel>(fields);
  if (type.value() == "WordPiece") return ReadAs<WordPieceModel>(fields);
  if (type.value() == "Unigram") return ReadAs<UnigramModel>(fields);
  return fields.NotSupported("type", type.value());
}

std::optional<int32_t> TokenModel::Find(const std::string& token) const {
  const auto found = vocabulary_.find(token);
  if (found == vocabulary_.end()) return std::nullopt;
  return found->second;
}

std::optional<Error> TokenModel::AddToken(const std::string& token, int64_t number) {
  if (number < 0 || number >= kMostTokens) {
    return WrongTokenizer(Format("has the token `%s` with a number that is none from 0 up to %" PRId64,
                                 JsonEscaped(token).c_str(), kMostTokens));
  }
  vocabulary_[token] = static_cast<int32_t>(number);
  return std::nullopt;
}

std::optional<Error> TokenModel::ReadVocabulary(const Fields& fields) {
  const Json* const vocabulary = fields.Find("vocab");
  if (vocabulary == nullptr || vocabulary->kind != Json::Kind::kObject) {
    return WrongTokenizer("has a model without `vocab`, an object");
  }
  vocabulary_.reserve(vocabulary->members.size());
  for (const auto& [token, number] : vocabulary->members) {
    if (auto error = AddToken(token, JsonInteger(number).value_or(-1))) return error;
  }
  return std::nullopt;
}

std::optional<Error> TokenModel::ReadUnknown(const Fields& fields) {
  const Result<std::string> name = fields.String("unk_token");
  if (!name.ok()) return name.error();
  unknown_ = Find(name.value());
  if (unknown_.has_value()) return std::nullopt;
  return WrongTokenizer(Format("has the `unk_token` `%s`, but no such token", JsonEscaped(name.value()).c_str()));
}

std::optional<Error> TokenModel::ReadBytes(const Fields& fields) {
  const Result<bool> has_bytes = fields.Bool("byte_fallback", false);
  if (!has_bytes.ok()) return has_bytes.error();
  for (int byte = 0; has_bytes.value() && byte < 256; ++byte) {
    const std::string name = Format("<0x%02X>", byte);
    const std::optional<int32_t> token = Find(name);
    if (!token.has_value()) return WrongTokenizer("has `byte_fallback`, but no token `" + name + "`");
    tokens_of_bytes_.push_back(*token);
  }
  return std::nullopt;
}

std::optional<Error> TokenModel::AppendUnknown(const std::string& characters, bool has_bytes, bool joins,
                                               std::vector<SizedToken>& tokens) const {
  const uint32_t size = TextSizeOf(characters, has_bytes);
  if (!tokens_of_bytes_.empty()) {
    // The sizes of the bytes are together that of the characters.
    uint32_t left = size;
    for (const char byte : characters) {
      const uint32_t own = std::min<uint32_t>(left, 1);
      tokens.push_back({tokens_of_bytes_[static_cast<unsigned char>(byte)], own});
      left -= own;
    }
  } else if (!unknown_.has_value()) {
    return WrongTokenizer("has no token for the character " + CharacterText(characters));
  } else if (joins) {
    tokens.back().size += size;
  } else {
    tokens.push_back({*unknown_, size});
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
