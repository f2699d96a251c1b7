#include "ir/graph/training/adapters.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/text/text.h"

namespace cleave::ir {
namespace {

constexpr char kRankStable[] = "rank_stable";

}  // namespace

double AdapterForm::factor() const {
  const auto size = static_cast<double>(rank);
  return alpha / (is_rank_stable ? std::sqrt(size) : size);
}

std::string AdapterText(const AdapterForm& form) {
  std::vector<std::string> arguments = {absl::StrCat("rank = ", form.rank),
                                        absl::StrCat("alpha = ", FormatDouble(form.alpha))};
  if (form.is_rank_stable) arguments.push_back(absl::StrCat("scale = ", kRankStable));
  if (form.dropout > 0) arguments.push_back(absl::StrCat("dropout = ", FormatDouble(form.dropout)));
  if (!form.also.empty()) arguments.push_back(absl::StrCat("also = ", form.also));
  return absl::StrCat(form.has_magnitude ? "dora(" : "lora(", absl::StrJoin(arguments, ", "), ")");
}

std::optional<AdapterForm> ParseAdapter(absl::string_view text) {
  const std::string whole(text);
  AdapterForm form;
  form.has_magnitude = absl::ConsumePrefix(&text, "dora(");
  if (!form.has_magnitude && !absl::ConsumePrefix(&text, "lora(")) return std::nullopt;
  if (!absl::ConsumeSuffix(&text, ")")) return std::nullopt;
  const size_t also = text.find(", also = ");
  if (also != text.npos) {
    form.also = std::string(absl::StripPrefix(text.substr(also), ", also = "));
    text = text.substr(0, also);
  }
  for (const absl::string_view argument : absl::StrSplit(text, ", ")) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(argument, absl::MaxSplits(" = ", 1));
    const auto& [name, value] = parts;
    bool is_read = false;
    if (name == "rank") is_read = absl::SimpleAtoi(value, &form.rank) && form.rank > 0;
    if (name == "alpha") is_read = absl::SimpleAtod(value, &form.alpha) && std::isfinite(form.alpha);
    if (name == "scale") is_read = form.is_rank_stable = value == kRankStable;
    if (name == "dropout") is_read = absl::SimpleAtod(value, &form.dropout);
    if (!is_read) return std::nullopt;
  }
  return AdapterText(form) == whole ? std::make_optional(form) : std::nullopt;
}

}  // namespace cleave::ir
