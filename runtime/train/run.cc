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
#include "runtime/launch/cores.h"
#include "runtime/launch/launch.h"
#include "runtime/train/measured.h"
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

// After how many steps training ends.
int64_t TrainingLength(const TrainingSettings& settings, const Options& options, int64_t steps_per_epoch) {
  const int64_t epochs = options.epochs.value_or(settings.epochs);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const int64_t length = epochs > kMost / steps_per_epoch ? kMost : epochs * steps_per_epoch;
  // Without --epochs the flag alone decides, even beyond what the model says.
  if (options.steps.has_value()) return options.epochs.has_value() ? std::min(length, *options.steps) : *options.steps;
  return settings.steps > 0 && !options.epochs.has_value() ? std::min(length, settings.steps) : length;
}

double CommunicationSeconds(const Comm& comm) {
  double seconds = 0;
  for (const Traffic& traffic : comm.traffic()) seconds += traffic.seconds;
  return seconds;
}

// Whether a thread beside those that compute reads: data that takes long, with a core of its own, which hosts of GPUs
// have. Called by all ranks; a stage of a pipeline may have inputs that others have not.
bool ReadsBeside(const Batches& batches, Comm& comm) {
  const std::vector<std::string> slow = comm.GatherText(batches.ReadsSlowly() ? "slow" : "");
  const bool is_slow = std::any_of(slow.begin(), slow.end(), [](const std::string& rank) { return !rank.empty(); });
  return is_slow && (!TensorsAreOnHost() || HasSpareCore(comm));
}

// Of the gradients of parameters that are watched; nullopt where there are none.
std::optional<double> GradientNorm(const NamedStatistics& watched, const std::vector<ParameterView>& parameters) {
  double squares = 0;
  bool has_some = false;
  for (const auto& [name, statistics] : watched) {
    for (const ParameterView& view : parameters) {
      if (name != view.name + ".grad") continue;
      squares += statistics.squares;
      has_some = true;
    }
  }
  return has_some ? std::optional(std::sqrt(squares)) : std::nullopt;
}

constexpr char kNothingFound[] = "computed again, every value was finite";

}  // namespace

Run::Run(const TrainingSettings& settings, const Options& options, const Context& context, uint64_t& step, int64_t done,
         Best& best, TrainingProgram& program, const std::vector<ParameterView>& parameters, Batches& batches,
         Report& report, Saving& saving, RedistributionLog& redistributions)
    : settings_(settings),
      options_(options),
      comm_(context.comm),
      watch_(context.watch),
      observer_(context.observer),
      step_(step),
      done_(done),
      best_(best),
      program_(program),
      batches_(batches),
      report_(report),
      saving_(saving),
      redistributions_(redistributions),
      feed_(InputsOfSteps(program.Inputs()), batches, ReadsBeside(batches, context.comm)),
      parameters_(parameters),
      profile_(options.profile, settings.model_file, context.comm, context.watch),
      evaluation_(settings, context, step, program, batches, feed_, profile_, recordable_),
      evaluate_every_(options.evaluate_every.value_or(settings.evaluate_every)),
      evaluates_loss_(AsksForEvaluation(settings, options)) {}

std::optional<Error> Run::Whole() {
  switch (settings_.mode) {
    case Mode::kTrain:
      return Steps();
    case Mode::kEvaluate:
      return Evaluate();
    case Mode::kPredict:
      return Predict();
    case Mode::kGenerate:
      break;  // Without Batches: runtime/train/train.cc.
  }
  return std::nullopt;
}

std::optional<Error> Run::Steps() {
  const int64_t length = TrainingLength(settings_, options_, batches_.steps_per_epoch());
  const int64_t log_every = options_.log_every.value_or(settings_.log_every);
  const int64_t of_epoch = batches_.steps_per_epoch();
  start_ = Now();
  const bool is_over = best_.patience_is_over();
  if (done_ >= length || is_over) {
    report_.Line(is_over ? Format("nothing is trained: %s, and %" PRId64 " evaluations after it were not better",
                                  best_.Text().c_str(), best_.so_far()->since)
                         : Format("all %" PRId64 " steps are done: more are trained with a larger `--steps` or "
                                  "`--epochs`",
                                  length));
    if (is_over) record_.stopped_after = done_;
    TestAtEnd(done_, length);
    return std::nullopt;
  }
  for (int64_t step = done_; step < length && !saving_.stops(); ++step) {
    if (step % of_epoch == 0 || step == done_) {
      PrepareData([&] { batches_.PrepareTraining(step, std::min(of_epoch - step % of_epoch, length - step)); });
    }
    Saving::StepEnd end = {.step = step + 1, .is_last = step + 1 == length};
    const bool logged = log_every > 0 && (end.step % log_every == 0 || end.is_last);
    if (std::optional<Error> error = Step(step, length, logged)) return error;
    just_evaluated_.reset();
    if (IsEvaluated(end.step)) end.is_best = EvaluateAfter(end.step, length);
    if (best_.patience_is_over()) {
      end.is_last = true;
      record_.stopped_after = end.step;
      report_.Line(Format("training stops after step %" PRId64 ": %s, and %" PRId64 " evaluations after it were not "
                          "better",
                          end.step, best_.Text().c_str(), best_.so_far()->since));
    }
    if (end.is_last) TestAtEnd(end.step, length);
    if (end.is_last || saving_.IsDue(end)) {
      // What is saved is finite.
      if (std::optional<Error> error = CheckParameters(end.step)) return error;
    }
    end.best = best_.so_far();
    if (std::optional<Error> error = saving_.AfterStep(end)) return error;
    record_.seconds = Now() - start_;
    if (end.is_last) break;
  }
  return std::nullopt;
}

std::optional<Error> Run::Evaluate() {
  const double start = Now();
  const EvaluationRecord measured = Measure(batches_.tested());
  if (measured.samples == 0) return Error{ExitCode::kInput, "the data has no test part of a batch"};
  report_.Evaluation("", measured);
  record_.seconds = Now() - start;
  report_.Line(Format("%" PRId64 " samples in %.2f s | %.0f samples/s", measured.samples, record_.seconds,
                      static_cast<double>(measured.samples) / record_.seconds));
  return std::nullopt;
}

std::optional<Error> Run::Predict() {
  const int64_t count = batches_.batches(DataPart::kTest);
  OutputFiles files(options_.out);
  std::optional<Error> error;
  const double start = Now();
  PrepareData([&] { batches_.PreparePart(DataPart::kTest, count); });
  observer_.Begin(Occasion::kTest);
  program_.Prepare({.step = 0});
  for (int64_t index = 0; index < count && !error.has_value(); ++index) {
    profile_.BeginStep();
    const int64_t samples = feed_.OfPart(DataPart::kTest, index);
    predict_.Run([&] { program_.RunBatch(/*metrics=*/false, /*gradients=*/false); });
    profile_.EndStep();
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
  const int64_t all = batches_.samples(DataPart::kTest);
  report_.Line(Format("%" PRId64 " samples in %.2f s | %.0f samples/s", all, record_.seconds,
                      static_cast<double>(all) / record_.seconds));
  return std::nullopt;
}

RunRecord Run::Finish(ExitCode code) {
  record_.resumed_after = done_;
  record_.best = best_.so_far();
  record_.profile = profile_.Take();
  record_.graph_nodes = gradients_.nodes().All() > 0 ? gradients_.nodes() : with_metrics_.nodes();
  record_.graph_nodes.Add(update_.nodes());
  for (const NamedNumber& number : settings_.numbers) record_.numbers.emplace_back(number.name, *number.place);
  MeasureRun(comm_, program_, code, saving_.bytes(), batches_.bytes(), record_);
  return record_;
}

std::optional<Error> Run::Step(int64_t step, int64_t total, bool logged) {
  const double start = Now();
  const double communicated = CommunicationSeconds(comm_);
  const StepScalars scalars = Scalars(step + 1);
  profile_.BeginStep();
  step_ = static_cast<uint64_t>(step) + 1;
  feed_.Training(step);
  if (step + 1 < total && !IsEvaluated(step + 1)) feed_.BeginAhead(step + 1);
  observer_.Begin(Occasion::kTraining, logged);
  program_.Prepare(scalars);
  (logged ? with_metrics_ : gradients_).Run([&] { program_.RunBatch(logged, /*gradients=*/true); });
  feed_.EndAhead();
  const float loss = program_.Loss();
  double shown = Show();
  if (!IsFinite(loss)) return Explain(step + 1, loss);
  StepRecord record;
  for (size_t i = 0; logged && i < settings_.metrics.size(); ++i) {
    record.metrics.emplace_back(settings_.metrics[i].name, program_.Metric(static_cast<int>(i)));
  }
  for (size_t i = 0; logged && i < settings_.of_training.size(); ++i) {
    const auto index = static_cast<int>(settings_.metrics.size() + i);
    record.metrics.emplace_back(settings_.of_training[i], program_.Metric(index));
  }
  // Of the parameters with which the loss was computed. Ranks send each other their shares only when the step is
  // over.
  const double before = Now();
  const double squares = logged ? parameter_norm_.Squares() : 0;
  shown += Now() - before;
  update_.Run([&] { program_.Update(scalars); });
  profile_.EndStep();
  shown += Show();
  record.watched = observer_.TakeWatched();
  redistributions_.Print();

  record.step = step + 1;
  record.total_steps = total;
  record.epoch = step / batches_.steps_per_epoch();
  record.step_of_epoch = step % batches_.steps_per_epoch() + 1;
  record.loss = loss;
  record.seconds = Now() - start - shown;
  if (logged) {
    record.parameter_norm = parameter_norm_.NormOf(squares);
    record.gradient_norm = GradientNorm(record.watched, parameters_);
    record.learning_rate = scalars.learning_rate;
  }
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

StepScalars Run::Scalars(int64_t step) const { return {step, settings_.learning_rate(static_cast<double>(step))}; }

bool Run::IsEvaluated(int64_t steps) const {
  if (batches_.samples(batches_.evaluated()) == 0) return false;
  return steps % (evaluate_every_ > 0 ? evaluate_every_ : batches_.steps_per_epoch()) == 0;
}

bool Run::EvaluateAfter(int64_t steps, int64_t total) {
  const EvaluationRecord measured = Measure(batches_.evaluated());
  if (measured.samples == 0) return false;
  just_evaluated_ = measured.part;
  bool is_best = false;
  for (const auto& [name, value] : measured.values) {
    if (!best_.is_on() || name != best_.measure()) continue;
    // All ranks decide by the same number.
    is_best = best_.Take(steps, std::strtod(FromFirst(comm_, Format("%.17g", value)).c_str(), nullptr));
    break;
  }
  report_.Evaluation(Where(steps, total), measured, is_best ? " | best" : "");
  report_.EvaluationCurves(steps, measured);
  if (evaluates_loss_) report_.WriteEvaluation(steps, (steps - 1) / batches_.steps_per_epoch(), measured);
  return is_best;
}

void Run::TestAtEnd(int64_t steps, int64_t total) {
  if (just_evaluated_ == batches_.tested()) return;
  const EvaluationRecord measured = Measure(batches_.tested());
  if (measured.samples == 0) return;
  report_.Evaluation(Where(steps, total), measured);
  report_.EvaluationCurves(steps, measured);
}

EvaluationRecord Run::Measure(DataPart part) {
  EvaluationRecord measured = evaluation_.Over(part, evaluates_loss_);
  start_ += measured.data_seconds;
  if (measured.samples == 0) return measured;
  const bool is_test = part == DataPart::kTest;
  (is_test ? record_.test : record_.validation) = measured.values;
  (is_test ? record_.test_tables : record_.validation_tables) = measured.tables;
  return measured;
}

std::string Run::Where(int64_t steps, int64_t total) const {
  if (evaluate_every_ > 0) return Format("step %" PRId64 "/%" PRId64, steps, total);
  return Format("epoch %" PRId64, (steps - 1) / batches_.steps_per_epoch());
}

Error Run::Explain(int64_t step, float loss) {
  observer_.Begin(Occasion::kAgain);
  watch_.BeginChecking(OnHost);
  for (const ParameterView& view : parameters_) CheckParameter(view);
  for (const ModelInput& input : program_.Inputs()) {
    if (input.is_float) watch_.Check(input.name, 0, input.floats, ElementCount(input.region.size));
  }
  gradients_.Call([&] { program_.RunBatch(/*metrics=*/false, /*gradients=*/true); });
  const std::string where = FirstOverRanks(watch_.EndChecking());
  return {ExitCode::kNotFinite,
          Format("step %" PRId64 ": the loss is %s; %s", step, NumberText(loss).c_str(), where.c_str())};
}

std::optional<Error> Run::CheckParameters(int64_t steps) {
  watch_.BeginChecking(OnHost);
  for (const ParameterView& view : parameters_) CheckParameter(view);
  const std::optional<Watch::NotFinite> found = watch_.EndChecking();
  const std::string where = FirstOverRanks(found);
  if (where == kNothingFound) return std::nullopt;
  return Error{ExitCode::kNotFinite, Format("after the update of step %" PRId64 " %s", steps, where.c_str())};
}

void Run::CheckParameter(const ParameterView& view) {
  if (!IsHeldBy(view.layout, comm_.mesh(), comm_.rank())) return;
  if (view.values.type() != RealType::kF32) return;  // Nothing changes it.
  watch_.Check(view.name, view.line, view.values.As<float>(),
               ElementCount(RegionOf(view.layout, comm_.mesh(), comm_.rank()).size));
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
