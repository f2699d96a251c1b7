#include "runtime/train/evaluation.h"

#include <cinttypes>
#include <vector>

#include "runtime/launch/launch.h"

namespace cleave::runtime {
namespace {

constexpr char kPartOfLoss[] = "loss.";  // How the names of such metrics begin.

}  // namespace

bool AsksForEvaluation(const TrainingSettings& settings, const Options& options) {
  if (settings.mode != Mode::kTrain) return false;
  return options.evaluate_every.value_or(settings.evaluate_every) > 0 || settings.data.validation > 0 ||
         !settings.best.measure.empty();
}

std::optional<Error> CheckEvaluation(const TrainingSettings& settings, const Options& options, bool saves,
                                     const Batches& batches) {
  if (settings.mode != Mode::kTrain) {
    if (!options.evaluate_every.has_value()) return std::nullopt;
    return Error{ExitCode::kUsage, "`--eval-every` is given, and this program does not train"};
  }
  if (!settings.best.measure.empty() && !saves) {
    return Error{ExitCode::kUsage,
                 "the checkpoint of the best evaluation is kept, so checkpoints are needed: `--checkpoint-every` must "
                 "not be 0"};
  }
  if (!AsksForEvaluation(settings, options)) return std::nullopt;
  const DataPart part = batches.evaluated();
  const int64_t samples = batches.samples(part);
  if (samples >= batches.batch()) return std::nullopt;
  if (samples == 0) {
    return Error{ExitCode::kInput, Format("there is nothing to evaluate: %s has no test part, and the model sets no "
                                          "samples aside (`validation = 0.1`)",
                                          settings.data.name)};
  }
  return Error{ExitCode::kInput, Format("there is too little to evaluate: %s has %" PRId64
                                        " %s samples, fewer than one batch of %" PRId64,
                                        settings.data.name, samples, DataPartName(part), batches.batch())};
}

Evaluation::Evaluation(const TrainingSettings& settings, const Context& context, uint64_t& step,
                       TrainingProgram& program, Batches& batches, Feed& feed, Profile& profile, bool is_recordable)
    : settings_(settings),
      comm_(context.comm),
      watch_(context.watch),
      observer_(context.observer),
      step_(step),
      program_(program),
      batches_(batches),
      feed_(feed),
      profile_(settings.mode == Mode::kTrain ? nullptr : &profile),
      phase_("a test batch", is_recordable, context.comm, context.watch) {
  for (const ModelInput& input : program_.Inputs()) has_mask_ |= input.name == kSampleMask;
  for (const NamedMetric& metric : settings_.metrics) {
    is_of_loss_.push_back(metric.name.rfind(kPartOfLoss, 0) == 0);
    has_metrics_ |= !is_of_loss_.back();
  }
  has_metrics_ |= !settings_.tables.empty();
}

EvaluationRecord Evaluation::Over(DataPart part, bool with_loss) {
  EvaluationRecord record;
  record.part = part;
  const int64_t whole = batches_.samples(part) / batches_.batch();
  const int64_t count = has_metrics_ && has_mask_ ? batches_.batches(part) : whole;
  if (count == 0) return record;
  const double start = Now();
  watch_.Start("reading the data", 0);
  batches_.PreparePart(part, count);
  record.data_seconds = Now() - start;
  double loss = 0;
  std::vector<double> metrics(settings_.metrics.size(), 0.0);
  comm_.CountTraffic(false);
  step_ = 0;
  observer_.Begin(Occasion::kTest);
  program_.Prepare({.step = 0});
  for (int64_t index = 0; index < count; ++index) {
    if (profile_ != nullptr) profile_->BeginStep();
    record.samples += feed_.OfPart(part, index);
    phase_.Run([&] { program_.RunBatch(/*metrics=*/true, /*gradients=*/false); });
    if (profile_ != nullptr) profile_->EndStep();
    observer_.Show();
    for (size_t i = 0; i < metrics.size(); ++i) {
      if (index >= whole && is_of_loss_[i]) continue;
      const double number = program_.Metric(static_cast<int>(i));
      const bool is_of_totals = settings_.metrics[i].average == Average::kOfTotals;
      // A mean is one over the whole batch, in which padding counts as zero.
      metrics[i] = is_of_totals ? number : metrics[i] + static_cast<double>(batches_.batch()) * number;
    }
    if (index < whole) loss += program_.Loss();
  }
  for (size_t i = 0; i < settings_.tables.size(); ++i) {
    record.tables.push_back({settings_.tables[i], program_.Table(static_cast<int>(i))});
  }
  observer_.Begin(Occasion::kTraining);
  comm_.CountTraffic(true);
  const bool has_loss = (with_loss || !has_metrics_) && whole > 0;
  if (has_loss) record.values.emplace_back(kLoss, loss / static_cast<double>(whole));
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (is_of_loss_[i] && !has_loss) continue;
    const bool is_of_totals = settings_.metrics[i].average == Average::kOfTotals;
    const int64_t samples = is_of_loss_[i] ? whole * batches_.batch() : record.samples;
    record.values.emplace_back(settings_.metrics[i].name,
                               is_of_totals ? metrics[i] : metrics[i] / static_cast<double>(samples));
  }
  record.seconds = Now() - start;
  return record;
}

}  // namespace cleave::runtime
