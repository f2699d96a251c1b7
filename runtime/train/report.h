// Private to runtime/train: what a program writes. Only rank 0's Report writes files.
#ifndef CLEAVE_RUNTIME_TRAIN_REPORT_H_
#define CLEAVE_RUNTIME_TRAIN_REPORT_H_

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/comm/comm.h"
#include "runtime/data/data.h"
#include "runtime/device/recorded.h"
#include "runtime/error/error.h"
#include "runtime/event_file/event_file.h"
#include "runtime/json/json_writer.h"
#include "runtime/lock/lock.h"
#include "runtime/train/profile.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

using NamedValues = std::vector<std::pair<std::string, double>>;

struct Table {
  NamedTable of;
  std::vector<float> values;  // Row by row.
};

struct StepRecord {
  int64_t step = 1;  // From 1, over all epochs.
  int64_t total_steps = 1;
  int64_t epoch = 0;
  int64_t step_of_epoch = 1;  // From 1.
  float loss = 0;
  // Of logged steps only.
  NamedValues metrics;
  std::optional<double> parameter_norm = {};
  std::optional<double> gradient_norm = {};  // Of the gradients of parameters that are watched.
  std::optional<double> learning_rate = {};
  NamedStatistics watched = {};
  double seconds = 0;
  int64_t samples = 0;
};

// An evaluation of samples that are not trained on.
struct EvaluationRecord {
  DataPart part = DataPart::kTest;
  int64_t samples = 0;      // 0: there is nothing to evaluate.
  NamedValues values = {};  // The loss and the metrics, or one of them.
  std::vector<Table> tables = {};
  double seconds = 0;
  double data_seconds = 0;  // Of these, in which the data was made ready.
};

struct RunRecord {
  int exit = 0;
  double seconds = 0;
  std::vector<double> step_seconds;
  double communication_seconds = 0;        // Of all steps; 0 where it cannot be separated from computation.
  bool communication_is_timed = true;      // Whether it can be separated: on a CPU.
  std::vector<int64_t> peak_memory_bytes;  // Per rank: the arena and the workspace.
  std::vector<int64_t> host_memory_bytes;  // Per rank: where values of a GPU wait.
  std::vector<int64_t> data_bytes;         // Per rank: the data set.
  std::vector<double> sent_bytes;          // Per rank.
  std::array<Traffic, kCollectiveKinds> traffic;
  std::map<std::string, int64_t> fallbacks;  // Of rank 0 (runtime/error/warning.h).
  GraphNodes graph_nodes;                    // Of rank 0: of a step that is replayed.
  NamedValues numbers;                       // That flags can change, as they were.
  NamedValues validation;                    // Of the last evaluation of these samples.
  NamedValues test;
  std::vector<Table> validation_tables;  // Beside these, as the next.
  std::vector<Table> test_tables;
  std::optional<BestSoFar> best;
  std::optional<GenerationRecord> generation;
  std::optional<ProfileRecord> profile;  // Of rank 0.
  int64_t resumed_after = 0;             // The step.
  int64_t stopped_after = 0;             // The step at which patience was over; 0: it was not.
};

double Median(std::vector<double> values);  // 0 for none.

class Report {
 public:
  // What a rank's Report does.
  struct Outputs {
    bool files = true;              // Whether it writes metrics.jsonl and run.json.
    bool lines = true;              // Whether it prints.
    std::string curves = {};        // To write files: the folder of one for TensorBoard; empty: none.
    int64_t tokens_per_sample = 0;  // TrainingSettings'.
    double seconds_at_peak = 0;
  };

  // To write files, makes `folder` if need be, takes it for this job, removes an older run.json from it and opens
  // metrics.jsonl, which stays as it is until Begin. An Error (exit code 5) when that fails. A later line that cannot
  // be written ends the job.
  static Result<Report> Open(const std::string& folder, Outputs outputs, LogFormat format = LogFormat::kCleave);
  Report(Report&& other) noexcept;
  Report(const Report&) = delete;
  ~Report();

  // Training begins, or goes on after step `done`: of an older metrics.jsonl the lines of steps up to it stay.
  void Begin(int64_t done);

  // Takes a further folder for this job, as Open takes its own. REQUIRES: it writes files.
  std::optional<Error> Take(const std::string& folder);

  void Line(const std::string& text);
  void Step(const StepRecord& record, bool logged);
  // A line, and the tables. `where`: "epoch 0", or empty for a program that only tests. `notes`: what is added to the
  // line.
  void Evaluation(const std::string& where, const EvaluationRecord& record, const std::string& notes = "");
  // A line in metrics.jsonl.
  void WriteEvaluation(int64_t step, int64_t epoch, const EvaluationRecord& record);
  // Points of the curves, for which there is an evaluation after `step`.
  void EvaluationCurves(int64_t step, const EvaluationRecord& record);
  void Summary(const RunRecord& run, int64_t batch);
  // The table, where there is a profile.
  void Profile(const RunRecord& run);

  // Writes run.json completely, or not at all.
  std::optional<Error> WriteRun(const RunRecord& run);

 private:
  Report() = default;
  // How fast steps have been since the last line.
  struct Pace {
    double seconds = 0;  // Of a step.
    double samples = 0;  // A second, as the next.
    std::optional<double> tokens = {};
    std::optional<double> mfu = {};  // The share of the peak of the chips.
  };

  Pace PaceOf(const StepRecord& record) const;
  // `is_progress`: what is left comes before what a narrow terminal may not show.
  std::string StepLine(const StepRecord& record, const Pace& pace, bool is_progress) const;
  void WriteMetrics(const StepRecord& record, const std::optional<Pace>& pace);
  void WriteCurves(const StepRecord& record, const std::optional<Pace>& pace);
  void AddCurves(int64_t step, const NamedValues& values);
  void WriteLine(const JsonObject& line);

  std::string folder_;
  Outputs outputs_;
  LogFormat format_ = LogFormat::kCleave;
  bool progress_ = false;  // A line that is overwritten, for terminals.
  double last_progress_ = 0;
  double seconds_since_line_ = 0;
  int64_t steps_since_line_ = 0;
  std::vector<FolderLock> locks_;
  std::FILE* metrics_ = nullptr;
  std::optional<EventFile> curves_;
};

// run.json's text.
std::string RunJson(const RunRecord& run);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_REPORT_H_
