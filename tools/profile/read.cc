// Reads run.json and plan.json without the model. Fields that are not compared may be missing.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json/json.h"
#include "base/layer_names/layer_names.h"
#include "base/status/status_macros.h"
#include "tools/profile/profile.h"

namespace cleave::tools {
namespace {

constexpr double kMostRanks = 1 << 20;

absl::Status NeedField(const Json& object, const char* field, const std::string& where) {
  if (object.is_object() && object.contains(field)) return absl::OkStatus();
  return JsonError(where, absl::StrCat("`", field, "` is missing"));
}

absl::StatusOr<double> Number(const Json& object, const char* field, const std::string& where) {
  CLEAVE_RETURN_IF_ERROR(NeedField(object, field, where));
  return NumberAt(object, field, where);
}

absl::StatusOr<std::string> Text(const Json& object, const char* field, const std::string& where) {
  CLEAVE_RETURN_IF_ERROR(NeedField(object, field, where));
  return StringAt(object, field, where);
}

absl::StatusOr<const Json*> List(const Json& object, const char* field, const std::string& where) {
  CLEAVE_RETURN_IF_ERROR(NeedField(object, field, where));
  if (!object.at(field).is_array()) return JsonError(absl::StrCat(where, ".", field), "expected a list");
  return &object.at(field);
}

// The text or the number of a field that may be missing.
std::string TextOr(const Json& object, const char* field) {
  return object.contains(field) && object.at(field).is_string() ? object.at(field).get<std::string>() : "";
}
double NumberOr(const Json& object, const char* field) {
  return object.contains(field) && object.at(field).is_number() ? object.at(field).get<double>() : 0;
}
// 0 where it is no number of bytes.
Bytes BytesOf(double number) {
  constexpr double kMost = 1e18;
  return Bytes(number >= 0 && number <= kMost ? static_cast<int64_t>(number) : 0);
}
Bytes BytesOr(const Json& object, const char* field) { return BytesOf(NumberOr(object, field)); }

// {"0": 100, "1": 200}
std::vector<Bytes> ByRank(const Json& document, const char* field) {
  std::vector<Bytes> bytes;
  if (!document.contains(field) || !document.at(field).is_object()) return bytes;
  for (const auto& [rank, own] : document.at(field).items()) {
    if (own.is_number()) bytes.push_back(BytesOf(own.get<double>()));
  }
  return bytes;
}

absl::StatusOr<MeasuredRun> RunOf(const Json& document) {
  MeasuredRun run;
  CLEAVE_ASSIGN_OR_RETURN(const double median, Number(document, "median_step_seconds", "run"));
  run.step = Seconds(median);
  run.peak = ByRank(document, "peak_memory_bytes");
  run.host = ByRank(document, "host_memory_bytes");
  if (!document.contains("profile")) return run;
  const Json& profile = document.at("profile");
  CLEAVE_ASSIGN_OR_RETURN(const double steps, Number(profile, "steps", "profile"));
  if (steps < 1) return JsonError("profile", "no step was measured; the first one of a run is not");
  CLEAVE_ASSIGN_OR_RETURN(const double step, Number(profile, "step_seconds", "profile"));
  run.step = Seconds(step);
  CLEAVE_ASSIGN_OR_RETURN(const Json* const ops, List(profile, "ops", "profile"));
  std::vector<MeasuredWork>& works = run.works.emplace();
  for (size_t i = 0; i < ops->size(); ++i) {
    const Json& op = ops->at(i);
    const std::string where = absl::StrCat("profile.ops[", i, "]");
    CLEAVE_ASSIGN_OR_RETURN(const std::string name, Text(op, "op", where));
    CLEAVE_ASSIGN_OR_RETURN(const double seconds, Number(op, "seconds", where));
    const std::string own = LayerNameOf(name).place;
    const auto known = std::find_if(works.begin(), works.end(), [&](const MeasuredWork& w) { return w.op == own; });
    if (known == works.end()) {
      works.push_back({.op = own, .place = TextOr(op, "place"), .seconds = Seconds(seconds)});
    } else {
      known->seconds += Seconds(seconds);
    }
  }
  return run;
}

absl::StatusOr<PredictedWork> WorkOf(const Json& kernel, const std::string& where) {
  PredictedWork work{.limit = TextOr(kernel, "limit"), .what = TextOr(kernel, "what")};
  CLEAVE_ASSIGN_OR_RETURN(work.kind, Text(kernel, "kind", where));
  CLEAVE_ASSIGN_OR_RETURN(work.phase, Text(kernel, "phase", where));
  CLEAVE_ASSIGN_OR_RETURN(const double runs, Number(kernel, "runs", where));
  CLEAVE_ASSIGN_OR_RETURN(const double seconds, Number(kernel, "seconds", where));
  work.seconds = Seconds(runs * seconds);
  CLEAVE_ASSIGN_OR_RETURN(const Json* const ops, List(kernel, "ops", where));
  for (const Json& op : *ops) {
    if (!op.is_string()) return JsonError(absl::StrCat(where, ".ops"), "expected names");
    work.ops.push_back(LayerNameOf(op.get<std::string>()).place);
  }
  return work;
}

absl::StatusOr<PredictedStep> StepOf(const Json& document) {
  PredictedStep step;
  CLEAVE_RETURN_IF_ERROR(NeedField(document, "model", "plan"));
  step.model = TextOr(document.at("model"), "name");
  step.file = TextOr(document.at("model"), "file");
  CLEAVE_RETURN_IF_ERROR(NeedField(document, "cluster", "plan"));
  step.cluster = TextOr(document.at("cluster"), "name");
  CLEAVE_ASSIGN_OR_RETURN(const Json* const axes, List(document, "mesh", "plan"));
  for (const Json& axis : *axes) {
    CLEAVE_ASSIGN_OR_RETURN(const double size, Number(axis, "size", "mesh"));
    const double ranks = static_cast<double>(step.ranks) * size;
    if (!(size >= 1 && ranks <= kMostRanks))
      return JsonError("mesh", "expected sizes of at least 1 and 2^20 ranks at most");
    step.ranks = static_cast<int64_t>(ranks);
  }
  CLEAVE_RETURN_IF_ERROR(NeedField(document, "predicted", "plan"));
  const Json& predicted = document.at("predicted");
  CLEAVE_ASSIGN_OR_RETURN(const double seconds, Number(predicted, "step_seconds", "predicted"));
  step.step = Seconds(seconds);
  CLEAVE_RETURN_IF_ERROR(NeedField(predicted, "memory_per_rank", "predicted"));
  step.peak = BytesOr(predicted.at("memory_per_rank"), "peak");
  step.host = BytesOr(predicted.at("memory_per_rank"), "host");
  if (!predicted.contains("kernels")) {
    return JsonError("predicted", "`kernels` is missing: an older version wrote the plan; compile the model again");
  }
  CLEAVE_ASSIGN_OR_RETURN(const Json* const kernels, List(predicted, "kernels", "predicted"));
  for (size_t i = 0; i < kernels->size(); ++i) {
    const Json& kernel = kernels->at(i);
    CLEAVE_ASSIGN_OR_RETURN(PredictedWork work, WorkOf(kernel, absl::StrCat("predicted.kernels[", i, "]")));
    // Rank 0 is of the first part of a pipeline.
    if (NumberOr(kernel, "part") == 0) step.works.push_back(std::move(work));
  }
  return step;
}

}  // namespace

absl::StatusOr<MeasuredRun> ReadRun(absl::string_view text) {
  CLEAVE_ASSIGN_OR_RETURN(const Json document, ParseStrictJson(text));
  absl::StatusOr<MeasuredRun> run = RunOf(document);
  return run.ok() ? run : WithPlace(run.status(), text);
}

absl::StatusOr<PredictedStep> ReadPrediction(absl::string_view text) {
  CLEAVE_ASSIGN_OR_RETURN(const Json document, ParseStrictJson(text));
  absl::StatusOr<PredictedStep> step = StepOf(document);
  return step.ok() ? step : WithPlace(step.status(), text);
}

}  // namespace cleave::tools
