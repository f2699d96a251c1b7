// The `train` and `parallel` blocks: settings by name, each with the values it can take.
#ifndef CLEAVE_FRONTEND_SETTINGS_SETTINGS_H_
#define CLEAVE_FRONTEND_SETTINGS_SETTINGS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/report/report.h"
#include "ir/graph/training/adapters.h"
#include "ir/graph/training/training.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

// A setting as written, or as `--set` replaces it.
struct SettingText {
  dsl::syntax::Setting setting;
  std::string context;      // "`--set epochs=3`"; empty for one of the file.
  std::string path_prefix;  // Put before a relative path in it.
};

using SettingTexts = std::vector<SettingText>;

// The names that each block knows, in the order of the reference.
const std::vector<std::string>& TrainSettingNames();
const std::vector<std::string>& ParallelSettingNames();

// Reports names that are unknown or given twice, and drops them.
SettingTexts CheckSettingNames(const std::string& block, const std::vector<std::string>& known, SettingTexts settings,
                               Reporter& reporter);

// Where that is set about which later stages may complain.
struct TrainPlaces {
  Span& data;
  Span& params;
  std::map<std::string, Span>& npy;  // The .npy file of an input, by the input's name.
  Span& precision;
  Span& evaluation;  // Of `best`, else of `eval_every`.
  Span& validation;
};

// `adapt`: which weights get adapters, and which other parameters are trained beside them.
struct AdaptSetting {
  struct Pattern {
    std::string text;
    Span span;
  };
  ir::AdapterForm form = {};
  std::vector<Pattern> on, also = {};
  std::optional<ir::DType> frozen = {};  // The type in which frozen matrices are stored; nullopt: as `precision` says.
  Span span;                             // Of the setting's value.
  std::string context;                   // Of the setting, for messages.
};

// REQUIRES (all): the names were checked, and for ReadTrain the model has been run, whose metrics `best` may name.
// After a mistake, which is reported, a setting keeps its default. `optimizer` is read by frontend/optimizer, and
// `adapt` by ReadAdapt: nullopt where there is none, or after a mistake.
ir::Training ReadTrain(const SettingTexts& settings, Evaluator& evaluator, Reporter& reporter, TrainPlaces places);
std::optional<AdaptSetting> ReadAdapt(const SettingTexts& settings, Evaluator& evaluator, Reporter& reporter);
// `knows_devices`: the number of devices is known already, and `devices` in the block is not asked for.
ir::ParallelSettings ReadParallel(const SettingTexts& settings, bool knows_devices, Evaluator& evaluator,
                                  Reporter& reporter);

// The layouts that `dataset` gives inputs, as pins. REQUIRES: the model has been run.
void AddDatasetPins(const SettingTexts& settings, Evaluator& evaluator, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_SETTINGS_SETTINGS_H_
