// Reads config.json of a Hugging Face folder by the rules of its family.
//
//   std::optional<TemplateValues> values = ReadConfig(family, config, {"my_note"}, sources, diagnostics);
//
// Nothing is guessed: a value that no rule allows, a field that no rule names and a missing one without a default are
// errors, all of them together, with the place in config.json, what is supported, and what would have to be written by
// hand.
#ifndef CLEAVE_TOOLS_IMPORT_CONFIG_H_
#define CLEAVE_TOOLS_IMPORT_CONFIG_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "runtime/json/json.h"
#include "tools/import/family.h"
#include "tools/text_template/text_template.h"

namespace cleave::tools {

// An object of JSON, and the text that it was read from.
struct Config {
  runtime::Json json;
  FileId file;
};

// config.json of the folder, at most 1 MiB of it. Mistakes are E0614.
std::optional<Config> LoadConfig(const std::string& folder, SourceSet& sources, Diagnostics& diagnostics);

// The same of its text, which messages say is at `path`.
std::optional<Config> ParseConfig(const std::string& path, std::string text, SourceSet& sources,
                                  Diagnostics& diagnostics);

// The family that `model_type` names. Mistakes are E0615.
const Family* FamilyOf(const Config& config, const SourceSet& sources, Diagnostics& diagnostics);

// A field by its path, "rope_scaling.factor"; null where there is none.
const runtime::Json* FieldAt(const runtime::Json& json, absl::string_view path);

// Whether a rule of the family names the field: "rope_scaling.factor".
bool IsKnownField(const Family& family, const std::string& field);

// The fields that no rule names, and that are not null.
std::vector<std::string> UnknownFields(const Family& family, const Config& config);

// The value of each rule's name, `seq`, and what the family sets. `ignored`: fields that no rule names, and that change
// nothing, as the user knows. Mistakes are E0616.
std::optional<TemplateValues> ReadConfig(const Family& family, const Config& config,
                                         const std::set<std::string>& ignored, const SourceSet& sources,
                                         Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_IMPORT_CONFIG_H_
