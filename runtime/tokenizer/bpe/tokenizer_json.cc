#include "runtime/tokenizer/bpe/tokenizer_json.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "runtime/tokenizer/bpe/added_tokens.h"
#include "runtime/tokenizer/bpe/decoder.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/model.h"
#include "runtime/tokenizer/bpe/normalizer.h"
#include "runtime/tokenizer/bpe/pre_tokenizer.h"
#include "runtime/tokenizer/bpe/template.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

// What a tokenizer.json consists of.
struct Parts {
  BpeModel model;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Decoder decoder;
  std::vector<int32_t> prefix;
  std::vector<AddedToken> added_tokens;
};

struct KnownToken {
  std::string content;
  bool exists = false;
  bool is_special = false;
};

class BpeTokenizer final : public Tokenizer {
 public:
  // Checks what the parts say of each other.
  static Result<std::unique_ptr<Tokenizer>> Create(const std::string& path, Parts parts) {
    std::unique_ptr<BpeTokenizer> tokenizer(new BpeTokenizer(path, std::move(parts)));
    if (auto error = tokenizer->NumberTokens()) return *error;
    if (auto error = tokenizer->FindAddedTokens()) return *error;
    for (const int32_t token : tokenizer->parts_.prefix) {
      if (tokenizer->Known(token) == nullptr) {
        return WrongTokenizer(Format("has token %d before every text, but no such token", token));
      }
    }
    return std::unique_ptr<Tokenizer>(std::move(tokenizer));
  }

  int64_t size() const override { return static_cast<int64_t>(tokens_.size()); }

  Result<std::vector<int32_t>> Encode(const std::string& text) const override {
    if (const std::optional<size_t> at = FindInvalidUtf8(text)) {
      return Error{ExitCode::kInput, Format("the text is not UTF-8: byte 0x%02X at offset %zu begins no character",
                                            static_cast<unsigned char>(text[*at]), *at)};
    }
    std::vector<int32_t> tokens = parts_.prefix;
    for (const TextSection& section : as_they_are_.Sections(text)) {
      std::optional<Error> error;
      if (section.token.has_value()) {
        tokens.push_back(*section.token);
      } else {
        error = AppendText(text.substr(section.begin, section.end - section.begin), section.begin == 0, tokens);
      }
      if (error.has_value()) return About(*error);
    }
    return tokens;
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
    return parts_.model.Find(name);
  }

 private:
  BpeTokenizer(std::string path, Parts parts) : path_(std::move(path)), parts_(std::move(parts)) {}

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
    for (const auto& [content, token] : parts_.model.vocabulary()) {
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

  // `is_first`: the user's text begins with it.
  std::optional<Error> AppendText(std::string text, bool is_first, std::vector<int32_t>& tokens) const {
    Result<std::string> normalized = parts_.normalizer.Normalize(std::move(text));
    if (!normalized.ok()) return normalized.error();
    for (const TextSection& section : normalized_.Sections(normalized.value())) {
      if (section.token.has_value()) {
        tokens.push_back(*section.token);
        continue;
      }
      const Result<TextPieces> pieces = parts_.pre_tokenizer.Cut(
          {normalized.value().substr(section.begin, section.end - section.begin), is_first && section.begin == 0});
      if (!pieces.ok()) return pieces.error();
      for (const TextPiece& piece : pieces.value()) {
        if (auto error = parts_.model.Tokenize(piece.text, tokens)) return error;
      }
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
  Result<BpeModel> model = BpeModel::Read(*fields.Find("model"));
  if (!model.ok()) return model.error();
  Result<Normalizer> normalizer = Normalizer::Read(fields.Find("normalizer"));
  if (!normalizer.ok()) return normalizer.error();
  Result<PreTokenizer> pre_tokenizer = PreTokenizer::Read(fields.Find("pre_tokenizer"));
  if (!pre_tokenizer.ok()) return pre_tokenizer.error();
  Result<Decoder> decoder = Decoder::Read(fields.Find("decoder"));
  if (!decoder.ok()) return decoder.error();
  Result<std::vector<int32_t>> prefix = ReadTemplatePrefix(fields.Find("post_processor"));
  if (!prefix.ok()) return prefix.error();
  Result<std::vector<AddedToken>> added_tokens = ReadAddedTokens(fields.Find("added_tokens"), model.value());
  if (!added_tokens.ok()) return added_tokens.error();
  return Parts{std::move(model.value()),   std::move(normalizer.value()), std::move(pre_tokenizer.value()),
               std::move(decoder.value()), std::move(prefix.value()),     std::move(added_tokens.value())};
}

Result<std::unique_ptr<Tokenizer>> ReadTokenizer(const std::string& path, const std::string& text) {
  if (const std::optional<size_t> at = FindInvalidUtf8(text)) {
    return WrongTokenizer("is not UTF-8 at " + PlaceIn(text, *at));
  }
  const Result<Json> json = ParseJson(text);
  if (!json.ok()) return json.error();
  Result<Parts> parts = ReadParts(json.value());
  if (!parts.ok()) return parts.error();
  return BpeTokenizer::Create(path, std::move(parts.value()));
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> OpenTokenizerJson(const std::string& path) {
  const Result<std::vector<uint8_t>> bytes = ReadFile(path, kMostBytes);
  if (!bytes.ok()) return bytes.error();
  Result<std::unique_ptr<Tokenizer>> tokenizer =
      ReadTokenizer(path, std::string(bytes.value().begin(), bytes.value().end()));
  if (tokenizer.ok()) return tokenizer;
  return Error{tokenizer.error().code, "the tokenizer `" + path + "` " + tokenizer.error().message};
}

}  // namespace cleave::runtime
