#include "runtime/tokenizer/bpe/model.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "runtime/json/json_writer.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

std::optional<Error> CheckMembers(const Fields& fields) {
  // Files from before there was a `type` are of this kind if they have merges.
  const Result<std::string> type = fields.String("type", fields.Find("merges") == nullptr ? "none" : "BPE");
  if (!type.ok()) return type.error();
  if (type.value() != "BPE") return fields.NotSupported("type", type.value());
  if (auto error = fields.Only({"type", "vocab", "merges", "dropout", "unk_token", "continuing_subword_prefix",
                                "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"})) {
    return error;
  }
  if (const Json* const dropout = fields.Find("dropout")) {
    const bool is_zero =
        dropout->kind == Json::Kind::kNumber && dropout->text.find_first_not_of("0.") == std::string::npos;
    if (!is_zero) return fields.NotSupported("dropout", dropout->text);
  }
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Result<std::string> text = fields.String(name, "");
    if (!text.ok()) return text.error();
    if (!text.value().empty()) return fields.NotSupported(name, text.value());
  }
  return std::nullopt;
}

// "U+00E9 (`é`)"
std::string CharacterText(const std::string& character) {
  size_t at = 0;
  return Format("U+%04" PRIX32 " (`%s`)", ReadUtf8(character, at), JsonEscaped(character).c_str());
}

}  // namespace

Result<BpeModel> BpeModel::Read(const Json& json) {
  const Fields fields(json, "the model");
  if (auto error = CheckMembers(fields)) return *error;
  BpeModel model;
  const Result<bool> takes_whole_pieces = fields.Bool("ignore_merges", false);
  if (!takes_whole_pieces.ok()) return takes_whole_pieces.error();
  model.takes_whole_pieces_ = takes_whole_pieces.value();
  if (auto error = model.ReadVocabulary(fields)) return *error;
  if (auto error = model.ReadMerges(fields)) return *error;
  if (auto error = model.ReadUnknown(fields)) return *error;
  return model;
}

std::optional<int32_t> BpeModel::Find(const std::string& token) const {
  const auto found = vocabulary_.find(token);
  if (found == vocabulary_.end()) return std::nullopt;
  return found->second;
}

std::optional<Error> BpeModel::ReadVocabulary(const Fields& fields) {
  const Json* const vocabulary = fields.Find("vocab");
  if (vocabulary == nullptr || vocabulary->kind != Json::Kind::kObject) {
    return WrongTokenizer("has a model without `vocab`, an object");
  }
  vocabulary_.reserve(vocabulary->members.size());
  for (const auto& [token, number] : vocabulary->members) {
    const std::optional<int64_t> id = JsonInteger(number);
    if (!id.has_value() || *id < 0 || *id >= kMostTokens) {
      return WrongTokenizer(Format("has the token `%s` with a number that is none from 0 up to %" PRId64,
                                   JsonEscaped(token).c_str(), kMostTokens));
    }
    vocabulary_[token] = static_cast<int32_t>(*id);
  }
  return std::nullopt;
}

std::optional<Error> BpeModel::ReadMerges(const Fields& fields) {
  const Result<const std::vector<Json>*> merges = fields.Array("merges");
  if (!merges.ok()) return merges.error();
  merges_.Reserve(merges.value()->size());
  for (const Json& merge : *merges.value()) {
    std::optional<Error> error;
    const size_t space = merge.text.find(' ');
    if (merge.kind == Json::Kind::kArray && merge.items.size() == 2 && merge.items[0].kind == Json::Kind::kString &&
        merge.items[1].kind == Json::Kind::kString) {
      error = AddMerge(merge.items[0].text, merge.items[1].text);
    } else if (merge.kind == Json::Kind::kString && space < std::string::npos && merge.text.rfind(' ') == space) {
      error = AddMerge(merge.text.substr(0, space), merge.text.substr(space + 1));
    } else {
      error = WrongTokenizer(Format("has a merge %" PRId64 " that is not two tokens", merges_.count()));
    }
    if (error.has_value()) return error;
  }
  return std::nullopt;
}

std::optional<Error> BpeModel::AddMerge(const std::string& left, const std::string& right) {
  const std::string joined = left + right;
  for (const std::string& token : {left, right, joined}) {
    if (vocabulary_.count(token) > 0) continue;
    return WrongTokenizer(Format("has a merge %" PRId64 " of `%s` and `%s`, but no token `%s`", merges_.count(),
                                 JsonEscaped(left).c_str(), JsonEscaped(right).c_str(), JsonEscaped(token).c_str()));
  }
  merges_.Add(vocabulary_[left], vocabulary_[right], vocabulary_[joined]);
  return std::nullopt;
}

std::optional<Error> BpeModel::ReadUnknown(const Fields& fields) {
  const Result<bool> joins_unknown = fields.Bool("fuse_unk", false);
  if (!joins_unknown.ok()) return joins_unknown.error();
  joins_unknown_ = joins_unknown.value();
  if (fields.Find("unk_token") != nullptr) {
    const Result<std::string> name = fields.String("unk_token");
    if (!name.ok()) return name.error();
    unknown_ = Find(name.value());
    if (!unknown_.has_value()) {
      return WrongTokenizer(Format("has the `unk_token` `%s`, but no such token", JsonEscaped(name.value()).c_str()));
    }
  }
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

std::optional<Error> BpeModel::AppendCharacters(const std::string& piece, bool has_bytes,
                                                std::vector<SizedToken>& tokens) const {
  bool was_unknown = false;
  for (size_t at = 0; at < piece.size();) {
    const size_t begin = at;
    ReadUtf8(piece, at);
    const std::string character = piece.substr(begin, at - begin);
    const std::optional<int32_t> token = Find(character);
    const auto size = has_bytes ? 1 : static_cast<uint32_t>(character.size());
    if (token.has_value()) {
      tokens.push_back({*token, size});
    } else if (!tokens_of_bytes_.empty()) {
      // The sizes of the bytes are together that of the character.
      uint32_t left = size;
      for (const char byte : character) {
        const uint32_t own = std::min<uint32_t>(left, 1);
        tokens.push_back({tokens_of_bytes_[static_cast<unsigned char>(byte)], own});
        left -= own;
      }
    } else if (!unknown_.has_value()) {
      return WrongTokenizer("has no token for the character " + CharacterText(character));
    } else if (!was_unknown || !joins_unknown_) {
      tokens.push_back({*unknown_, size});
    } else {
      tokens.back().size += size;
    }
    was_unknown = !token.has_value();
  }
  return std::nullopt;
}

std::optional<Error> BpeModel::Tokenize(const std::string& piece, bool has_bytes,
                                        std::vector<SizedToken>& tokens) const {
  std::vector<SizedToken> characters;
  if (takes_whole_pieces_) {
    if (const std::optional<int32_t> whole = Find(piece)) {
      const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
      const auto characters_of_it = std::count_if(piece.begin(), piece.end(), is_start);
      tokens.push_back(
          {*whole, static_cast<uint32_t>(has_bytes ? characters_of_it : static_cast<int64_t>(piece.size()))});
      return std::nullopt;
    }
  }
  if (auto error = AppendCharacters(piece, has_bytes, characters)) return error;
  for (const SizedToken& token : MergeAll(merges_, characters)) tokens.push_back(token);
  return std::nullopt;
}

}  // namespace cleave::runtime
