// `--set name=value`: replaces a setting or an argument by a value that is read as in the language.
//
// A name is an argument of the model, else a setting of `train` or `parallel` (`train.seed` where the model has an
// argument `seed` too); `optimizer.lr` and `data.train` replace one argument of a setting that is a call, and `c.heads`
// is a field of an argument that is a record.
#ifndef CLEAVE_FRONTEND_OVERRIDES_OVERRIDES_H_
#define CLEAVE_FRONTEND_OVERRIDES_OVERRIDES_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/functions/functions.h"
#include "frontend/report/report.h"
#include "frontend/settings/settings.h"

namespace cleave::frontend {

struct OverriddenField {
  std::vector<dsl::syntax::Identifier> path;  // At least one name.
  dsl::syntax::Expression value;
  std::string context;  // "`--set c.heads=4`"
};

// The value of a model argument that overrides give, or those of fields of it.
struct OverriddenArgument {
  std::optional<dsl::syntax::Expression> value;  // Absent: the default.
  std::string context;                           // "`--set batch=512`"
  std::vector<OverriddenField> fields;           // In this order, after that.
};

struct OverrideResult {
  std::map<std::string, OverriddenArgument> arguments;
  SettingTexts train;
  SettingTexts parallel;
};

struct OverrideRequest {
  const std::vector<std::pair<std::string, std::string>>& overrides;
  const std::string& folder;  // Relative paths in overrides start from it.
  const dsl::syntax::Model& model;
  const FunctionTable& functions;
  SettingTexts train;  // As in the file, with known names only.
  SettingTexts parallel;
};

// `texts` takes the values' text; its ids must not be the user's.
OverrideResult ApplyOverrides(OverrideRequest request, SourceSet& texts, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OVERRIDES_OVERRIDES_H_
