#include "runtime/tokenizer/bpe/decoder.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/tokenizer/bpe/byte_level.h"
#include "runtime/tokenizer/bpe/pattern.h"

namespace cleave::runtime {
namespace {

// The byte for "<0x0A>"; the token itself for any other.
std::string ByteOfFallback(const std::string& token) {
  const auto is_hexadecimal = [&](size_t at) { return std::isxdigit(static_cast<unsigned char>(token[at])) != 0; };
  const bool is_byte =
      token.size() == 6 && token.compare(0, 3, "<0x") == 0 && token[5] == '>' && is_hexadecimal(3) && is_hexadecimal(4);
  return is_byte ? std::string(1, static_cast<char>(std::stoi(token.substr(3, 2), nullptr, 16))) : token;
}

// Without spaces where English has none: these one after another.
std::string Cleaned(std::string text) {
  static constexpr std::pair<const char*, const char*> kClean[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kClean) {
    const std::string_view old = from;
    for (size_t at = text.find(old); at < text.size(); at = text.find(old, at + std::string_view(to).size())) {
      text.replace(at, old.size(), to);
    }
  }
  return text;
}

}  // namespace

template <typename Kind>
bool Decoder::Has() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return std::holds_alternative<Kind>(step); });
}

Result<Decoder> Decoder::Read(const Json* json) {
  if (json == nullptr) return WrongTokenizer("has no `decoder`, so its tokens cannot become text");
  Decoder decoder;
  if (auto error = decoder.Append(*json)) return *error;
  return decoder;
}

std::optional<Error> Decoder::Append(const Json& json) {
  const Result<std::string> type = Fields(json, "the decoder").String("type");
  if (!type.ok()) return type.error();
  const Fields fields(json, "the decoder `" + type.value() + "`");
  if (type.value() == "Sequence") {
    if (auto error = fields.Only({"type", "decoders"})) return error;
    const Result<const std::vector<Json>*> steps = fields.Array("decoders");
    if (!steps.ok()) return steps.error();
    for (const Json& step : *steps.value()) {
      if (auto error = Append(step)) return error;
    }
    return std::nullopt;
  }
  if (type.value() == "Fuse") {
    steps_.emplace_back(Fused{});
    return fields.Only({"type"});
  }
  if (type.value() == "Strip" && (Has<Fused>() || !Has<Fallback>())) return AppendStrip(fields);
  // These would see characters that several tokens make together.
  if (Has<Fused>()) return WrongTokenizer("has " + fields.what() + " behind `Fuse`, which is not supported");
  if (Has<Fallback>()) return WrongTokenizer("has " + fields.what() + " behind `ByteFallback`, which is not supported");
  if (type.value() == "ByteFallback") {
    steps_.emplace_back(Fallback{});
    return fields.Only({"type"});
  }
  if (type.value() == "ByteLevel") {
    steps_.emplace_back(Characters{});
    return fields.Only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  }
  if (type.value() == "Replace") return AppendReplace(fields);
  if (type.value() == "Metaspace") return AppendMetaspace(fields);
  if (type.value() == "WordPiece") return AppendWordPiece(fields);
  return WrongTokenizer("has " + fields.what() + ", which is not supported");
}

std::optional<Error> Decoder::AppendReplace(const Fields& fields) {
  if (auto error = fields.Only({"type", "pattern", "content"})) return error;
  const Result<Regex> pattern = ReadPattern(fields);
  if (!pattern.ok()) return pattern.error();
  const Result<std::string> content = fields.String("content");
  if (!content.ok()) return content.error();
  steps_.emplace_back(Replaced{pattern.value(), content.value(), false});
  return std::nullopt;
}

std::optional<Error> Decoder::AppendStrip(const Fields& fields) {
  if (auto error = fields.Only({"type", "content", "start", "stop"})) return error;
  const Result<std::string> content = fields.String("content");
  if (!content.ok()) return content.error();
  if (content.value().empty()) return fields.NotSupported("content", "");
  const Result<int64_t> start = fields.Integer("start");
  if (!start.ok()) return start.error();
  // A second one might be in the second token, and the last token is not known.
  if (start.value() < 0 || (Has<Fused>() && start.value() > 1)) {
    return fields.NotSupported("start", std::to_string(start.value()));
  }
  const Result<int64_t> stop = fields.Integer("stop");
  if (!stop.ok()) return stop.error();
  if (stop.value() != 0) return fields.NotSupported("stop", std::to_string(stop.value()));
  steps_.emplace_back(Stripped{content.value(), start.value(), Has<Fused>()});
  return std::nullopt;
}

std::optional<Error> Decoder::AppendMetaspace(const Fields& fields) {
  if (auto error = fields.Only({"type", "replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"})) {
    return error;
  }
  const Result<std::string> replacement = fields.String("replacement");
  if (!replacement.ok()) return replacement.error();
  const Result<bool> adds_space = fields.Bool("add_prefix_space", true);
  if (!adds_space.ok()) return adds_space.error();
  const Result<std::string> scheme = fields.String("prepend_scheme", adds_space.value() ? "always" : "never");
  if (!scheme.ok()) return scheme.error();
  if (replacement.value().empty()) return fields.NotSupported("replacement", "");
  // All of them in the first token go away, wherever they are.
  const Result<Regex> pattern = Regex::Literal(replacement.value());
  if (!pattern.ok()) return pattern.error();
  if (scheme.value() != "never") steps_.emplace_back(Replaced{pattern.value(), "", true});
  steps_.emplace_back(Replaced{pattern.value(), " ", false});
  return std::nullopt;
}

std::optional<Error> Decoder::AppendWordPiece(const Fields& fields) {
  if (auto error = fields.Only({"type", "prefix", "cleanup"})) return error;
  const Result<std::string> prefix = fields.String("prefix");
  if (!prefix.ok()) return prefix.error();
  const Result<bool> is_clean = fields.Bool("cleanup");
  if (!is_clean.ok()) return is_clean.error();
  steps_.emplace_back(Words{prefix.value(), is_clean.value()});
  return std::nullopt;
}

Result<std::string> Decoder::Bytes(std::string token, bool is_first) const {
  for (const Step& step : steps_) {
    if (std::holds_alternative<Characters>(step)) {
      token = BytesOfCharacters(token);
    } else if (std::holds_alternative<Fallback>(step)) {
      token = ByteOfFallback(token);
    } else if (const auto* replaced = std::get_if<Replaced>(&step)) {
      if (replaced->only_in_first && !is_first) continue;
      Result<std::string> text = ReplaceAll(replaced->pattern, replaced->content, token);
      if (!text.ok()) return text.error();
      token = std::move(text.value());
    } else if (const auto* words = std::get_if<Words>(&step)) {
      const bool goes_on = !is_first && token.compare(0, words->prefix.size(), words->prefix) == 0;
      token = goes_on ? token.substr(words->prefix.size()) : is_first ? token : " " + token;
      if (words->is_clean) token = Cleaned(std::move(token));
    } else if (const auto* stripped = std::get_if<Stripped>(&step)) {
      const size_t bytes = stripped->content.size();
      const int64_t most = stripped->only_of_first && !is_first ? 0 : stripped->most;
      for (int64_t i = 0; i < most && token.compare(0, bytes, stripped->content) == 0; ++i) token.erase(0, bytes);
    }
  }
  return token;
}

}  // namespace cleave::runtime
