#include "runtime/tokenizer/bpe/model.h"

#include <cinttypes>
#include <utility>

#include "runtime/json/json_writer.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

std::optional<Error> CheckMembers(const Fields& fields) {
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

}  // namespace

std::optional<Error> BpeModel::ReadFrom(const Fields& fields) {
  if (auto error = CheckMembers(fields)) return error;
  for (const auto& [name, flag] : {std::pair("ignore_merges", &takes_whole_pieces_), {"fuse_unk", &joins_unknown_}}) {
    const Result<bool> value = fields.Bool(name, false);
    if (!value.ok()) return value.error();
    *flag = value.value();
  }
  if (auto error = ReadVocabulary(fields)) return error;
  if (auto error = ReadMerges(fields)) return error;
  if (fields.Find("unk_token") != nullptr) {
    if (auto error = ReadUnknown(fields)) return error;
  }
  return ReadBytes(fields);
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

std::optional<Error> BpeModel::AppendCharacters(const std::string& piece, bool has_bytes,
                                                std::vector<SizedToken>& tokens) const {
  bool was_unknown = false;
  for (size_t at = 0; at < piece.size();) {
    const size_t begin = at;
    ReadUtf8(piece, at);
    const std::string character = piece.substr(begin, at - begin);
    const std::optional<int32_t> token = Find(character);
    if (token.has_value()) {
      tokens.push_back({*token, TextSizeOf(character, has_bytes)});
    } else if (auto error = AppendUnknown(character, has_bytes, was_unknown && joins_unknown_, tokens)) {
      return error;
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
      tokens.push_back({*whole, TextSizeOf(piece, has_bytes)});
      return std::nullopt;
    }
  }
  if (auto error = AppendCharacters(piece, has_bytes, characters)) return error;
  for (const SizedToken& token : MergeAll(merges_, characters)) tokens.push_back(token);
  return std::nullopt;
}

}  // namespace cleave::runtime
