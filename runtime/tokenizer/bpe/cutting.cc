// The steps of a pre-tokenizer, each on one piece.
#include <algorithm>

#include "runtime/tokenizer/bpe/byte_level.h"
#include "runtime/tokenizer/bpe/pattern.h"
#include "runtime/tokenizer/bpe/pre_tokenizer.h"  // IWYU pragma: associated

namespace cleave::runtime {

std::optional<Error> PreTokenizer::Apply(const Bytes&, const TextPiece& piece, TextPieces& pieces) {
  pieces.push_back({CharactersOfBytes(piece.text), piece.is_first});
  return std::nullopt;
}

std::optional<Error> PreTokenizer::Apply(const Prefix& prefix, const TextPiece& piece, TextPieces& pieces) {
  const bool has_it = piece.text.compare(0, prefix.text.size(), prefix.text) == 0;
  const bool is_needed = !has_it && (piece.is_first || !prefix.only_at_first);
  pieces.push_back({is_needed ? prefix.text + piece.text : piece.text, piece.is_first});
  return std::nullopt;
}

std::optional<Error> PreTokenizer::Apply(const Spaces& spaces, const TextPiece& piece, TextPieces& pieces) {
  const Result<std::string> text = ReplaceAll(spaces.space, spaces.replacement, piece.text);
  if (!text.ok()) return text.error();
  pieces.push_back({text.value(), piece.is_first});
  return std::nullopt;
}

std::optional<Error> PreTokenizer::Apply(const Split& split, const TextPiece& piece, TextPieces& pieces) {
  const Result<std::vector<Regex::Match>> matches = split.pattern.FindAll(piece.text);
  if (!matches.ok()) return matches.error();
  std::vector<Span> spans;
  size_t at = 0;
  for (const Regex::Match& match : matches.value()) {
    if (match.begin > at) spans.push_back({at, match.begin, split.is_inverted});
    spans.push_back({match.begin, match.end, !split.is_inverted});
    at = match.end;
  }
  if (at < piece.text.size()) spans.push_back({at, piece.text.size(), split.is_inverted});
  for (const Span& span : Joined(spans, split.behavior)) {
    pieces.push_back({piece.text.substr(span.begin, span.end - span.begin), piece.is_first && span.begin == 0});
  }
  return std::nullopt;
}

std::vector<PreTokenizer::Span> PreTokenizer::Joined(const std::vector<Span>& spans, Behavior behavior) {
  // Whether a border between these two neighbours goes away.
  const auto join = [&](const Span& left, const Span& right) {
    switch (behavior) {
      case Behavior::kMergedWithPrevious:
        return right.is_match && !left.is_match;
      case Behavior::kMergedWithNext:
        return left.is_match && !right.is_match;
      case Behavior::kContiguous:
        return left.is_match == right.is_match;
      case Behavior::kIsolated:
      case Behavior::kRemoved:
        break;
    }
    return false;
  };
  std::vector<Span> joined;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (behavior == Behavior::kRemoved && spans[i].is_match) continue;
    if (i > 0 && join(spans[i - 1], spans[i])) {
      joined.back().end = spans[i].end;
    } else {
      joined.push_back(spans[i]);
    }
  }
  return joined;
}

}  // namespace cleave::runtime
