#include "runtime/train/report.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "runtime/error/progress_line.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

// Only rank 0 sees that a disk is full, as the others train on: it ends the job.
void CheckWritten(bool is_written, const std::string& where) {
  if (!is_written) {
    Die(ExitCode::kEnvironment, Format("cannot write to %s: %s", where.c_str(), std::strerror(errno)));
  }
}

JsonObject PerRank(const std::vector<int64_t>& values) {
  JsonObject ranks;
  for (size_t rank = 0; rank < values.size(); ++rank) ranks.AddInteger(std::to_string(rank), values[rank]);
  return ranks;
}

// The statistics of values by their names.
JsonObject WatchedJson(const NamedStatistics& watched) {
  JsonObject values;
  for (const auto& [name, statistics] : watched) {
    JsonObject value;
    value.Add("norm", std::sqrt(statistics.squares));
    value.Add("min", statistics.least);
    value.Add("max", statistics.most);
    value.Add("zeros", statistics.zeros / statistics.count);
    values.Add(name, value);
  }
  return values;
}

// Each row of a table: its numbers, of a single dimension all of them.
std::vector<std::vector<double>> RowsOf(const Table& table) {
  const auto columns = static_cast<size_t>(table.of.shape.back());
  std::vector<std::vector<double>> rows;
  for (size_t i = 0; i < table.values.size(); ++i) {
    if (i % columns == 0) rows.emplace_back();
    rows.back().push_back(static_cast<double>(table.values[i]));
  }
  return rows;
}

JsonArray TableJson(const Table& table) {
  JsonArray all;
  for (const std::vector<double>& row : RowsOf(table)) {
    JsonArray numbers;
    for (const double number : row) numbers.AddNumber(number);
    if (table.of.shape.size() == 1) return numbers;
    all.Add(numbers);
  }
  return all;
}

// A line for each row, in columns of one width.
std::vector<std::string> TableLines(const Table& table) {
  size_t width = 0;
  for (const float value : table.values) width = std::max(width, Format("%.6g", static_cast<double>(value)).size());
  std::vector<std::string> lines;
  for (const std::vector<double>& row : RowsOf(table)) {
    std::string& line = lines.emplace_back(" ");
    for (const double number : row) line += Format(" %*.6g", static_cast<int>(width), number);
  }
  return lines;
}

JsonObject ValuesJson(const NamedValues& values, const std::vector<Table>& tables = {}) {
  JsonObject all;
  for (const auto& [name, value] : values) all.Add(name, value);
  for (const Table& table : tables) all.Add(table.of.name, TableJson(table));
  return all;
}

// "8 s", "3 min 05 s", "2 h 07 min", "4 d 03 h".
std::string TimeLeft(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  const auto pair = [](int64_t large, const char* unit, int64_t small, const char* small_unit) {
    return Format("%" PRId64 " %s %02" PRId64 " %s", large, unit, small, small_unit);
  };
  if (whole < 60) return Format("%" PRId64 " s", whole);
  if (whole < 3600) return pair(whole / 60, "min", whole % 60, "s");
  if (whole < 86400) return pair(whole / 3600, "h", whole % 3600 / 60, "min");
  return pair(whole / 86400, "d", whole % 86400 / 3600, "h");
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(middle), values.end());
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle] + *std::max_element(values.begin(), values.begin() + static_cast<int64_t>(middle))) / 2;
}

Result<Report> Report::Open(const std::string& folder, Outputs outputs, LogFormat format) {
  Report report;
  report.folder_ = folder;
  report.outputs_ = outputs;
  report.format_ = format;
  if (!outputs.files) return report;
  report.progress_ = outputs.lines && WantsProgressLine();
  Result<FolderLock> lock = FolderLock::Take(folder);
  if (!lock.ok()) return lock.error();
  report.locks_.push_back(std::move(lock.value()));
  std::remove((folder + "/run.json").c_str());
  report.metrics_ = std::fopen((folder + "/metrics.jsonl").c_str(), "a+");
  if (report.metrics_ == nullptr) return FolderError(folder);
  if (!outputs.curves.empty()) {
    Result<EventFile> curves = EventFile::Open(outputs.curves);
    if (!curves.ok()) return curves.error();
    report.curves_.emplace(std::move(curves.value()));
  }
  return report;
}

Report::Report(Report&& other) noexcept
    : folder_(std::move(other.folder_)),
      outputs_(other.outputs_),
      format_(other.format_),
      progress_(other.progress_),
      locks_(std::move(other.locks_)),
      metrics_(std::exchange(other.metrics_, nullptr)),
      curves_(std::move(other.curves_)) {}

Report::~Report() {
  if (metrics_ != nullptr) std::fclose(metrics_);
}

void Report::Begin(int64_t done) {
  if (metrics_ == nullptr) return;
  if (curves_.has_value()) CheckWritten(curves_->BeginAt(done + 1), "`" + curves_->path() + "` (rank 0)");
  const std::string path = folder_ + "/metrics.jsonl";
  const std::string where = "`" + path + "` (rank 0)";
  if (done == 0) {
    metrics_ = std::freopen(path.c_str(), "w", metrics_);
    return CheckWritten(metrics_ != nullptr, where);
  }
  // Lines are in the order of steps, and the last one may be cut.
  constexpr char kStep[] = "{\"step\":";
  std::rewind(metrics_);
  long end = 0;
  char* line = nullptr;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, metrics_)) > 0; end += length) {
    const bool is_step = std::strncmp(line, kStep, sizeof kStep - 1) == 0 && line[length - 1] == '\n';
    if (!is_step || std::strtoll(line + sizeof kStep - 1, nullptr, 10) > done) break;
  }
  std::free(line);
  CheckWritten(ftruncate(fileno(metrics_), end) == 0 && std::fseek(metrics_, 0, SEEK_END) == 0, where);
}

std::optional<Error> Report::Take(const std::string& folder) {
  struct stat own = {};
  struct stat other = {};
  const bool are_there = stat(folder_.c_str(), &own) == 0 && stat(folder.c_str(), &other) == 0;
  if (are_there && own.st_dev == other.st_dev && own.st_ino == other.st_ino) return std::nullopt;
  Result<FolderLock> lock = FolderLock::Take(folder);
  if (!lock.ok()) return lock.error();
  locks_.push_back(std::move(lock.value()));
  return std::nullopt;
}

void Report::Line(const std::string& text) {
  if (!outputs_.lines) return;
  EndProgressLine();
  std::printf("%s\n", text.c_str());
  CheckWritten(std::fflush(stdout) == 0, "standard output");
}

Report::Pace Report::PaceOf(const StepRecord& record) const {
  Pace pace;
  pace.seconds = seconds_since_line_ / static_cast<double>(steps_since_line_);
  pace.samples = static_cast<double>(record.samples) / pace.seconds;
  if (outputs_.tokens_per_sample > 0) pace.tokens = pace.samples * static_cast<double>(outputs_.tokens_per_sample);
  if (outputs_.seconds_at_peak > 0) pace.mfu = outputs_.seconds_at_peak / pace.seconds;
  return pace;
}

std::string Report::StepLine(const StepRecord& record, const Pace& pace, bool is_progress) const {
  if (format_ == LogFormat::kMindSpore) {
    return Format("epoch: %" PRId64 " step: %" PRId64 ", loss is %.6f", record.epoch + 1, record.step_of_epoch,
                  static_cast<double>(record.loss));
  }
  std::string text = Format("epoch %" PRId64 " step %" PRId64 "/%" PRId64 " | loss %.6f", record.epoch, record.step,
                            record.total_steps, static_cast<double>(record.loss));
  const double left = pace.seconds * static_cast<double>(record.total_steps - record.step);
  constexpr double kMost = 1000 * 86400;  // Training that somebody will stop.
  const std::string eta = left > 0 && left < kMost ? " | ETA " + TimeLeft(left) : "";
  if (is_progress) text += eta;
  for (const auto& [name, value] : record.metrics) text += Format(" | %s %.4f", name.c_str(), value);
  text += Format(" | %.2f ms | %.0f samples/s", pace.seconds * 1e3, pace.samples);
  if (pace.tokens.has_value()) text += Format(" | %.0f tokens/s", *pace.tokens);
  if (pace.mfu.has_value()) text += Format(" | MFU %.1f %%", 100 * *pace.mfu);
  return is_progress ? text : text + eta;
}

void Report::WriteMetrics(const StepRecord& record, const std::optional<Pace>& pace) {
  JsonObject line;
  line.AddInteger("step", record.step);
  line.AddInteger("epoch", record.epoch);
  line.Add("loss", static_cast<double>(record.loss));
  line.Add("seconds", record.seconds);
  line.AddInteger("samples", record.samples);
  for (const auto& [name, value] : record.metrics) line.Add(name, value);
  if (record.parameter_norm.has_value()) line.Add("parameter_norm", *record.parameter_norm);
  if (record.gradient_norm.has_value()) line.Add("gradient_norm", *record.gradient_norm);
  if (record.learning_rate.has_value()) line.Add("learning_rate", *record.learning_rate);
  if (pace.has_value() && pace->tokens.has_value()) line.Add("tokens_per_second", *pace->tokens);
  if (pace.has_value() && pace->mfu.has_value()) line.Add("mfu", *pace->mfu);
  if (!record.watched.empty()) line.Add("watch", WatchedJson(record.watched));
  WriteLine(line);
}

void Report::WriteCurves(const StepRecord& record, const std::optional<Pace>& pace) {
  NamedValues values = {{"train/loss", static_cast<double>(record.loss)}};
  for (const auto& [name, value] : record.metrics) values.emplace_back("train/" + name, value);
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value.has_value()) values.emplace_back(name, *value);
  };
  add("train/parameter_norm", record.parameter_norm);
  add("train/gradient_norm", record.gradient_norm);
  add("train/learning_rate", record.learning_rate);
  if (pace.has_value()) {
    add("speed/samples_per_second", pace->samples);
    add("speed/tokens_per_second", pace->tokens);
    add("speed/mfu", pace->mfu);
  }
  for (const auto& [name, statistics] : record.watched) {
    values.emplace_back("watch/" + name + "/norm", std::sqrt(statistics.squares));
  }
  AddCurves(record.step, values);
}

void Report::EvaluationCurves(int64_t step, const EvaluationRecord& record) {
  NamedValues values;
  for (const auto& [name, value] : record.values) {
    values.emplace_back(std::string(DataPartName(record.part)) + "/" + name, value);
  }
  if (!values.empty()) AddCurves(step, values);
}

void Report::AddCurves(int64_t step, const NamedValues& values) {
  if (curves_.has_value()) CheckWritten(curves_->Add(step, values), "`" + curves_->path() + "` (rank 0)");
}

void Report::WriteEvaluation(int64_t step, int64_t epoch, const EvaluationRecord& record) {
  if (!outputs_.files) return;
  JsonObject line;
  line.AddInteger("step", step);
  line.AddInteger("epoch", epoch);
  line.Add("seconds", record.seconds);
  line.AddInteger("samples", record.samples);
  line.Add(DataPartName(record.part), ValuesJson(record.values, record.tables));
  WriteLine(line);
}

void Report::WriteLine(const JsonObject& line) {
  const bool is_written = std::fprintf(metrics_, "%s\n", line.Text().c_str()) > 0;
  CheckWritten(std::fflush(metrics_) == 0 && is_written, "`" + folder_ + "/metrics.jsonl` (rank 0)");
}

void Report::Step(const StepRecord& record, bool logged) {
  seconds_since_line_ += record.seconds;
  ++steps_since_line_;
  const Pace pace = PaceOf(record);
  if (outputs_.files) WriteMetrics(record, logged ? std::optional(pace) : std::nullopt);
  if (curves_.has_value()) WriteCurves(record, logged ? std::optional(pace) : std::nullopt);
  const bool shows_progress = progress_ && Now() - last_progress_ > 0.1;
  if (!logged && !shows_progress) return;
  const std::string text = StepLine(record, pace, /*is_progress=*/!logged);
  if (logged) {
    Line(text);
    seconds_since_line_ = 0;
    steps_since_line_ = 0;
  } else {
    CheckWritten(ShowProgressLine(text), "standard output");
  }
  last_progress_ = Now();
}

void Report::Evaluation(const std::string& where, const EvaluationRecord& record, const std::string& notes) {
  std::string text = where;
  for (const auto& [name, value] : record.values) {
    text += Format("%s%s %s %.4f", text.empty() ? "" : " | ", DataPartName(record.part), name.c_str(), value);
  }
  if (!record.values.empty()) Line(text + notes);
  for (const Table& table : record.tables) {
    Line(Format("%s %s", DataPartName(record.part), table.of.name.c_str()));
    for (const std::string& line : TableLines(table)) Line(line);
  }
}

void Report::Summary(const RunRecord& run, int64_t batch) {
  const double steps = static_cast<double>(std::max<size_t>(1, run.step_seconds.size()));
  const double median = Median(run.step_seconds);
  const std::string communication =
      run.communication_is_timed ? Format(", mean communication %.2f ms", run.communication_seconds / steps * 1e3) : "";
  Line(Format("done: %zu step%s in %.2f s | median step %.2f ms%s | %.0f samples/s", run.step_seconds.size(),
              run.step_seconds.size() == 1 ? "" : "s", run.seconds, median * 1e3, communication.c_str(),
              median > 0 ? static_cast<double>(batch) / median : 0));
}

void Report::Profile(const RunRecord& run) {
  if (!run.profile.has_value() || !outputs_.files) return;
  for (const std::string& line : ProfileLines(*run.profile)) Line(line);
}

std::string RunJson(const RunRecord& run) {
  const double steps = static_cast<double>(std::max<size_t>(1, run.step_seconds.size()));
  const double total = std::accumulate(run.step_seconds.begin(), run.step_seconds.end(), 0.0);
  JsonObject collectives;
  for (int kind = 0; kind < kCollectiveKinds; ++kind) {
    const Traffic& traffic = run.traffic[static_cast<size_t>(kind)];
    if (traffic.count == 0) continue;
    JsonObject collective;
    collective.AddInteger("count", traffic.count);
    collective.AddInteger("bytes", traffic.bytes);
    collective.AddWhole("sent_bytes", traffic.sent_bytes);
    collective.Add("seconds", traffic.seconds);
    collectives.Add(CollectiveKindName(static_cast<CollectiveKind>(kind)), collective);
  }
  JsonObject sent_bytes;
  for (size_t rank = 0; rank < run.sent_bytes.size(); ++rank) {
    sent_bytes.AddWhole(std::to_string(rank), run.sent_bytes[rank]);
  }
  JsonObject all;
  all.AddInteger("exit", run.exit);
  all.AddInteger("steps", static_cast<int64_t>(run.step_seconds.size()));
  if (run.resumed_after > 0) all.AddInteger("resumed_after", run.resumed_after);
  if (run.stopped_after > 0) all.AddInteger("stopped_after", run.stopped_after);
  if (!run.numbers.empty()) all.Add("numbers", ValuesJson(run.numbers));
  all.Add("seconds", run.seconds);
  all.Add("median_step_seconds", Median(run.step_seconds));
  all.Add("compute_seconds", (total - run.communication_seconds) / steps);
  all.Add("communication_seconds", run.communication_seconds / steps);
  all.Add("peak_memory_bytes", PerRank(run.peak_memory_bytes));
  const std::vector<int64_t>& host = run.host_memory_bytes;
  if (std::any_of(host.begin(), host.end(), [](int64_t bytes) { return bytes > 0; })) {
    all.Add("host_memory_bytes", PerRank(host));
  }
  all.Add("data_bytes", PerRank(run.data_bytes));
  all.Add("sent_bytes", sent_bytes);
  all.Add("collectives", collectives);
  if (const GraphNodes& nodes = run.graph_nodes; nodes.All() > 0) {
    JsonObject kinds;
    kinds.AddInteger("kernels", nodes.kernels);
    kinds.AddInteger("copies", nodes.copies);
    kinds.AddInteger("fills", nodes.fills);
    kinds.AddInteger("others", nodes.others);
    all.Add("graph_nodes", kinds);
  }
  if (!run.fallbacks.empty()) {
    JsonObject fallbacks;
    for (const auto& [kind, calls] : run.fallbacks) fallbacks.AddInteger(kind, calls);
    all.Add("fallbacks", fallbacks);
  }
  if (run.profile.has_value()) all.Add("profile", ProfileJson(*run.profile));
  if (run.generation.has_value()) {
    JsonObject generation;
    generation.AddInteger("prompt_tokens", run.generation->prompt_tokens);
    generation.AddInteger("tokens", run.generation->tokens);
    generation.Add("seconds", run.generation->seconds);
    generation.AddInteger("computed_prompt_tokens", run.generation->computed_prompt_tokens);
    generation.Add("prompt_seconds", run.generation->prompt_seconds);
    all.Add("generation", generation);
  }
  if (run.best.has_value() && run.best->step > 0) {
    JsonObject best;
    best.Add("criterion", run.best->criterion);
    best.Add("value", run.best->value);
    best.AddInteger("step", run.best->step);
    all.Add("best", best);
  }
  const auto add = [&](const char* name, const NamedValues& values, const std::vector<Table>& tables) {
    if (!values.empty() || !tables.empty()) all.Add(name, ValuesJson(values, tables));
  };
  add("validation", run.validation, run.validation_tables);
  add("test", run.test, run.test_tables);
  return all.Text() + "\n";
}

std::optional<Error> Report::WriteRun(const RunRecord& run) {
  if (!outputs_.files) return std::nullopt;
  const std::string path = folder_ + "/run.json";
  const std::string unfinished = path + ".tmp";
  const std::string text = RunJson(run);
  std::FILE* file = std::fopen(unfinished.c_str(), "w");
  if (file == nullptr) return FolderError(folder_);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    const Error error = FolderError(folder_);
    std::remove(unfinished.c_str());
    return error;
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
