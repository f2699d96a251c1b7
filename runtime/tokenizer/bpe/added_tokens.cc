#include "runtime/tokenizer/bpe/added_tokens.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "runtime/json/json_writer.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

// White_Space of Unicode.
bool IsSpace(uint32_t point) {
  return (point >= 9 && point <= 13) || point == 0x20 || point == 0x85 || point == 0xA0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 || point == 0x202F ||
         point == 0x205F || point == 0x3000;
}

// Where the white space behind `at` ends.
size_t EndOfSpace(const std::string& text, size_t at) {
  for (size_t next = at; next < text.size(); at = next) {
    if (!IsSpace(ReadUtf8(text, next))) break;
  }
  return at;
}

// Where the white space before `at` begins.
size_t BeginOfSpace(const std::string& text, size_t at) {
  while (at > 0) {
    size_t begin = at - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    size_t end = begin;
    if (!IsSpace(ReadUtf8(text, end))) break;
    at = begin;
  }
  return at;
}

Result<AddedToken> ReadAddedToken(const Json& json) {
  const Fields fields(json, "an added token");
  if (auto error = fields.Only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"})) {
    return *error;
  }
  AddedToken token;
  const Result<std::string> content = fields.String("content");
  if (!content.ok()) return content.error();
  token.content = content.value();
  const Result<int64_t> id = fields.Integer("id");
  if (!id.ok()) return id.error();
  if (id.value() < 0 || id.value() >= kMostTokens) {
    return WrongTokenizer(Format("has the added token `%s` with number %" PRId64
                                 ", which is none from 0 up to %" PRId64,
                                 JsonEscaped(token.content).c_str(), id.value(), kMostTokens));
  }
  token.token = static_cast<int32_t>(id.value());
  bool is_single_word = false;
  const std::pair<const char*, bool*> flags[] = {{"single_word", &is_single_word},
                                                 {"lstrip", &token.takes_space_before},
                                                 {"rstrip", &token.takes_space_behind},
                                                 {"normalized", &token.is_normalized},
                                                 {"special", &token.is_special}};
  for (const auto& [name, flag] : flags) {
    const Result<bool> value = fields.Bool(name);
    if (!value.ok()) return value.error();
    *flag = value.value();
  }
  if (!is_single_word) return token;
  return WrongTokenizer("has `single_word` for the added token `" + JsonEscaped(token.content) +
                        "`, which is not supported");
}

}  // namespace

Result<std::vector<AddedToken>> ReadAddedTokens(const Json* json, const TokenModel& model) {
  std::vector<AddedToken> tokens;
  if (json == nullptr) return tokens;
  if (json->kind != Json::Kind::kArray) return WrongTokenizer("has `added_tokens` that are not an array");
  for (const Json& item : json->items) {
    Result<AddedToken> token = ReadAddedToken(item);
    if (!token.ok()) return token.error();
    const std::optional<int32_t> known = model.Find(token.value().content);
    if (known.value_or(token.value().token) != token.value().token) {
      return WrongTokenizer(Format("has `%s` as the added token %d, but as token %d in the vocabulary",
                                   JsonEscaped(token.value().content).c_str(), token.value().token, *known));
    }
    tokens.push_back(std::move(token.value()));
  }
  return tokens;
}

void AddedTokenFinder::Add(const std::string& content, const AddedToken& token) {
  if (content.empty()) return;
  std::vector<Entry>& entries = entries_[static_cast<unsigned char>(content[0])];
  const auto is_shorter = [&](const Entry& entry) { return entry.content.size() < content.size(); };
  entries.insert(std::find_if(entries.begin(), entries.end(), is_shorter), {content, token});
}

const AddedTokenFinder::Entry* AddedTokenFinder::LongestAt(const std::string& text, size_t at,
                                                           const std::vector<TextRange>& literal,
                                                           int64_t& passed_over) const {
  const auto ends_before = [](const TextRange& range, size_t place) { return range.end <= place; };
  for (const Entry& entry : entries_[static_cast<unsigned char>(text[at])]) {
    if (text.compare(at, entry.content.size(), entry.content) != 0) continue;
    if (!entry.token.is_special) return &entry;
    const auto range = std::lower_bound(literal.begin(), literal.end(), at, ends_before);
    if (range == literal.end() || range->begin >= at + entry.content.size()) return &entry;
    ++passed_over;
  }
  return nullptr;
}

std::vector<TextSection> AddedTokenFinder::Sections(const std::string& text, const std::vector<TextRange>& literal,
                                                    int64_t& passed_over) const {
  std::vector<TextSection> sections;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const Entry* const found = LongestAt(text, at, literal, passed_over);
    if (found == nullptr) {
      ++at;
      continue;
    }
    const size_t end = at + found->content.size();
    const size_t begin = found->token.takes_space_before ? std::max(done, BeginOfSpace(text, at)) : at;
    if (done < begin) sections.push_back({std::nullopt, done, begin});
    done = found->token.takes_space_behind ? EndOfSpace(text, end) : end;
    sections.push_back({found->token.token, begin, done});
    at = end;
  }
  if (done < text.size()) sections.push_back({std::nullopt, done, text.size()});
  return sections;
}

}  // namespace cleave::runtime
