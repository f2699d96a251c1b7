#include "tools/import/model.h"

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check/check.h"
#include "tools/weights/mapping.h"

namespace cleave::tools {
namespace {

constexpr int64_t kMostSymbolsOf16Bits = 65536;

std::string Filled(absl::string_view text, const TemplateValues& values) {
  const absl::StatusOr<std::string> filled = FillTemplate(text, values);
  CLEAVE_CHECK(filled.ok()) << filled.status().message();
  return *filled;
}

}  // namespace

TemplateValues WithWhatFollows(const Family& family, TemplateValues values) {
  int64_t vocabulary = 0;
  CLEAVE_CHECK(absl::SimpleAtoi(values.at("vocab"), &vocabulary));
  const std::string bits = vocabulary <= kMostSymbolsOf16Bits ? "16" : "32";
  values["token_bits"] = bits;
  values["token_type"] = absl::StrCat("u", bits);
  const bool is_scaled = Holds(values, "scaled");
  values["rotation"] = is_scaled ? "rotate" : "rope";
  values["frequencies"] = is_scaled ? "frequency" : "theta";
  values["family"] = family.name;
  values["title"] = family.title;
  values["paper"] = family.paper;
  std::string name = family.name;
  name[0] = absl::ascii_toupper(name[0]);
  values["Name"] = name;
  return values;
}

std::string ModelText(const Family& family, const TemplateValues& values) {
  return absl::StrCat(Filled(FamilyText(absl::StrCat(family.model, ".model")), values),
                      Filled(FamilyText("train.model"), values));
}

std::string MapText(const Family& family, const TemplateValues& values) {
  return Filled(MappingText(family.mapping), values);
}

std::string ReadmeText(const TemplateValues& values) { return Filled(FamilyText("README.template"), values); }

}  // namespace cleave::tools
