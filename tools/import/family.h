// Families of models that `cleave import` knows: what config.json may say of each, and which texts are written for it.
//
//   title Llama
//   model_type llama
//   template decoder
//   mapping llama
//   hidden_size   size width
//   head_dim      size head = width / heads
//   hidden_act    is "silu" // what somebody would write by hand for another one
//   include rope
//   include common in text_config
//
// A file families/NAME.fields is the family NAME, or a list of fields that several include: README.md describes the
// lines.
#ifndef CLEAVE_TOOLS_IMPORT_FAMILY_H_
#define CLEAVE_TOOLS_IMPORT_FAMILY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/text_template/text_template.h"

namespace cleave::tools {

// What a field of config.json may be.
enum class FieldKind {
  kSize,      // A whole number of at least 1.
  kLength,    // The same: how many places a sequence may have. `seq` becomes this, or kLongest where that is less.
  kSizes,     // An array of such numbers, which becomes a tuple.
  kCount,     // How many an object or an array has, or such a number itself.
  kWhole,     // A whole number of at least 0.
  kOptional,  // A whole number of at least 1, or null, for which the name does not hold.
  kNumber,    // A positive number.
  kRate,      // A number of at least 0 and less than 1.
  kFlag,      // true or false.
  kChoice,    // One of several texts, each of which stands for another one here, which then holds as a name too.
  kIs,        // One value, in which nothing but this is supported.
  kAmong,     // An array of texts, all of which are among these.
  kCycle,     // An array of these texts again and again, one for each layer.
  kIgnored,   // Anything: it does not change what the model computes.
};

struct FieldRule {
  std::vector<std::string> fields;  // Names that a field had and has: "rope_scaling.factor" is within an object.
  FieldKind kind = FieldKind::kIgnored;
  std::string name;                      // Of the value, for templates.
  std::vector<std::string> words;        // Of kIs one, as JSON; of kChoice, kAmong and kCycle several.
  std::vector<std::string> stands_for;   // Of kChoice: for each word.
  int64_t most = 0;                      // Of kSize and kSizes.
  std::optional<std::string> otherwise;  // The value, as it is written into the model, where the field is missing: a
                                         // text with gaps for the names that stand before it.
  std::string when;                      // The field is read only where this name holds; empty: always.
  std::string by_hand;                   // What somebody would write for another value; may be empty.
};

struct Family {
  std::string name, title, paper, model_type;
  std::string model, mapping;  // Names of the texts.
  TemplateValues values;       // What holds for each model of the family.
  std::vector<FieldRule> rules;
};

inline constexpr int64_t kLongest = 1024;

// `lists`: what it may include, by name. Errors (InvalidArgument) name the line.
absl::StatusOr<Family> ParseFamily(absl::string_view name, absl::string_view text, const TemplateValues& lists);

// Those that this program has, by name.
const std::vector<Family>& Families();

// Null where there is none.
const Family* FindFamily(absl::string_view model_type);

// A text of families/: "gpt2.model". REQUIRES: there is one.
absl::string_view FamilyText(absl::string_view file);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_IMPORT_FAMILY_H_
