#include "runtime/tokenizer/bpe/unigram.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

constexpr double kUnknownPenalty = 10;

// The best row of tokens up to a place ends with this one.
struct LastToken {
  int32_t token = 0;
  double score = 0;  // Of the whole row.
  size_t begin = 0;
  bool is_there = false;
};

}  // namespace

void UnigramModel::AddToTree(const std::string& token, int32_t number) {
  size_t node = 0;
  for (const char byte : token) {
    const auto [next, is_new] = tree_.try_emplace(Edge(node, byte), ends_.size());
    if (is_new) ends_.push_back(kNoToken);
    node = next->second;
  }
  ends_[node] = number;
}

std::optional<Error> UnigramModel::ReadFrom(const Fields& fields) {
  if (auto error = fields.Only({"type", "vocab", "unk_id", "byte_fallback"})) return error;
  const Result<const std::vector<Json>*> vocabulary = fields.Array("vocab");
  if (!vocabulary.ok()) return vocabulary.error();
  lowest_ = std::numeric_limits<double>::infinity();
  int64_t number = 0;
  for (const Json& item : *vocabulary.value()) {
    const bool is_pair = item.kind == Json::Kind::kArray && item.items.size() == 2 &&
                         item.items[0].kind == Json::Kind::kString && item.items[1].kind == Json::Kind::kNumber;
    const double score = is_pair ? std::strtod(item.items[1].text.c_str(), nullptr) : 0;
    if (!is_pair || !std::isfinite(score)) {
      return WrongTokenizer(Format("has a token %lld in `vocab` of the model that is no text with a score",
                                   static_cast<long long>(number)));
    }
    const std::string& token = item.items[0].text;
    if (auto error = AddToken(token, number)) return error;
    AddToTree(token, static_cast<int32_t>(number));
    scores_.push_back(score);
    lowest_ = std::min(lowest_, score);
    ++number;
  }
  if (fields.Find("unk_id") != nullptr) {
    const Result<int64_t> unknown = fields.Integer("unk_id");
    if (!unknown.ok()) return unknown.error();
    if (unknown.value() < 0 || unknown.value() >= number) {
      return fields.NotSupported("unk_id", std::to_string(unknown.value()));
    }
    unknown_ = static_cast<int32_t>(unknown.value());
  }
  return ReadBytes(fields);
}

std::optional<Error> UnigramModel::Tokenize(const std::string& piece, bool has_bytes,
                                            std::vector<SizedToken>& tokens) const {
  std::vector<LastToken> best(piece.size() + 1);
  best[0].is_there = true;
  const auto offer = [&](size_t begin, size_t end, int32_t token, double score) {
    LastToken& now = best[end];
    const double whole = best[begin].score + score;
    if (!now.is_there || whole > now.score) now = {token, whole, begin, true};
  };
  for (size_t at = 0, next = 0; at < piece.size(); at = next) {
    next = at;
    ReadUtf8(piece, next);
    bool has_single = false;
    size_t node = 0;
    for (size_t end = at; end < piece.size(); ++end) {
      const auto edge = tree_.find(Edge(node, piece[end]));
      if (edge == tree_.end()) break;
      node = edge->second;
      const int32_t token = ends_[node];
      if (token == kNoToken) continue;
      offer(at, end + 1, token, scores_[static_cast<size_t>(token)]);
      has_single = has_single || end + 1 == next;
    }
    if (!has_single) offer(at, next, unknown_.value_or(kNoToken), lowest_ - kUnknownPenalty);
  }
  // Where tokens begin and end, from the last to the first; unknown characters in a row are one.
  std::vector<std::pair<size_t, size_t>> row;
  bool was_unknown = false;
  for (size_t end = piece.size(); end > 0; end = best[end].begin) {
    const bool is_unknown = best[end].token == unknown_.value_or(kNoToken);
    if (is_unknown && was_unknown) {
      row.back().first = best[end].begin;
    } else {
      row.emplace_back(best[end].begin, end);
    }
    was_unknown = is_unknown;
  }
  for (auto place = row.rbegin(); place != row.rend(); ++place) {
    const std::string text = piece.substr(place->first, place->second - place->first);
    if (const std::optional<int32_t> token = Find(text)) {
      tokens.push_back({*token, TextSizeOf(text, has_bytes)});
    } else if (auto error = AppendUnknown(text, has_bytes, /*joins=*/false, tokens)) {
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
