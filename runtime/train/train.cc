// Reading guide: Train joins the job and opens everything; Run::Steps is the loop; Run::Explain says why a loss is not
// finite.
#include "runtime/train/train.h"

#include <signal.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/comm/run_ranks.h"
#include "runtime/device/memory.h"
#include "runtime/device/workspace.h"
#include "runtime/launch/launch.h"
#include "runtime/train/feed.h"
#include "runtime/train/initial_values.h"
#include "runtime/train/options.h"
#include "runtime/train/output_files.h"
#include "runtime/train/parameter_norm.h"
#include "runtime/train/phase.h"
#include "runtime/train/redistributions.h"
#include "runtime/train/report.h"
#include "runtime/train/saving.h"

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

class Run {
 public:
  // `done`: how many steps the training that goes on had done.
  Run(const TrainingSettings& settings, const Options& options, const Context& context, uint64_t& step, int64_t done,
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

  // What the program is there for. Returns an Error, the same on all ranks, when it fails.
  std::optional<Error> Whole() {
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

  // Trains and tests. Returns an Error when a value is not finite.
  std::optional<Error> Steps() {
    const Length length = TrainingLength(settings_, options_, batches_.steps_per_epoch());
    const int64_t log_every = options_.log_every.value_or(settings_.log_every);
    const int64_t of_epoch = batches_.steps_per_epoch();
    start_ = Now();
    if (done_ >= length.steps) {
      report_.Line(Format("all %" PRId64 " steps are done: more are trained with a larger `--steps` or `--epochs`",
                          length.steps));
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

  // Computes the metrics of the test part.
  std::optional<Error> Evaluate() {
    const double start = Now();
    const int64_t samples = Test(std::nullopt);
    if (samples == 0) return Error{ExitCode::kInput, "the data has no test part of a batch"};
    record_.seconds = Now() - start;
    report_.Line(Format("%" PRId64 " samples in %.2f s | %.0f samples/s", samples, record_.seconds,
                        static_cast<double>(samples) / record_.seconds));
    return std::nullopt;
  }

  // Writes what the program looks at, of all samples, into files. Rank 0 has them whole.
  std::optional<Error> Predict() {
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

  // Gathers what every rank measured.
  RunRecord Finish(ExitCode code) {
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
    const std::string mine =
        Format("%" PRId64 " %" PRId64 " %" PRId64 " %.17g", memory, on_host, batches_.bytes(), sent);
    for (const std::string& text : comm_.GatherText(mine)) {
      char* end = nullptr;
      record_.peak_memory_bytes.push_back(std::strtoll(text.c_str(), &end, 10));
      record_.host_memory_bytes.push_back(std::strtoll(end, &end, 10));
      record_.data_bytes.push_back(std::strtoll(end, &end, 10));
      record_.sent_bytes.push_back(std::strtod(end, nullptr));
    }
    return record_;
  }

 private:
  std::optional<Error> Step(int64_t step, int64_t total, bool logged) {
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

  // Data is made ready outside of the time that training takes.
  template <typename Prepare>
  void PrepareData(Prepare prepare) {
    const double before = Now();
    watch_.Start("reading the data", 0);
    prepare();
    start_ += Now() - before;
  }

  // Shows what the program has looked at. Returns the seconds that this took.
  double Show() {
    const double start = Now();
    observer_.Show();
    return Now() - start;
  }

  StepScalars Scalars(int64_t step) const {
    return {step, LearningRate(settings_.schedule, step), BiasCorrection(settings_.beta1, step),
            BiasCorrection(settings_.beta2, step)};
  }

  // Mean of the metrics over the test part. Without metrics, and for a program without a sample mask, only whole
  // batches count. Returns the number of samples.
  int64_t Test(std::optional<int64_t> epoch) {
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

  // Computes the step again in checking mode and names the first value that is not finite, over all ranks.
  Error Explain(int64_t step, float loss) {
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

  // An Error if a parameter is not finite. After the last update no later loss would show it.
  std::optional<Error> CheckParameters(int64_t steps) {
    watch_.BeginChecking(OnHost);
    for (const ParameterView& view : program_.Parameters()) CheckParameter(view);
    const std::optional<Watch::NotFinite> found = watch_.EndChecking();
    const std::string where = FirstOverRanks(found);
    if (where == kNothingFound) return std::nullopt;
    return Error{ExitCode::kFailed, Format("after the update of step %" PRId64 " %s", steps, where.c_str())};
  }

  void CheckParameter(const ParameterView& view) {
    watch_.Check(view.name, view.line, view.values,
                 ElementCount(RegionOf(view.layout, comm_.mesh(), comm_.rank()).size));
  }

  std::string FirstOverRanks(const std::optional<Watch::NotFinite>& found) {
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

  static constexpr char kNothingFound[] = "computed again, every value was finite";

  const TrainingSettings& settings_;
  const Options& options_;
  Comm& comm_;
  Watch& watch_;
  Observer& observer_;
  uint64_t& step_;  // Context::step.
  const int64_t done_;
  TrainingProgram& program_;
  Batches& batches_;
  Report& report_;
  Saving& saving_;
  RedistributionLog& redistributions_;
  Feed feed_;
  const ParameterNorm parameter_norm_{comm_, program_.Parameters()};
  const bool recordable_ = program_.IsRecordable() && comm_.IsRecordable();
  Phase gradients_{"the gradients", recordable_, comm_, watch_};
  Phase with_metrics_{"the metrics and gradients", recordable_, comm_, watch_};
  Phase update_{"the update", recordable_, comm_, watch_};
  Phase test_{"a test batch", recordable_, comm_, watch_};
  bool masks_test_ = false;
  double start_ = 0;  // When training began, moved by what is not part of it.
  RunRecord record_;
};

// The model's data, or those that --data names.
Result<DataSpec> ChooseData(const TrainingSettings& settings, const Options& options) {
  DataSpec spec = settings.data;
  spec.only_tests = settings.mode != Mode::kTrain;
  if (!options.data.has_value()) return spec;
  if (!spec.files.empty()) {
    for (InputFile& file : spec.files) file.path = *options.data + "/" + file.path.substr(file.path.rfind('/') + 1);
    return spec;
  }
  if (spec.path.empty()) return Error{ExitCode::kUsage, "`--data` is given, and the program makes its data itself"};
  spec.path = *options.data;
  return spec;
}

std::string Headline(const TrainingSettings& settings, const Batches& batches, uint64_t seed) {
  const int64_t ranks = MeshSize(settings.mesh);
  std::string mesh;
  for (const MeshAxis& axis : settings.mesh) {
    mesh += Format("%s%s=%" PRId64, mesh.empty() ? " (" : ", ", axis.name.c_str(), axis.size);
  }
  return Format("%s on %" PRId64 " rank%s%s%s | %" PRId64 " training samples, %" PRId64 " test | batch %" PRId64
                ", %" PRId64 " step%s per epoch | seed %" PRIu64,
                settings.model_name, ranks, ranks == 1 ? "" : "s", mesh.c_str(), mesh.empty() ? "" : ")",
                batches.train_samples(), batches.test_samples(), batches.batch(), batches.steps_per_epoch(),
                batches.steps_per_epoch() == 1 ? "" : "s", seed);
}

// What the exit code of a process that ends at a signal is.
constexpr ExitCode kStopped = static_cast<ExitCode>(128 + SIGTERM);

std::string ScheduleText(const Schedule& schedule) {
  switch (schedule.form) {
    case Schedule::Form::kConstant:
      return Format("%g", schedule.rate);
    case Schedule::Form::kLinearWarmup:
      return Format("linear_warmup(%g, %" PRId64 ")", schedule.rate, schedule.warmup_steps);
    case Schedule::Form::kCosine:
      return Format("cosine(%g, %" PRId64 ", %" PRId64 ", %g)", schedule.rate, schedule.total_steps,
                    schedule.warmup_steps, schedule.final_rate);
  }
  return "";
}

SavingOptions SavingOf(const TrainingSettings& settings, const Options& options) {
  return {.folder = options.checkpoints.value_or(options.out == "." ? "checkpoints" : options.out + "/checkpoints"),
          .every = options.checkpoint_every.value_or(settings.checkpoint_every),
          .keep = options.keep.value_or(settings.keep_checkpoints)};
}

// What a checkpoint says of this training, and may be another when it goes on.
CheckpointFacts FactsOf(const TrainingSettings& settings, const Batches& batches, uint64_t seed) {
  CheckpointFacts facts = {.model = settings.model_name, .step = 0, .seed = seed};
  facts.settings = {{"batch", std::to_string(batches.batch())},
                    {"learning rate", ScheduleText(settings.schedule)},
                    {"seed", std::to_string(seed)},
                    {"shuffle", settings.data.shuffle ? "true" : "false"},
                    {"training samples", std::to_string(batches.train_samples())}};
  return facts;
}

// That training goes on, and which settings are others.
std::string ResumedText(const CheckpointFacts& then, const CheckpointFacts& facts) {
  std::string text = Format("goes on after step %" PRId64, then.step);
  for (const auto& [name, value] : facts.settings) {
    for (const auto& [old_name, old] : then.settings) {
      if (old_name == name && old != value)
        text += Format("; %s was %s, is %s", name.c_str(), old.c_str(), value.c_str());
    }
  }
  return text;
}

// Everything that happens after the job has been joined. Returns an Error that all ranks agree on. `folder`: of the
// program.
std::optional<Error> TrainJoined(const TrainingSettings& settings, const Options& options, CreateProgram create,
                                 const std::string& folder, Comm& comm, Watch& watch) {
  SavingOptions saves = SavingOf(settings, options);
  const std::string from = !options.resume.has_value() || options.resume->empty() ? saves.folder : *options.resume;
  std::optional<uint64_t> seed_then;
  if (options.resume.has_value()) seed_then = ResumedSeed(comm, from);
  const bool trains = settings.mode == Mode::kTrain;
  if (!trains && (options.resume.has_value() || saves.every > 0)) {
    return Error{ExitCode::kUsage, "this program does not train: there is nothing to save or to go on with"};
  }
  const uint64_t seed = options.seed.value_or(seed_then.value_or(settings.seed));
  Result<DataSpec> data = ChooseData(settings, options);
  if (!data.ok()) return data.error();
  const bool is_first = comm.rank() == 0;
  // Ranks that share a process share its standard output.
  const bool prints = is_first || (options.log_all_ranks && comm.ranks_in_this_process() == 1);
  Result<Report> report =
      Report::Open(options.out, {.files = is_first, .lines = prints && !options.quiet}, settings.log);
  if (std::optional<Error> error = Agree(comm, report.ok() ? std::nullopt : std::optional<Error>(report.error())))
    return error;

  const std::vector<int64_t> coordinates = Coordinates(settings.mesh, comm.rank());
  uint64_t step = 0;
  Observer observer(comm);
  const Context context = {comm.rank(), settings.mesh, coordinates, seed, comm, watch, step, observer};
  const std::unique_ptr<TrainingProgram> program = create(context);
  watch.Start("reading the data", 0);
  Result<std::unique_ptr<Batches>> batches = Batches::Open(data.value(), program->Inputs(), seed);
  if (std::optional<Error> error = Agree(comm, batches.ok() ? std::nullopt : std::optional<Error>(batches.error())))
    return error;
  watch.Start("initial values", 0);
  program->Initialize();
  if (auto error = ReadParameterFiles(comm, settings.parameter_files, program->Parameters())) return error;
  const std::string params = options.params.value_or(settings.params);
  const bool are_all_there = trains || program->Parameters().size() == settings.parameter_files.size();
  if (params.empty() && !are_all_there) {
    return Error{ExitCode::kUsage,
                 "this program does not train: `--params PATH` names a checkpoint or a file of weights"};
  }
  if (!params.empty() && !options.resume.has_value()) {
    const Result<std::vector<std::string>> lines =
        ReadStoredParameters(comm, params, program->Parameters(), /*needs_all=*/!are_all_there);
    if (!lines.ok()) return lines.error();
    for (const std::string& line : lines.value()) report.value().Line(line);
  }
  const std::vector<StateTensor> state = StateOf(program->Parameters());
  const CheckpointFacts facts = FactsOf(settings, *batches.value(), seed);
  int64_t done = 0;
  if (options.resume.has_value()) {
    watch.Start("reading a checkpoint", 0);
    const Result<CheckpointFacts> resumed = Resume(comm, from, state);
    if (!resumed.ok()) return resumed.error();
    done = resumed.value().step;
    if (from == saves.folder) saves.last_good = done;
    report.value().Line(ResumedText(resumed.value(), facts));
  }
  if (saves.every > 0) {
    const std::optional<int64_t> resumed_at = options.resume.has_value() ? std::optional(done) : std::nullopt;
    if (std::optional<Error> error = ClaimFolder(comm, report.value(), saves.folder, resumed_at)) return error;
  }
  report.value().Begin(done);
  Saving saving(comm, watch, report.value(), saves, facts, state);
  watch.Finish();
  report.value().Line(Headline(settings, *batches.value(), seed));
  if (!batches.value()->note().empty()) report.value().Line(batches.value()->note());

  RedistributionLog redistributions(comm, watch, folder);
  Run run(settings, options, context, step, done, *program, *batches.value(), report.value(), saving, redistributions);
  std::optional<Error> error = run.Whole();
  if (!error.has_value() && saving.stops()) {
    error = Error{kStopped, "SIGTERM ended the training; `--resume` goes on from what was saved"};
  }
  const RunRecord record = run.Finish(error.has_value() ? error->code : ExitCode::kDone);
  if (!error.has_value() && trains) report.value().Summary(record, batches.value()->batch());
  const std::optional<Error> unwritten = Agree(comm, report.value().WriteRun(record));
  return error.has_value() ? error : unwritten;
}

// The whole work of a rank; returns its exit code.
int TrainRank(const TrainingSettings& settings, const Result<Options>& options, CreateProgram create,
              const std::string& folder) {
  Watch watch(settings.model_file);
  Result<std::unique_ptr<Comm>> joined = Join({settings.mesh, settings.only_rank}, watch);
  if (!joined.ok()) return static_cast<int>(joined.error().code);
  std::unique_ptr<Comm> comm = std::move(joined.value());
  // Under mpirun ranks must leave together: the first rank that ends with an error makes mpirun end the others.
  if (!options.ok()) return Leave(std::move(comm), options.error());
  if (std::optional<Error> error = TrainJoined(settings, options.value(), create, folder, *comm, watch))
    return Leave(std::move(comm), *error);
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

int Train(int argc, char** argv, const TrainingSettings& settings, CreateProgram create) {
  const Result<Options> options = ParseOptions(argc, argv);
  if (options.ok() && options.value().help) {
    if (RankFromEnvironment().value_or(0) == 0) std::printf("%s\n", Usage(argv[0]).c_str());
    return static_cast<int>(ExitCode::kDone);
  }
  if (!options.ok() && !RankFromEnvironment().has_value()) {
    std::fprintf(stderr, "error: %s\n", options.error().message.c_str());
    return static_cast<int>(options.error().code);
  }
  const std::string path = argv[0];
  const std::string folder = path.find('/') == std::string::npos ? "." : path.substr(0, path.rfind('/'));
  return RunRanks(settings.mesh, [&] { return TrainRank(settings, options, create, folder); });
}

}  // namespace cleave::runtime
