#include "runtime/tokenizer/bpe/word_piece.h"

#include <algorithm>

namespace cleave::runtime {

std::optional<Error> WordPieceModel::ReadFrom(const Fields& fields) {
  if (auto error =
          fields.Only({"type", "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"})) {
    return error;
  }
  if (auto error = ReadVocabulary(fields)) return error;
  if (auto error = ReadUnknown(fields)) return error;
  const Result<std::string> prefix = fields.String("continuing_subword_prefix", "##");
  if (!prefix.ok()) return prefix.error();
  prefix_ = prefix.value();
  const Result<int64_t> most = fields.Integer("max_input_chars_per_word");
  if (!most.ok()) return most.error();
  most_characters_ = static_cast<size_t>(std::max<int64_t>(most.value(), 0));
  for (const auto& [token, number] : vocabulary_) longest_ = std::max(longest_, token.size());
  return std::nullopt;
}

std::optional<Error> WordPieceModel::Tokenize(const std::string& piece, bool has_bytes,
                                              std::vector<SizedToken>& tokens) const {
  const size_t before = tokens.size();
  const auto is_unknown = [&] {
    tokens.resize(before);
    return AppendUnknown(piece, has_bytes, /*joins=*/false, tokens);
  };
  if (TextSizeOf(piece, /*in_characters=*/true) > most_characters_) return is_unknown();
  for (size_t at = 0; at < piece.size();) {
    const std::string mark = at == 0 ? "" : prefix_;
    std::optional<int32_t> token;
    size_t size = std::min(piece.size() - at, longest_);
    for (; size > 0; --size) {
      if ((token = Find(mark + piece.substr(at, size)))) break;
    }
    if (!token.has_value()) return is_unknown();
    tokens.push_back({*token, TextSizeOf(piece.substr(at, size), has_bytes)});
    at += size;
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
