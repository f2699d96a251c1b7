#include "frontend/settings/settings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::frontend {

const std::vector<std::string>& TrainSettingNames() {
  static const auto& names = *new std::vector<std::string>{
      "data",       "validation", "params",   "optimizer", "groups",    "adapt",      "clip",
      "loss_scale", "epochs",     "steps",    "log",       "log_every", "eval_every", "checkpoint",
      "keep",       "best",       "patience", "seed",      "shuffle",   "precision",  "keep_bf16"};
  return names;
}

const std::vector<std::string>& ParallelSettingNames() {
  static const auto& names = *new std::vector<std::string>{"devices",
                                                           "mesh",
                                                           "search",
                                                           "dataset",
                                                           "objective",
                                                           "memory",
                                                           "cost",
                                                           "leave_idle",
                                                           "gradient_weight",
                                                           "redistribution_weight",
                                                           "zero",
                                                           "outside",
                                                           "micro_batches",
                                                           "recompute",
                                                           "row_updates",
                                                           "reduce",
                                                           "stages",
                                                           "pipeline_schedule",
                                                           "slice_losses",
                                                           "ring_attention",
                                                           "zigzag",
                                                           "collective_matmul",
                                                           "parameter_plan"};
  return names;
}

SettingTexts CheckSettingNames(const std::string& block, const std::vector<std::string>& known, SettingTexts settings,
                               Reporter& reporter) {
  SettingTexts result;
  for (SettingText& text : settings) {
    const dsl::syntax::Identifier& name = text.setting.name;
    reporter.SetContext(text.context);
    const auto same = std::find_if(result.begin(), result.end(),
                                   [&](const SettingText& other) { return other.setting.name.text == name.text; });
    if (same != result.end()) {
      reporter.Report(Error(Code::kE0202, absl::StrCat("setting `", name.text, "` is given twice"))
                          .At(name.span, "given again here")
                          .At(same->setting.name.span, "first given here"));
    } else if (std::find(known.begin(), known.end(), name.text) == known.end()) {
      Diagnostic error = Error(Code::kE0507, absl::StrCat("`", block, "` has no setting `", name.text, "`"))
                             .At(name.span, absl::StrCat("expected ", QuotedList(known, "or")));
      if (auto nearest = NearestName(name.text, known))
        error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
      reporter.Report(std::move(error));
    } else {
      result.push_back(std::move(text));
    }
    reporter.SetContext("");
  }
  return result;
}

}  // namespace cleave::frontend
