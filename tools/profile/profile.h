// What a run measured, kernel by kernel, beside what its plan predicts.
//
//   CLEAVE_ASSIGN_OR_RETURN(const MeasuredRun run, ReadRun(run_json));
//   CLEAVE_ASSIGN_OR_RETURN(const PredictedStep plan, ReadPrediction(plan_json));
//   CLEAVE_ASSIGN_OR_RETURN(const Comparison comparison, Compare(run, plan));
//   std::cout << ComparisonText(comparison);
//
// Both are of rank 0, and times are those of one step.
#ifndef CLEAVE_TOOLS_PROFILE_PROFILE_H_
#define CLEAVE_TOOLS_PROFILE_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units/units.h"

namespace cleave::tools {

// An op of a profile. Those of equal layers are one.
struct MeasuredWork {
  std::string op;     // Its place (base/layer_names): "x.#.norm1.layer_norm"; empty: outside of all ops.
  std::string place;  // "mnist_mlp.model:7"
  Seconds seconds{0};
};

struct MeasuredRun {
  Seconds step{0};                // With a profile the mean of the steps that it measured, else the median.
  std::vector<Bytes> peak, host;  // By rank; none where run.json has none.
  std::optional<std::vector<MeasuredWork>> works;  // nullopt: the program was started without --profile.
};

// A kernel, collective or copy of a plan (the field `kernels` of docs/formats/plan.md).
struct PredictedWork {
  std::string kind, phase, limit, what;
  std::vector<std::string> ops;  // Places.
  Seconds seconds{0};            // Of all its runs in a step.
};

struct PredictedStep {
  std::string model, cluster;
  std::string file;  // Of the model, as the compiler was given it.
  int64_t ranks = 1;
  Seconds step{0};
  Bytes peak, host;
  std::vector<PredictedWork> works;  // Of rank 0.
};

// Kernels and the ops under whose names the program runs them. Several kernels where these share a name.
struct ComparedWork {
  std::string name;                      // Of the op that took longest.
  std::string place;                     // Of the same.
  std::string kind, phase, limit, what;  // Of the kernel with the longest predicted time.
  size_t ops = 0;
  Seconds predicted{0}, measured{0};

  double Ratio() const { return measured.value() / predicted.value(); }
};

struct Comparison {
  MeasuredRun run;
  PredictedStep plan;
  std::vector<ComparedWork> works;        // In the order of the program.
  std::vector<MeasuredWork> unpredicted;  // The longest first.
  std::vector<PredictedWork> unmeasured;  // The longest first; what takes no time is left out.
};

// All works of a kind.
struct KindSum {
  std::string kind;
  size_t works = 0;
  Seconds predicted{0}, measured{0};
  double median_ratio = 0;
};

// From the text of a run.json or a plan.json. InvalidArgument where it is none, or was written by a version that had
// no profile or no kernels in it.
absl::StatusOr<MeasuredRun> ReadRun(absl::string_view text);
absl::StatusOr<PredictedStep> ReadPrediction(absl::string_view text);

// InvalidArgument where the run is one of another plan: of another number of ranks, or most of what it measured has
// names that the plan does not have.
absl::StatusOr<Comparison> Compare(MeasuredRun run, PredictedStep plan);

// The kinds with their sums, the longest measured first.
std::vector<KindSum> KindsOf(const Comparison& comparison);

// As many as text and page show.
inline constexpr size_t kMostSurprises = 10;

// The works whose predicted and measured times differ most, in seconds; at most `most`.
std::vector<const ComparedWork*> SurprisesOf(const Comparison& comparison, size_t most);

Bytes MostOf(const std::vector<Bytes>& bytes);

// Of at most 100 columns, and for programs (docs/profiling.md).
std::string ComparisonText(const Comparison& comparison);
std::string ComparisonJson(const Comparison& comparison);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PROFILE_PROFILE_H_
