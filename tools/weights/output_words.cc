#include "tools/weights/output_words.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace cleave::tools {

std::optional<WeightType> WeightTypeNamed(absl::string_view name) {
  for (const WeightType type : {WeightType::kF32, WeightType::kBf16, WeightType::kF16}) {
    if (name == WeightTypeName(type)) return type;
  }
  return std::nullopt;
}

const char* WeightTypeName(WeightType type) {
  switch (type) {
    case WeightType::kF32:
      return "f32";
    case WeightType::kBf16:
      return "bf16";
    case WeightType::kF16:
      break;
  }
  return "f16";
}

std::optional<int64_t> BytesOfSize(absl::string_view text) {
  constexpr absl::string_view kUnits = "KMGT";  // Of 1000 bytes, and so on.
  constexpr double kMost = 0x1p62;
  if (text.size() < 3 || absl::ascii_toupper(text.back()) != 'B' || !absl::ascii_isdigit(text[0])) return std::nullopt;
  const size_t unit = kUnits.find(absl::ascii_toupper(text[text.size() - 2]));
  double number = 0;
  if (unit == absl::string_view::npos || !absl::SimpleAtod(text.substr(0, text.size() - 2), &number)) {
    return std::nullopt;
  }
  const double bytes = std::floor(number * std::pow(1000.0, static_cast<double>(unit + 1)));
  if (!(bytes >= 1 && bytes <= kMost)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

void AddOutputWords(CLI::App& app, OutputWords& words, const std::string& scope, const std::string& default_type,
                    const std::string& default_size) {
  const auto sentence = [&](const std::string& text) {
    std::string whole = scope + text;
    if (scope.empty()) whole[0] = absl::ascii_toupper(whole[0]);
    return whole;
  };
  SetValue(app.add_option("--dtype", words.type,
                          sentence(absl::StrCat("the type of the written values (default: ", default_type, ")"))),
           "f32|bf16|f16");
  const auto is_size = [](const std::string& text) -> std::string {
    if (BytesOfSize(text).has_value()) return "";
    return absl::StrCat("`", text, "` is not a size: a number with KB, MB, GB or TB behind it");
  };
  SetValue(
      app.add_option("--shard-size", words.shard_size,
                     sentence(absl::StrCat("how large a .safetensors file may be, as 5GB; more bytes are divided into "
                                           "several files with an index (default: ",
                                           default_size, ")")))
          ->check(CLI::Validator(is_size, "")),
      "SIZE");
}

}  // namespace cleave::tools
