// Reading guide: GenerationReader makes flags of the fields that programs know and texts of those they do not; NamesOf
// finds what tokenizer.json calls the tokens that end a text; ReadGeneration puts both together.
#include "tools/import/generation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"

namespace cleave::tools {
namespace {

using runtime::Json;

constexpr char kFile[] = "generation_config.json";
constexpr size_t kMostEnds = 64;

// Fields that are read, and those that do not change which tokens are drawn: ids of other tokens, limits of lengths
// (`--length`), how values are kept.
const std::vector<std::string>& FieldsOfNoInterest() {
  static const auto& fields = *new std::vector<std::string>{
      "do_sample",
      "temperature",
      "top_k",
      "top_p",
      "eos_token_id",
      "bos_token_id",
      "pad_token_id",
      "decoder_start_token_id",
      "transformers_version",
      "_from_model_config",
      "max_length",
      "max_new_tokens",
      "max_time",
      "use_cache",
      "cache_implementation",
      "cache_config",
      "chat_format",
      "output_attentions",
      "output_hidden_states",
      "output_scores",
      "output_logits",
      "return_dict_in_generate",
      "num_return_sequences",
      "trust_remote_code",
  };
  return fields;
}

// Fields with another effect, and the value with which they have none; they have none when they are null either.
const std::map<std::string, std::string>& NeutralValues() {
  static const auto& values = *new std::map<std::string, std::string>{
      {"repetition_penalty", "1"},
      {"encoder_repetition_penalty", "1"},
      {"length_penalty", "1"},
      {"typical_p", "1"},
      {"min_length", "0"},
      {"min_new_tokens", "0"},
      {"epsilon_cutoff", "0"},
      {"eta_cutoff", "0"},
      {"no_repeat_ngram_size", "0"},
      {"encoder_no_repeat_ngram_size", "0"},
      {"num_beams", "1"},
      {"num_beam_groups", "1"},
      {"diversity_penalty", "0"},
      {"early_stopping", "false"},
      {"remove_invalid_values", "false"},
      {"renormalize_logits", "false"},
      {"guidance_scale", "1"},
      {"min_p", "0"},
  };
  return values;
}

Diagnostic Wrong(absl::string_view file, const std::string& what) {
  return Error(Code::kE0614, absl::StrCat("`", file, "` ", what));
}

std::optional<Json> ObjectOf(const OriginFile& file, Diagnostics& diagnostics) {
  runtime::Result<Json> json = runtime::ParseJson(file.text);
  if (json.ok() && json.value().kind == Json::Kind::kObject) return std::move(json.value());
  diagnostics.Add(Wrong(file.name, json.ok() ? "is not an object of JSON" : json.error().message));
  return std::nullopt;
}

const Json* FieldOf(const Json& object, const std::string& name) {
  const Json* const value = object.Find(name);
  return value == nullptr || value->kind == Json::Kind::kNull ? nullptr : value;
}

std::optional<double> FiniteOf(const Json& value) {
  double number = 0;
  const bool is_number = value.kind == Json::Kind::kNumber && absl::SimpleAtod(value.text, &number);
  return is_number && std::isfinite(number) ? std::optional<double>(number) : std::nullopt;
}

// Reads the fields of one generation_config.json.
class GenerationReader {
 public:
  GenerationReader(const Json& json, Diagnostics& diagnostics) : json_(json), diagnostics_(diagnostics) {}

  // Without sampling transformers takes the likeliest token, and with it one of the 50 likeliest unless told otherwise.
  void AddSampling(std::vector<std::string>& flags) const {
    const Json* const samples = FieldOf(json_, "do_sample");
    if (samples != nullptr && samples->kind != Json::Kind::kBool) return Refuse("do_sample", "`true` or `false`");
    const double temperature = Number("temperature", 1, 0, 1e6), top_k = Number("top_k", 50, 0, 1e9);
    const double top_p = Number("top_p", 1, 1e-6, 1);
    if (top_k != std::floor(top_k)) return Refuse("top_k", "a whole number");
    if (samples == nullptr || samples->text == "false") {
      flags.insert(flags.end(), {"--temperature", "0"});
      return;
    }
    const auto add = [&](const char* flag, double value, double otherwise) {
      if (value != otherwise) flags.insert(flags.end(), {flag, FormatDouble(value)});
    };
    add("--temperature", temperature, 1);
    if (top_k > 0) flags.insert(flags.end(), {"--top-k", absl::StrCat(static_cast<int64_t>(top_k))});
    add("--top-p", top_p, 1);
  }

  std::vector<int64_t> Ends() const {
    const Json* const field = FieldOf(json_, "eos_token_id");
    if (field == nullptr) return {};
    std::vector<int64_t> ends;
    const auto add = [&](const Json& value) {
      const std::optional<int64_t> number = runtime::JsonInteger(value);
      if (!number.has_value() || *number < 0) return false;
      if (std::count(ends.begin(), ends.end(), *number) == 0) ends.push_back(*number);
      return true;
    };
    const bool is_list = field->kind == Json::Kind::kArray && field->items.size() <= kMostEnds;
    const bool is_right = is_list ? std::all_of(field->items.begin(), field->items.end(), add) : add(*field);
    if (!is_right) Refuse("eos_token_id", absl::StrCat("the number of a token, or at most ", kMostEnds, " of them"));
    return ends;
  }

  std::vector<std::string> NotDone() const {
    std::vector<std::string> texts;
    for (const runtime::JsonMember& member : json_.members) {
      const std::vector<std::string>& others = FieldsOfNoInterest();
      if (member.value.kind == Json::Kind::kNull) continue;
      if (std::count(others.begin(), others.end(), member.name) > 0 || IsNeutral(member)) continue;
      texts.push_back(absl::StrCat("`", runtime::JsonEscaped(member.name.substr(0, 60)), "`", Shown(member.value)));
    }
    return texts;
  }

 private:
  void Refuse(const std::string& field, const std::string& expected) const {
    diagnostics_.Add(Wrong(kFile, absl::StrCat("has a `", field, "` that is not ", expected)));
  }

  double Number(const std::string& field, double otherwise, double least, double most) const {
    const Json* const value = FieldOf(json_, field);
    if (value == nullptr) return otherwise;
    const std::optional<double> number = FiniteOf(*value);
    if (number.has_value() && *number >= least && *number <= most) return *number;
    Refuse(field, absl::StrCat("a number from ", least, " to ", most));
    return otherwise;
  }

  static bool IsNeutral(const runtime::JsonMember& member) {
    const auto found = NeutralValues().find(member.name);
    if (found == NeutralValues().end()) return false;
    double neutral = 0;
    if (absl::SimpleAtod(found->second, &neutral)) return FiniteOf(member.value) == neutral;
    return member.value.kind == Json::Kind::kBool && member.value.text == found->second;
  }

  static std::string Shown(const Json& value) {
    const bool is_short = value.kind == Json::Kind::kNumber || value.kind == Json::Kind::kBool;
    return is_short ? absl::StrCat(" ", value.text.substr(0, 20)) : "";
  }

  const Json& json_;
  Diagnostics& diagnostics_;
};

// What tokenizer.json calls tokens, by their numbers.
std::map<int64_t, std::string> NamesOf(const Json& tokenizer, const std::vector<int64_t>& tokens) {
  std::map<int64_t, std::string> names;
  const auto add = [&](const std::string& name, const Json* number) {
    const std::optional<int64_t> id = number == nullptr ? std::nullopt : runtime::JsonInteger(*number);
    if (id.has_value() && std::count(tokens.begin(), tokens.end(), *id) > 0) names.emplace(*id, name);
  };
  if (const Json* const added = tokenizer.Find("added_tokens"); added != nullptr) {
    for (const Json& token : added->items) {
      const runtime::Result<std::string> name = runtime::StringMember(token, "content");
      if (name.ok()) add(name.value(), token.Find("id"));
    }
  }
  const Json* const model = tokenizer.Find("model");
  const Json* const vocabulary = model == nullptr ? nullptr : model->Find("vocab");
  if (vocabulary == nullptr) return names;
  for (const runtime::JsonMember& member : vocabulary->members) add(member.name, &member.value);
  return names;
}

}  // namespace

std::optional<Generation> ReadGeneration(const std::vector<OriginFile>& files, Diagnostics& diagnostics) {
  Generation generation;
  const OriginFile* const file = FindFile(files, kFile);
  if (file == nullptr) return generation;
  const std::optional<Json> json = ObjectOf(*file, diagnostics);
  if (!json.has_value()) return std::nullopt;
  const GenerationReader reader(*json, diagnostics);
  reader.AddSampling(generation.flags);
  generation.not_done = reader.NotDone();
  const std::vector<int64_t> ends = reader.Ends();
  const OriginFile* const tokenizer = FindFile(files, "tokenizer.json");
  std::map<int64_t, std::string> names;
  if (tokenizer != nullptr && !ends.empty()) {
    const std::optional<Json> parsed = ObjectOf(*tokenizer, diagnostics);
    if (parsed.has_value()) names = NamesOf(*parsed, ends);
  }
  if (diagnostics.has_errors()) return std::nullopt;
  for (const int64_t end : ends) {
    const auto found = names.find(end);
    if (tokenizer != nullptr && found == names.end()) {
      generation.not_done.push_back(absl::StrCat("`eos_token_id` ", end, ", which is no token of tokenizer.json"));
      continue;
    }
    generation.flags.insert(generation.flags.end(),
                            {"--end", tokenizer == nullptr ? absl::StrCat(end) : found->second});
  }
  return generation;
}

}  // namespace cleave::tools
