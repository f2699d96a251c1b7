// Reading guide: Steps is the training loop; Explain says why a loss is not finite.
#include "runtime/train/run.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/device/memory.h"
#include "runtime/device/workspace.h"
#include "runtime/launch/launch.h"
#include "runtime/train/output_files.h"

namespace cleave::runtime {
namespace {

// Looks at the bits, so that -ffast-math cannot assume the answer.
bool IsFinite(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & 0x7F800000u) != 0x7F800000u;
}

// "0.5", "-inf", "nan" (whose sign has no meaning).
std::string NumberText(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & 0x7FFFFFFFu) > 0x7F800000u ? "nan" : Format("%g", static_cast<double>(value));
}

// How long to train.
struct Length {
  int64_t steps = 0;
  bool cut_short = false;  // --steps ends it in the middle of an epoch, so there is no test at the end.
};

Length TrainingLength(const TrainingSettings& settings, const Options& options, int64_t steps_per_epoch) {
  Length length;
  const int64_t epochs = options.epochs.value_or(settings.epochs);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  length.steps = epochs > kMost / steps_per_epoch ? kMost : epochs * steps_per_epoch;
  if (options.steps.has_value()) {
    // Without --epochs the flag alone decides, even beyond what the model says.
    length.steps = options.epochs.has_value() ? std::min(length.steps, *options.steps) : *options.steps;
    length.cut_short = length.steps % steps_per_epoch != 0;
  } else if (settings.steps > 0 && !options.epochs.has_value()) {
    length.steps = std::min(length.steps, settings.steps);
  }
  return length;
}

double CommunicationSeconds(const Comm& comm) {
  double seconds = 0;
  for (const Traffic& traffic : comm.traffic()) seconds += traffic.seconds;
  return seconds;
}

constexpr char kNothingFound[] = "computed again, every value was finite";

}  // namespace

Run::Run(const TrainingSettings& settings, const Options& options, const Context& context, uint64_t& step, int64_t done,
         TrainingProgram& program, Batches& batches, Report& report, Saving& saving, RedistributionLog& redistributions)
    : settings_(settings),
      options_(options),
      comm_(context.comm),
      watch_(context.watch),
      observer_(context.observer),
      step_(step),
      done_(done),
      program_(program),
      batches_(batches),
      report_(report),
      saving_(saving),
      redistributions_(redistributions),
      feed_(program.Inputs(), batches) {
  for (const ModelInput& input : program_.Inputs()) masks_test_ |= input.name == kSampleMask;
}

std::optional<Error> Run::Whole() {
  switch (settings_.mode) {
    case Mode::kTrain:
      return Steps();
    case Mode::kEvaluate:
      return Evaluate();
    case Mode::kPredict:
      return Predict();
  }
  return std::nullopt;
}

std::optional<Error> Run::Steps() {
  const Length length = TrainingLength(settings_, options_, batches_.steps_per_epoch());
  const int64_t log_every = options_.log_every.value_or(settings_.log_every);
  const int64_t of_epoch = batches_.steps_per_epoch();
  start_ = Now();
  if (done_ >= length.steps) {
    report_.Line(
        Format("all %" PRId64 " steps are done: more are trained with a larger `--steps` or `--epochs`", length.steps));
    Test((done_ - 1) / of_epoch);
  }
  for (int64_t step = done_; step < length.steps && !saving_.stops(); ++step) {
    if (step % of_epoch == 0 || step == done_) {
      PrepareData([&] { batches_.PrepareTraining(step, std::min(of_epoch - step % of_epoch, length.steps - step)); });
    }
    const bool last = step + 1 == length.steps;
    const bool logged = log_every > 0 && ((step + 1) % log_every == 0 || last);
    if (std::optional<Error> error = Step(step, length.steps, logged)) return error;
    const bool epoch_ends = (step + 1) % of_epoch == 0;
    if (epoch_ends || (last && !length.cut_short)) Test(step / of_epoch);
    if (last || saving_.IsDue(step + 1)) {
      // What is saved is finite.
      if (std::optional<Error> error = CheckParameters(step + 1)) return error;
    }
    if (std::optional<Error> error = saving_.AfterStep(step + 1, last)) return error;
    record_.seconds = Now() - start_;
  }
  return std::nullopt;
}

std::optional<Error> Run::Evaluate() {
  const double start = Now();
  const int64_t samples = Test(std::nullopt);
  if (samples == 0) return Error{ExitCode::kInput, "the data has no test part of a batch"};
  record_.seconds = Now() - start;
  report_.Line(Format("%" PRId64 " samples in %.2f s | %.0f samples/s", samples, record_.seconds,
                      static_cast<double>(samples) / record_.seconds));
  return std::nullopt;
}

std::optional<Error> Run::Predict() {
  const int64_t count = batches_.test_batches();
  OutputFiles files(options_.out);
  std::optional<Error> error;
  const double start = Now();
  PrepareData([&] { batches_.PrepareTest(count); });
  observer_.Begin(Occasion::kTest);
  program_.Prepare({.step = 0});
  for (int64_t index = 0; index < count && !error.has_value(); ++index) {
    const int64_t samples = feed_.Test(index);
    test_.Run([&] { program_.RunBatch(/*metrics=*/false, /*gradients=*/false); });
    observer_.Show();
    error = files.Append(observer_.TakeOutputs(), samples);
    // One message for some batches.
    constexpr int64_t kBetween = 16;
    if ((index + 1) % kBetween == 0 || index + 1 == count) error = Agree(comm_, error);
  }
  if (!error.has_value()) error = Agree(comm_, files.Finish());
  if (error.has_value()) return error;
  record_.seconds = Now() - start;
  for (const std::string& line : files.Lines()) report_.Line(line);
  report_.Line(Format("%" PRId64 " samples in %.2f s | %.0f samples/s", batches_.test_samples(), record_.seconds,
                      static_cast<double>(batches_.test_samples()) / record_.seconds));
  return std::nullopt;
}

RunRecord Run::Finish(ExitCode code) {
  double sent = 0;
  for (const Traffic& traffic : comm_.traffic()) sent += traffic.sent_bytes;
  const int64_t copy = saving_.bytes();
  const int64_t memory = program_.ArenaBytes() + WorkspaceBytes().peak + (TensorsAreOnHost() ? copy : 0);
  const int64_t on_host = program_.HostBytes() + (TensorsAreOnHost() ? 0 : copy);
  record_.exit = static_cast<int>(code);
  record_.resumed_after = done_;
  record_.traffic = comm_.traffic();
  // The host cannot measure how long a GPU communicates, because it only asks for the work.
  record_.communication_is_timed = TensorsAreOnHost();
  if (!record_.communication_is_timed) {
    record_.communication_seconds = 0;
    for (Traffic& traffic : record_.traffic) traffic.seconds = 0;
  }
  const std::string mine = Format("%" PRId64 " %" PRId64 " %" PRId64 " %.17g", memory, on_host, batches_.bytes(), sent);
  for (const std::string& text : comm_.GatherText(mine)) {
    char* end = nullptr;
    record_.peak_memory_bytes.push_back(std::strtoll(text.c_str(), &end, 10));
    record_.host_memory_bytes.push_back(std::strtoll(end, &end, 10));
    record_.data_bytes.push_back(std::strtoll(end, &end, 10));
    record_.sent_bytes.push_back(std::strtod(end, nullptr));
  }
  return record_;
}

std::optional<Error> Run::Step(int64_t step, int64_t total, bool logged) {
  const double start = Now();
  const double communicated = CommunicationSeconds(comm_);
  const StepScalars scalars = Scalars(step + 1);
  step_ = static_cast<uint64_t>(step) + 1;
  feed_.Training(step);
  observer_.Begin(Occasion::kTraining, logged);
  program_.Prepare(scalars);
  (logged ? with_metrics_ : gradients_).Run([&] { program_.RunBatch(logged, /*gradients=*/true); });
  const bool test_follows = (step + 1) % batches_.steps_per_epoch() == 0;
  if (step + 1 < total && !test_follows) feed_.ReadAhead(step + 1);
  const float loss = program_.Loss();
  double shown = Show();
  if (!IsFinite(loss)) return Explain(step + 1, loss);
  StepRecord record;
  for (size_t i = 0; logged && i < settings_.metrics.size(); ++i) {
    record.metrics.emplace_back(settings_.metrics[i], program_.Metric(static_cast<int>(i)));
  }
  // Of the parameters with which the loss was computed. Ranks send each other their shares only when the step is
  // over.
  const double before = Now();
  const double squares = logged ? parameter_norm_.Squares() : 0;
  shown += Now() - before;
  update_.Run([&] { program_.Update(scalars); });
  shown += Show();
  record.watched = observer_.TakeWatched();
  redistributions_.Print();

  record.step = step + 1;
  record.total_steps = total;
  record.epoch = step / batches_.steps_per_epoch();
  record.step_of_epoch = step % batches_.steps_per_epoch() + 1;
  record.loss = loss;
  record.seconds = Now() - start - shown;
  if (logged) record.parameter_norm = parameter_norm_.NormOf(squares);
  record.samples = batches_.batch();
  record_.step_seconds.push_back(record.seconds);
  const size_t steps = record_.step_seconds.size();
  const bool is_power_of_two = (steps & (steps - 1)) == 0;  // The median takes time.
  if (is_power_of_two) FitTimeout(watch_, Median(record_.step_seconds));
  record_.communication_seconds += CommunicationSeconds(comm_) - communicated;
  report_.Step(record, logged);
  // A parameter that the loss does not depend on, or not yet, shows here.
  if (logged && !IsFinite(static_cast<float>(*record.parameter_norm))) return CheckParameters(step + 1);
  return std::nullopt;
}

template <typename Prepare>
void Run::PrepareData(Prepare prepare) {
  const double before = Now();
  watch_.Start("reading the data", 0);
  prepare();
  start_ += Now() - before;
}

double Run::Show() {
  const double start = Now();
  observer_.Show();
  return Now() - start;
}

StepScalars Run::Scalars(int64_t step) const {
  return {step, LearningRate(settings_.schedule, step), BiasCorrection(settings_.beta1, step),
          BiasCorrection(settings_.beta2, step)};
}

int64_t Run::Test(std::optional<int64_t> epoch) {
  const bool has_metrics = !settings_.metrics.empty();
  const bool whole_only = !has_metrics || !masks_test_;
  const int64_t count = whole_only ? batches_.test_samples() / batches_.batch() : batches_.test_batches();
  if (count == 0) return 0;
  PrepareData([&] { batches_.PrepareTest(count); });
  NamedValues results;
  for (const std::string& name : settings_.metrics) results.emplace_back(name, 0.0);
  if (!has_metrics) results.emplace_back("loss", 0.0);
  comm_.CountTraffic(false);
  step_ = 0;
  observer_.Begin(Occasion::kTest);
  program_.Prepare({.step = 0});
  int64_t samples = 0;
  for (int64_t index = 0; index < count; ++index) {
    samples += feed_.Test(index);
    test_.Run([&] { program_.RunBatch(/*metrics=*/true, /*gradients=*/false); });
    observer_.Show();
    // A metric is a mean over the whole batch in which padding counts as zero.
    const double weight = static_cast<double>(batches_.batch());
    for (size_t i = 0; i < settings_.metrics.size(); ++i)
      results[i].second += weight * program_.Metric(static_cast<int>(i));
    if (!has_metrics) results[0].second += weight * program_.Loss();
  }
  observer_.Begin(Occasion::kTraining);
  comm_.CountTraffic(true);
  for (auto& [name, value] : results) value /= static_cast<double>(samples);
  record_.test = results;
  report_.Test(epoch, results);
  return samples;
}

Error Run::Explain(int64_t step, float loss) {
  observer_.Begin(Occasion::kAgain);
  watch_.BeginChecking(OnHost);
  for (const ParameterView& view : program_.Parameters()) CheckParameter(view);
  for (const ModelInput& input : program_.Inputs()) {
    if (input.is_float) watch_.Check(input.name, 0, input.floats, ElementCount(input.region.size));
  }
  program_.RunBatch(/*metrics=*/false, /*gradients=*/true);
  const std::string where = FirstOverRanks(watch_.EndChecking());
  return {ExitCode::kFailed,
          Format("step %" PRId64 ": the loss is %s; %s", step, NumberText(loss).c_str(), where.c_str())};
}

std::optional<Error> Run::CheckParameters(int64_t steps) {
  watch_.BeginChecking(OnHost);
  for (const ParameterView& view : program_.Parameters()) CheckParameter(view);
  const std::optional<Watch::NotFinite> found = watch_.EndChecking();
  const std::string where = FirstOverRanks(found);
  if (where == kNothingFound) return std::nullopt;
  return Error{ExitCode::kFailed, Format("after the update of step %" PRId64 " %s", steps, where.c_str())};
}

void Run::CheckParameter(const ParameterView& view) {
  watch_.Check(view.name, view.line, view.values, ElementCount(RegionOf(view.layout, comm_.mesh(), comm_.rank()).size));
}

std::string Run::FirstOverRanks(const std::optional<Watch::NotFinite>& found) {
  std::string mine;
  if (found.has_value()) {
    const std::string line =
        found->line > 0 ? Format("%s:%d", settings_.model_file, found->line) : settings_.model_file;
    mine = Format(
        "%" PRId64 " the first value that is not finite is %s in `%s` (%s), element %" PRId64 " of rank %d's piece",
        found->order, NumberText(found->value).c_str(), found->op.c_str(), line.c_str(), found->index, comm_.rank());
  }
  std::string first = kNothingFound;
  int64_t first_order = std::numeric_limits<int64_t>::max();
  for (const std::string& text : comm_.GatherText(mine)) {
    const int64_t order = std::strtoll(text.c_str(), nullptr, 10);
    if (text.empty() || order >= first_order) continue;
    first_order = order;
    first = text.substr(text.find(' ') + 1);
  }
  return first;
}

}  // namespace cleave::runtime
