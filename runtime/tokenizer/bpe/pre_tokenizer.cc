#include "runtime/tokenizer/bpe/pre_tokenizer.h"

#include <utility>

#include "runtime/tokenizer/bpe/byte_level.h"
#include "runtime/tokenizer/bpe/pattern.h"

namespace cleave::runtime {
namespace {

// Of GPT-2 (Radford et al. 2019): ends of English words, words, numbers and other characters, each with a space before
// it, and white space.
constexpr char kWordsOfGpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

constexpr char kSpaces[] = "\\s";
// Also characters of ASCII that Unicode counts among symbols.
constexpr char kPunctuation[] = "[!-/:-@\\[-`{-~\\p{P}]";
// What many libraries call \w and its opposite, but for white space.
constexpr char kWordsAndOthers[] =
    "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]+|[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}\\s]"
    "+";

}  // namespace

Result<PreTokenizer> PreTokenizer::Read(const Json* json) {
  PreTokenizer pre_tokenizer;
  if (json == nullptr) return pre_tokenizer;
  if (auto error = pre_tokenizer.Append(*json)) return *error;
  std::vector<Step>& steps = pre_tokenizer.steps_;
  pre_tokenizer.writes_bytes_ = !steps.empty() && std::holds_alternative<Bytes>(steps.back());
  if (pre_tokenizer.writes_bytes_) steps.pop_back();
  return pre_tokenizer;
}

std::optional<Error> PreTokenizer::Append(const Json& json) {
  const Result<std::string> type = Fields(json, "the pre_tokenizer").String("type");
  if (!type.ok()) return type.error();
  const Fields fields(json, "the pre_tokenizer `" + type.value() + "`");
  if (type.value() == "ByteLevel") return AppendByteLevel(fields);
  if (type.value() == "Split") return AppendSplit(fields);
  if (type.value() == "Digits") return AppendDigits(fields);
  if (type.value() == "Metaspace") return AppendMetaspace(fields);
  if (type.value() == "Punctuation") return AppendPunctuation(fields);
  if (type.value() == "Whitespace" || type.value() == "WhitespaceSplit" || type.value() == "BertPreTokenizer") {
    if (auto error = fields.Only({"type"})) return error;
    if (type.value() == "Whitespace") return AppendPattern(kWordsAndOthers, Behavior::kRemoved, /*is_inverted=*/true);
    if (auto error = AppendPattern(kSpaces, Behavior::kRemoved)) return error;
    return type.value() == "WhitespaceSplit" ? std::nullopt : AppendPattern(kPunctuation, Behavior::kIsolated);
  }
  if (type.value() != "Sequence") return WrongTokenizer("has " + fields.what() + ", which is not supported");
  if (auto error = fields.Only({"type", "pretokenizers"})) return error;
  const Result<const std::vector<Json>*> steps = fields.Array("pretokenizers");
  if (!steps.ok()) return steps.error();
  for (const Json& step : *steps.value()) {
    if (auto error = Append(step)) return error;
  }
  return std::nullopt;
}

std::optional<Error> PreTokenizer::AppendByteLevel(const Fields& fields) {
  // `trim_offsets` is about places in the text, which nobody asks for.
  if (auto error = fields.Only({"type", "add_prefix_space", "trim_offsets", "use_regex"})) return error;
  const Result<bool> adds_space = fields.Bool("add_prefix_space");
  if (!adds_space.ok()) return adds_space.error();
  const Result<bool> uses_regex = fields.Bool("use_regex", true);
  if (!uses_regex.ok()) return uses_regex.error();
  if (adds_space.value()) steps_.emplace_back(Prefix{" ", false});
  if (uses_regex.value()) {
    if (auto error = AppendPattern(kWordsOfGpt2, Behavior::kIsolated)) return error;
  }
  steps_.emplace_back(Bytes{});
  return std::nullopt;
}

std::optional<Error> PreTokenizer::AppendSplit(const Fields& fields) {
  if (auto error = fields.Only({"type", "pattern", "behavior", "invert"})) return error;
  const Result<Regex> pattern = ReadPattern(fields);
  if (!pattern.ok()) return pattern.error();
  const Result<bool> is_inverted = fields.Bool("invert", false);
  if (!is_inverted.ok()) return is_inverted.error();
  const Result<Behavior> behavior = ReadBehavior(fields);
  if (!behavior.ok()) return behavior.error();
  steps_.emplace_back(Split{pattern.value(), behavior.value(), is_inverted.value()});
  return std::nullopt;
}

Result<PreTokenizer::Behavior> PreTokenizer::ReadBehavior(const Fields& fields) {
  const Result<std::string> name = fields.String("behavior");
  if (!name.ok()) return name.error();
  static constexpr std::pair<const char*, Behavior> kBehaviors[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous},
  };
  for (const auto& [known, behavior] : kBehaviors) {
    if (name.value() == known) return behavior;
  }
  return fields.NotSupported("behavior", name.value());
}

std::optional<Error> PreTokenizer::AppendPunctuation(const Fields& fields) {
  if (auto error = fields.Only({"type", "behavior"})) return error;
  const Result<Behavior> behavior = fields.Find("behavior") == nullptr ? Behavior::kIsolated : ReadBehavior(fields);
  return behavior.ok() ? AppendPattern(kPunctuation, behavior.value()) : behavior.error();
}

std::optional<Error> PreTokenizer::AppendPattern(const char* expression, Behavior behavior, bool is_inverted) {
  const Result<Regex> pattern = Regex::Compile(expression);
  if (!pattern.ok()) return pattern.error();
  steps_.emplace_back(Split{pattern.value(), behavior, is_inverted});
  return std::nullopt;
}

std::optional<Error> PreTokenizer::AppendDigits(const Fields& fields) {
  if (auto error = fields.Only({"type", "individual_digits"})) return error;
  const Result<bool> are_individual = fields.Bool("individual_digits", false);
  if (!are_individual.ok()) return are_individual.error();
  return AppendPattern("\\p{N}", are_individual.value() ? Behavior::kIsolated : Behavior::kContiguous);
}

std::optional<Error> PreTokenizer::AppendMetaspace(const Fields& fields) {
  if (auto error = fields.Only({"type", "replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"})) {
    return error;
  }
  const Result<std::string> replacement = fields.String("replacement");
  if (!replacement.ok()) return replacement.error();
  // Older files have only this one.
  const Result<bool> adds_space = fields.Bool("add_prefix_space", true);
  if (!adds_space.ok()) return adds_space.error();
  const Result<std::string> scheme = fields.String("prepend_scheme", adds_space.value() ? "always" : "never");
  if (!scheme.ok()) return scheme.error();
  const Result<bool> is_split = fields.Bool("split", true);
  if (!is_split.ok()) return is_split.error();
  const Result<Regex> space = Regex::Literal(" ");
  if (!space.ok()) return space.error();
  steps_.emplace_back(Spaces{space.value(), replacement.value()});
  if (scheme.value() == "always" || scheme.value() == "first") {
    steps_.emplace_back(Prefix{replacement.value(), scheme.value() == "first"});
    if (!adds_space.value()) return fields.NotSupported("prepend_scheme", scheme.value());
  } else if (scheme.value() != "never") {
    return fields.NotSupported("prepend_scheme", scheme.value());
  }
  if (!is_split.value()) return std::nullopt;
  const Result<Regex> border = Regex::Literal(replacement.value());
  if (!border.ok()) return border.error();
  steps_.emplace_back(Split{border.value(), Behavior::kMergedWithNext, false});
  return std::nullopt;
}

Result<TextPieces> PreTokenizer::Cut(const TextPiece& text) const {
  TextPieces pieces = {text};
  for (const Step& step : steps_) {
    TextPieces next;
    for (const TextPiece& piece : pieces) {
      const auto apply = [&, &piece = piece](const auto& kind) { return Apply(kind, piece, next); };
      if (auto error = std::visit(apply, step)) return *error;
    }
    pieces = std::move(next);
  }
  return pieces;
}

}  // namespace cleave::runtime
