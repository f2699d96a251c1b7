// Reading guide: `EncodeText` cuts a text at tokens that are found as they are, and `Cut` what lies between them, by
// the normalizer, the pre-tokenizer and the model; `AppendText` finds places of a text among its tokens. `ReadParts`
// reads a file.
#include "runtime/tokenizer/bpe/tokenizer_json.h"

#include <algorithm>
#include <cinttypes>
#include <unordered_map>
#include <utility>

#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "runtime/tokenizer/bpe/added_tokens.h"
#include "runtime/tokenizer/bpe/byte_level.h"
#include "runtime/tokenizer/bpe/decoder.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/merging.h"
#include "runtime/tokenizer/bpe/normalizer.h"
#include "runtime/tokenizer/bpe/pre_tokenizer.h"
#include "runtime/tokenizer/bpe/template.h"
#include "runtime/tokenizer/bpe/token_model.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

// What a tokenizer.json consists of.
struct Parts {
  std::unique_ptr<const TokenModel> model;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Decoder decoder;
  AroundText around;
  std::vector<AddedToken> added_tokens;
};

struct KnownToken {
  std::string content;
  bool exists = false;
  bool is_special = false;
};

// The tokens of pieces of a text, as they are cut.
class PieceMemory final : public TextTokenizer::Memory {
 public:
  // Null where it is not known.
  const std::vector<SizedToken>* Find(const std::string& piece) const {
    const auto found = known_.find(piece);
    return found == known_.end() ? nullptr : &found->second;
  }

  void Add(const std::string& piece, const SizedToken* begin, const SizedToken* end) {
    if (piece.size() <= kLongestPiece && known_.size() < kMostPieces) known_.try_emplace(piece, begin, end);
  }

 private:
  static constexpr size_t kLongestPiece = 64;
  static constexpr size_t kMostPieces = size_t{1} << 18;

  std::unordered_map<std::string, std::vector<SizedToken>> known_;
};

class JsonTokenizer final : public TextTokenizer {
 public:
  // Checks what the parts say of each other.
  static Result<std::unique_ptr<TextTokenizer>> Create(const std::string& path, Parts parts) {
    std::unique_ptr<JsonTokenizer> tokenizer(new JsonTokenizer(path, std::move(parts)));
    if (auto error = tokenizer->NumberTokens()) return *error;
    if (auto error = tokenizer->FindAddedTokens()) return *error;
    for (const auto& [tokens, where] : {std::pair(&tokenizer->prefix(), "before"), {&tokenizer->suffix(), "behind"}}) {
      for (const int32_t token : *tokens) {
        if (tokenizer->Known(token) != nullptr) continue;
        return WrongTokenizer(Format("has token %d %s every text, but no such token", token, where));
      }
    }
    return std::unique_ptr<TextTokenizer>(std::move(tokenizer));
  }

  int64_t size() const override { return static_cast<int64_t>(tokens_.size()); }

  Result<std::vector<int32_t>> Encode(const std::string& text) const override {
    PieceMemory memory;
    Result<TextEncoding> encoding = EncodeText(text, {}, {}, memory);
    if (!encoding.ok()) return encoding.error();
    std::vector<int32_t> tokens = prefix();
    tokens.insert(tokens.end(), encoding.value().tokens.begin(), encoding.value().tokens.end());
    return tokens;
  }

  std::unique_ptr<Memory> NewMemory() const override { return std::make_unique<PieceMemory>(); }

  const std::vector<int32_t>& prefix() const override { return parts_.around.before; }
  const std::vector<int32_t>& suffix() const override { return parts_.around.behind; }

  std::string Content(int32_t token) const override {
    const KnownToken* const known = Known(token);
    return known == nullptr ? "" : known->content;
  }

  Result<TextEncoding> EncodeText(const std::string& text, const std::vector<TextRange>& literal,
                                  const std::vector<size_t>& places, Memory& memory) const override {
    if (const std::optional<size_t> at = FindInvalidUtf8(text)) {
      return Error{ExitCode::kInput, Format("the text is not UTF-8: byte 0x%02X at offset %zu begins no character",
                                            static_cast<unsigned char>(text[*at]), *at)};
    }
    TextEncoding encoding;
    size_t place = 0;  // The next one.
    for (const TextSection& section : as_they_are_.Sections(text, literal, encoding.passed_over)) {
      const size_t before = encoding.tokens.size();
      for (; place < places.size() && places[place] <= section.begin; ++place)
        encoding.cuts.push_back({before, before});
      std::vector<size_t> inside;
      for (; place < places.size() && places[place] < section.end; ++place)
        inside.push_back(places[place] - section.begin);
      if (section.token.has_value()) {
        encoding.tokens.push_back(*section.token);
        encoding.cuts.insert(encoding.cuts.end(), inside.size(), {before, before + 1});
        continue;
      }
      const std::string own = text.substr(section.begin, section.end - section.begin);
      auto error = AppendText({own, section.begin == 0}, IsLiteral(section, literal), inside,
                              static_cast<PieceMemory&>(memory), encoding);
      if (error.has_value()) return About(*error);
    }
    for (; place < places.size(); ++place) encoding.cuts.push_back({encoding.tokens.size(), encoding.tokens.size()});
    return encoding;
  }

  Result<std::string> Bytes(int32_t token, bool is_first) const override {
    const KnownToken* const known = Known(token);
    if (known == nullptr) {
      return About(WrongTokenizer(Format("has no token %d: they are below %" PRId64, token, size())));
    }
    if (known->is_special) return std::string();
    const Result<std::string> bytes = parts_.decoder.Bytes(known->content, is_first);
    if (!bytes.ok()) return About(bytes.error());
    return bytes;
  }

  bool IsSpecial(int32_t token) const override {
    const KnownToken* const known = Known(token);
    return known != nullptr && known->is_special;
  }

  std::optional<int32_t> Find(const std::string& name) const override {
    for (const AddedToken& added : parts_.added_tokens) {
      if (added.content == name) return added.token;
    }
    return parts_.model->Find(name);
  }

 private:
  JsonTokenizer(std::string path, Parts parts) : path_(std::move(path)), parts_(std::move(parts)) {}

  Error About(const Error& error) const { return {error.code, "the tokenizer `" + path_ + "` " + error.message}; }

  const KnownToken* Known(int32_t token) const {
    if (token < 0 || token >= size() || !tokens_[static_cast<size_t>(token)].exists) return nullptr;
    return &tokens_[static_cast<size_t>(token)];
  }

  // An Error where two tokens have this number.
  std::optional<Error> Number(int32_t token, const std::string& content, bool is_special) {
    const auto place = static_cast<size_t>(token);
    if (place >= tokens_.size()) tokens_.resize(place + 1);
    KnownToken& known = tokens_[place];
    if (known.exists && known.content != content) {
      return WrongTokenizer(Format("has the number %d for both `%s` and `%s`", token,
                                   JsonEscaped(known.content).c_str(), JsonEscaped(content).c_str()));
    }
    known = {content, true, known.is_special || is_special};
    return std::nullopt;
  }

  std::optional<Error> NumberTokens() {
    for (const auto& [content, token] : parts_.model->vocabulary()) {
      if (auto error = Number(token, content, false)) return error;
    }
    for (const AddedToken& added : parts_.added_tokens) {
      if (auto error = Number(added.token, added.content, added.is_special)) return error;
    }
    return std::nullopt;
  }

  std::optional<Error> FindAddedTokens() {
    for (const AddedToken& added : parts_.added_tokens) {
      if (!added.is_normalized) {
        as_they_are_.Add(added.content, added);
        continue;
      }
      const Result<std::string> content = parts_.normalizer.Normalize(added.content);
      if (!content.ok()) return content.error();
      normalized_.Add(content.value(), added);
    }
    return std::nullopt;
  }

  static bool IsLiteral(const TextSection& section, const std::vector<TextRange>& literal) {
    return std::any_of(literal.begin(), literal.end(),
                       [&](const TextRange& range) { return range.begin < section.end && section.begin < range.end; });
  }

  // The tokens of a text in which no token is found as it is. Their sizes are those of parts of `cut_text`, which is
  // the text as the model gets it, if it is wanted.
  std::optional<Error> Cut(const TextPiece& text, bool is_literal, PieceMemory& memory, std::vector<SizedToken>& tokens,
                           std::string* cut_text) const {
    Result<std::string> normalized = parts_.normalizer.Normalize(text.text);
    if (!normalized.ok()) return normalized.error();
    int64_t passed_over = 0;
    for (const TextSection& section : normalized_.Sections(normalized.value(), {}, passed_over)) {
      std::string part = normalized.value().substr(section.begin, section.end - section.begin);
      if (section.token.has_value()) {
        if (is_literal && IsSpecial(*section.token)) {
          return WrongTokenizer(
              Format("finds the special token `%s` in normalized text, where what a user has written "
                     "cannot be told from a mark",
                     JsonEscaped(Known(*section.token)->content).c_str()));
        }
        tokens.push_back({*section.token, static_cast<uint32_t>(part.size())});
        if (cut_text != nullptr) *cut_text += part;
        continue;
      }
      const Result<TextPieces> pieces =
          parts_.pre_tokenizer.Cut({std::move(part), text.is_first && section.begin == 0});
      if (!pieces.ok()) return pieces.error();
      for (const TextPiece& piece : pieces.value()) {
        if (cut_text != nullptr) *cut_text += piece.text;
        if (auto error = AppendPiece(piece.text, memory, tokens)) return error;
      }
    }
    return std::nullopt;
  }

  std::optional<Error> AppendPiece(const std::string& piece, PieceMemory& memory,
                                   std::vector<SizedToken>& tokens) const {
    if (const std::vector<SizedToken>* const known = memory.Find(piece)) {
      tokens.insert(tokens.end(), known->begin(), known->end());
      return std::nullopt;
    }
    const size_t before = tokens.size();
    const bool has_bytes = parts_.pre_tokenizer.writes_bytes();
    if (auto error = parts_.model->Tokenize(has_bytes ? CharactersOfBytes(piece) : piece, has_bytes, tokens))
      return error;
    memory.Add(piece, tokens.data() + before, tokens.data() + tokens.size());
    return std::nullopt;
  }

  // Appends the tokens of a text, and where `places` of it are among them.
  std::optional<Error> AppendText(const TextPiece& text, bool is_literal, const std::vector<size_t>& places,
                                  PieceMemory& memory, TextEncoding& encoding) const {
    std::vector<SizedToken> tokens;
    std::string cut_text;
    if (auto error = Cut(text, is_literal, memory, tokens, places.empty() ? nullptr : &cut_text)) return error;
    const size_t before = encoding.tokens.size();
    for (const SizedToken& token : tokens) encoding.tokens.push_back(token.token);
    for (const size_t place : places) {
      // What is before it, as the model gets it.
      std::vector<SizedToken> ignored;
      std::string part;
      if (auto error = Cut({text.text.substr(0, place), text.is_first}, is_literal, memory, ignored, &part))
        return error;
      if (cut_text.compare(0, part.size(), part) != 0) {
        return WrongTokenizer(
            "joins what is before a place of a text with what is behind it, so that its tokens cannot be told");
      }
      size_t ended = 0, size = 0;
      for (; ended < tokens.size() && size + tokens[ended].size <= part.size(); ++ended) size += tokens[ended].size;
      const bool is_inside = size < part.size();
      encoding.cuts.push_back({before + ended, before + ended + (is_inside ? 1 : 0)});
    }
    return std::nullopt;
  }

  const std::string path_;
  const Parts parts_;
  std::vector<KnownToken> tokens_;
  AddedTokenFinder as_they_are_;
  AddedTokenFinder normalized_;
};

Result<Parts> ReadParts(const Json& json) {
  const Fields fields(json, "the file");
  if (auto error = fields.Only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                                "post_processor", "decoder", "model"})) {
    return *error;
  }
  const Result<std::string> version = fields.String("version", "1.0");
  if (!version.ok()) return version.error();
  if (version.value() != "1.0") return fields.NotSupported("version", version.value());
  for (const char* name : {"truncation", "padding"}) {
    if (fields.Find(name) != nullptr) return WrongTokenizer(Format("has `%s`, which is not supported", name));
  }
  if (fields.Find("model") == nullptr) return WrongTokenizer("has no `model`");
  Result<std::unique_ptr<const TokenModel>> model = TokenModel::Read(*fields.Find("model"));
  if (!model.ok()) return model.error();
  Result<Normalizer> normalizer = Normalizer::Read(fields.Find("normalizer"));
  if (!normalizer.ok()) return normalizer.error();
  Result<PreTokenizer> pre_tokenizer = PreTokenizer::Read(fields.Find("pre_tokenizer"));
  if (!pre_tokenizer.ok()) return pre_tokenizer.error();
  Result<Decoder> decoder = Decoder::Read(fields.Find("decoder"));
  if (!decoder.ok()) return decoder.error();
  Result<AroundText> around = ReadTemplate(fields.Find("post_processor"));
  if (!around.ok()) return around.error();
  Result<std::vector<AddedToken>> added_tokens = ReadAddedTokens(fields.Find("added_tokens"), *model.value());
  if (!added_tokens.ok()) return added_tokens.error();
  return Parts{std::move(model.value()),   std::move(normalizer.value()), std::move(pre_tokenizer.value()),
               std::move(decoder.value()), std::move(around.value()),     std::move(added_tokens.value())};
}

Result<std::unique_ptr<TextTokenizer>> ReadTokenizer(const std::string& path, const std::string& text) {
  if (const std::optional<size_t> at = FindInvalidUtf8(text)) {
    return WrongTokenizer("is not UTF-8 at " + PlaceIn(text, *at));
  }
  const Result<Json> json = ParseJson(text);
  if (!json.ok()) return json.error();
  Result<Parts> parts = ReadParts(json.value());
  if (!parts.ok()) return parts.error();
  return JsonTokenizer::Create(path, std::move(parts.value()));
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> OpenTokenizerJson(const std::string& path) {
  Result<std::unique_ptr<TextTokenizer>> tokenizer = OpenTextTokenizer(path);
  if (!tokenizer.ok()) return tokenizer.error();
  const std::vector<int32_t>& behind = tokenizer.value()->suffix();
  if (behind.empty()) return std::unique_ptr<Tokenizer>(std::move(tokenizer.value()));
  return Error{ExitCode::kInput,
               Format("the tokenizer `%s` puts `%s` behind every text, which has no end where it goes on", path.c_str(),
                      JsonEscaped(tokenizer.value()->Content(behind[0])).c_str())};
}

Result<std::unique_ptr<TextTokenizer>> OpenTextTokenizer(const std::string& path) {
  const Result<std::vector<uint8_t>> bytes = ReadFile(path, kMostBytes);
  if (!bytes.ok()) return bytes.error();
  Result<std::unique_ptr<TextTokenizer>> tokenizer =
      ReadTokenizer(path, std::string(bytes.value().begin(), bytes.value().end()));
  if (tokenizer.ok()) return tokenizer;
  return Error{tokenizer.error().code, "the tokenizer `" + path + "` " + tokenizer.error().message};
}

}  // namespace cleave::runtime
