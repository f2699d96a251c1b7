// Reading guide: Train joins the job, TrainJoined opens everything, and run.h does the rest.
#include "runtime/train/train.h"

#include <signal.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "runtime/comm/run_ranks.h"
#include "runtime/launch/cores.h"
#include "runtime/launch/launch.h"
#include "runtime/train/best.h"
#include "runtime/train/evaluation.h"
#include "runtime/train/initial_values.h"
#include "runtime/train/measured.h"
#include "runtime/train/options.h"
#include "runtime/train/parameters.h"
#include "runtime/train/phase.h"
#include "runtime/train/profile.h"
#include "runtime/train/redistributions.h"
#include "runtime/train/report.h"
#include "runtime/train/resume.h"
#include "runtime/train/run.h"
#include "runtime/train/saving.h"

namespace cleave::runtime {
namespace {

// What has the same name in another folder.
std::string InFolder(const std::string& folder, const std::string& path) {
  return folder + "/" + path.substr(path.rfind('/') + 1);
}

// The files and folders of the same names in another folder. Returns whether there are any.
bool MoveFiles(DataSpec& spec, const std::string& folder) {
  const auto move = [&](std::string& path) { path = InFolder(folder, path); };
  bool moved = !spec.files.empty();
  for (InputFile& file : spec.files) move(file.path);
  for (DataSpec& part : spec.parts) {
    if (!part.path.empty()) move(part.path);
    moved |= MoveFiles(part, folder) || !part.path.empty();
  }
  return moved;
}

// The program's inputs. Files of their own are those of the same names in the folder of --data, but where that is the
// path of the samples.
std::vector<ModelInput> InputsOf(TrainingProgram& program, const TrainingSettings& settings, const Options& options) {
  std::vector<ModelInput> inputs = program.Inputs();
  const bool moves = options.data.has_value() && settings.data.path.empty();
  for (ModelInput& input : inputs) {
    if (moves && !input.has_samples()) input.file.path = InFolder(*options.data, input.file.path);
  }
  return inputs;
}

// The model's data, or those that --data names. Asked for by all ranks, of which perhaps only some have inputs with
// files of their own.
Result<DataSpec> ChooseData(const TrainingSettings& settings, const Options& options,
                            const std::vector<ModelInput>& inputs, Comm& comm) {
  DataSpec spec = settings.data;
  spec.only_tests = settings.mode != Mode::kTrain;
  if (!options.data.has_value()) return spec;
  if (MoveFiles(spec, *options.data)) return spec;
  if (!spec.path.empty()) {
    spec.path = *options.data;
    return spec;
  }
  const bool has_files =
      std::any_of(inputs.begin(), inputs.end(), [](const ModelInput& input) { return !input.has_samples(); });
  const std::vector<std::string> texts = comm.GatherText(has_files ? "1" : "0");
  if (std::find(texts.begin(), texts.end(), "1") != texts.end()) return spec;
  return Error{ExitCode::kUsage, "`--data` is given, and the program makes its data itself"};
}

std::string Headline(const TrainingSettings& settings, const Batches& batches, uint64_t seed) {
  const int64_t ranks = MeshSize(settings.mesh);
  std::string mesh;
  for (const MeshAxis& axis : settings.mesh) {
    mesh += Format("%s%s=%" PRId64, mesh.empty() ? " (" : ", ", axis.name.c_str(), axis.size);
  }
  const int64_t set_aside = batches.samples(DataPart::kValidation);
  const std::string validation = set_aside > 0 ? Format("%" PRId64 " validation, ", set_aside) : "";
  return Format("%s on %" PRId64 " rank%s%s%s | %" PRId64 " training samples, %s%" PRId64 " test | batch %" PRId64
                ", %" PRId64 " step%s per epoch | seed %" PRIu64,
                settings.model_name, ranks, ranks == 1 ? "" : "s", mesh.c_str(), mesh.empty() ? "" : ")",
                batches.train_samples(), validation.c_str(), batches.samples(DataPart::kTest), batches.batch(),
                batches.steps_per_epoch(), batches.steps_per_epoch() == 1 ? "" : "s", seed);
}

constexpr int64_t kMostRanksWithLines = 16;  // So many have the lines in their logs without being told to.
// What the exit code of a process that ends at a signal is.
constexpr ExitCode kStopped = static_cast<ExitCode>(128 + SIGTERM);

SavingOptions SavingOf(const TrainingSettings& settings, const Options& options) {
  return {.folder = options.checkpoints.value_or(options.out == "." ? "checkpoints" : options.out + "/checkpoints"),
          .every = options.checkpoint_every.value_or(settings.checkpoint_every),
          .keep = options.keep.value_or(settings.keep_checkpoints)};
}

// What of the state checkpoints have themselves.
std::vector<StateTensor> NotOf(const std::optional<CheckpointBase>& base, std::vector<StateTensor> state) {
  std::set<std::string> names;
  for (const StateTensor& tensor : base.has_value() ? base->tensors : std::vector<StateTensor>()) {
    names.insert(tensor.name);
  }
  const auto is_there = [&](const StateTensor& tensor) { return names.count(SourceOf(tensor).name) > 0; };
  state.erase(std::remove_if(state.begin(), state.end(), is_there), state.end());
  return state;
}

// The parameters that have no other first values: adapters begin anew, and so does what a file of its own has.
std::set<std::string> ExpectedOf(const TrainingSettings& settings, const std::vector<ParameterView>& parameters) {
  std::set<std::string> expected;
  for (const ParameterView& view : parameters) {
    if (settings.adapters.empty() || view.is_in_params) {
      expected.insert(SourceOf(StateTensor{view.name, view.layout, view.values, view.part}).name);
    }
  }
  for (const ParameterFile& file : settings.parameter_files) expected.erase(file.parameter);
  return expected;
}

// First values of all parameters, and of inputs that are read once. Returns what checkpoints need of them, or an Error
// that all ranks agree on.
Result<std::optional<CheckpointBase>> SetParameters(const TrainingSettings& settings, const Options& options,
                                                    Comm& comm, TrainingProgram& program,
                                                    const std::vector<ParameterView>& parameters, uint64_t seed,
                                                    Report& report) {
  program.Initialize();
  if (auto error = ReadInputsOnce(comm, InputsOf(program, settings, options))) return *error;
  if (auto error = ReadParameterFiles(comm, settings.parameter_files, parameters)) return *error;
  const std::string params = options.params.value_or(settings.params);
  const bool trains = settings.mode == Mode::kTrain;
  const bool are_all_there = trains || parameters.size() == settings.parameter_files.size();
  if (params.empty() && !are_all_there) {
    return Error{ExitCode::kUsage,
                 "this program does not train: `--params PATH` names a checkpoint or a file of weights"};
  }
  if (options.resume.has_value()) return std::optional<CheckpointBase>();
  if (params.empty()) {
    SetOtherParts(comm, seed, parameters, /*found=*/{});
    return std::optional<CheckpointBase>();
  }
  const bool is_partial = options.partial || (settings.params_are_partial && !options.params.has_value());
  const Fit fit = !are_all_there ? Fit::kHasAll : is_partial || !trains ? Fit::kPartial : Fit::kSame;
  Result<InitialValues> values = ReadStoredParameters(comm, params, parameters, fit, ExpectedOf(settings, parameters),
                                                      SavingOf(settings, options).folder);
  if (!values.ok()) return values.error();
  SetOtherParts(comm, seed, parameters, values.value().found);
  for (const std::string& line : values.value().lines) report.Line(line);
  return std::move(values.value().base);
}

// "20 tokens in 0.41 s | 48.8 tokens/s | prompts 312.5 tokens/s"
std::string SpeedText(const GenerationRecord& made) {
  const auto speed = [](int64_t tokens, double seconds) { return static_cast<double>(tokens) / seconds; };
  std::string text = Format("%" PRId64 " tokens in %.2f s", made.tokens, made.prompt_seconds + made.seconds);
  if (made.tokens > 0) text += Format(" | %.1f tokens/s", speed(made.tokens, made.seconds));
  if (made.computed_prompt_tokens > 0) {
    text += Format(" | prompts %.1f tokens/s", speed(made.computed_prompt_tokens, made.prompt_seconds));
  }
  return text;
}

// The same as TrainJoined for a program that generates.
std::optional<Error> GenerateJoined(const TrainingSettings& settings, const Options& options, CreateProgram create,
                                    const std::string& folder, Comm& comm, Watch& watch) {
  const bool is_first = comm.rank() == 0;
  Result<Report> report = Report::Open(options.out, {.files = is_first, .lines = is_first && !options.quiet});
  if (std::optional<Error> error = Agree(comm, report.ok() ? std::nullopt : std::optional<Error>(report.error())))
    return error;
  const std::vector<int64_t> coordinates = Coordinates(settings.mesh, comm.rank());
  const uint64_t step = 0;
  const uint64_t seed = options.seed.value_or(settings.seed);
  Observer observer(comm, settings.join_looks);
  const Context context = {comm.rank(), settings.mesh, coordinates, seed, comm, watch, step, observer};
  const std::unique_ptr<TrainingProgram> program = create(context);
  watch.Start("initial values", 0);
  const auto base = SetParameters(settings, options, comm, *program, program->Parameters(), seed, report.value());
  if (!base.ok()) return base.error();
  watch.Finish();
  report.value().Begin(0);
  RunRecord record;
  Profile profile(options.profile, settings.model_file, comm, watch);
  const bool recordable = program->IsRecordable() && comm.IsRecordable() && !profile.is_on();
  Phase phase("a step of generation", recordable, comm, watch);
  const auto compute = [&] {
    const double start = Now();
    profile.BeginStep();
    phase.Run([&] {
      program->RunBatch(/*metrics=*/false, /*gradients=*/false);
      program->Update({.step = 0});
    });
    profile.EndStep();
    record.step_seconds.push_back(Now() - start);
  };
  const Result<GenerationRecord> made =
      settings.generation.run({settings.generation, options.others, comm, watch, observer,
                               InputsOfSteps(InputsOf(*program, settings, options)), compute, seed});
  if (!made.ok()) return made.error();
  record.generation = made.value();
  record.seconds = made.value().prompt_seconds + made.value().seconds;
  record.profile = profile.Take();
  MeasureRun(comm, *program, ExitCode::kDone, 0, 0, record);
  report.value().Line(SpeedText(made.value()));
  report.value().Profile(record);
  if (auto error = profile.WriteTrace(folder, program->ArenaBytes())) return error;
  return Agree(comm, report.value().WriteRun(record));
}

// Everything that happens after the job has been joined. Returns an Error that all ranks agree on. `folder`: of the
// program.
std::optional<Error> TrainJoined(const TrainingSettings& settings, Options options, CreateProgram create,
                                 const std::string& folder, Comm& comm, Watch& watch) {
  SavingOptions saves = SavingOf(settings, options);
  if (options.auto_resume && HasCheckpoint(comm, saves.folder)) options.resume = "";
  const std::string from = !options.resume.has_value() || options.resume->empty() ? saves.folder : *options.resume;
  std::optional<uint64_t> seed_then;
  if (options.resume.has_value()) seed_then = ResumedSeed(comm, from);
  const bool trains = settings.mode == Mode::kTrain;
  if (!trains && (options.resume.has_value() || saves.every > 0)) {
    return Error{ExitCode::kUsage, "this program does not train: there is nothing to save or to go on with"};
  }
  const uint64_t seed = options.seed.value_or(seed_then.value_or(settings.seed));
  const bool is_first = comm.rank() == 0;
  // Ranks that share a process share its standard output.
  const bool has_log = std::getenv("CLEAVE_RANK_LOGS") != nullptr && MeshSize(settings.mesh) <= kMostRanksWithLines;
  const bool prints = is_first || (options.log_all_ranks.value_or(has_log) && comm.ranks_in_this_process() == 1);
  Result<Report> report = Report::Open(options.out,
                                       {.files = is_first,
                                        .lines = prints && !options.quiet,
                                        .curves = options.tensorboard,
                                        .tokens_per_sample = settings.tokens_per_sample,
                                        .seconds_at_peak = settings.seconds_at_peak},
                                       settings.log);
  if (std::optional<Error> error = Agree(comm, report.ok() ? std::nullopt : std::optional<Error>(report.error())))
    return error;

  const std::vector<int64_t> coordinates = Coordinates(settings.mesh, comm.rank());
  uint64_t step = 0;
  Observer observer(comm, settings.join_looks);
  const Context context = {comm.rank(), settings.mesh, coordinates, seed, comm, watch, step, observer};
  const std::unique_ptr<TrainingProgram> program = create(context);
  const std::vector<ModelInput> inputs = InputsOf(*program, settings, options);
  Result<DataSpec> data = ChooseData(settings, options, inputs, comm);
  if (!data.ok()) return data.error();
  data.value().shows_progress = is_first && !options.quiet;
  watch.Start("reading the data", 0);
  Result<std::unique_ptr<Batches>> batches = Batches::Open(data.value(), InputsOfSteps(inputs), seed);
  if (std::optional<Error> error = Agree(comm, batches.ok() ? std::nullopt : std::optional<Error>(batches.error())))
    return error;
  watch.Start("initial values", 0);
  const std::vector<ParameterView> parameters = ParametersOfAllStages(comm, settings.stage_axis, program->Parameters());
  Result<std::optional<CheckpointBase>> base =
      SetParameters(settings, options, comm, *program, parameters, seed, report.value());
  if (!base.ok()) return base.error();
  const std::vector<StateTensor> state = StateOf(parameters);
  if (auto error = CheckEvaluation(settings, options, saves.every > 0, *batches.value())) return error;
  CheckpointFacts facts = FactsOf(settings, *batches.value(), seed);
  Best best(settings.best, options.patience.value_or(settings.patience));
  int64_t done = 0;
  if (options.resume.has_value()) {
    watch.Start("reading a checkpoint", 0);
    const Result<CheckpointFacts> resumed = Resume(comm, from, state);
    if (!resumed.ok()) return resumed.error();
    const CheckpointFacts& then = resumed.value();
    done = then.step;
    base = BaseOfResumed(comm, then, parameters, saves.folder);
    if (!base.ok()) return base.error();
    if (from == saves.folder) saves.last_good = done;
    if (EvaluatesTheSame(then, facts)) best.GoOnFrom(then.best);
    const bool has_best = best.is_on() && best.so_far()->step > 0;
    report.value().Line(ResumedText(then, facts) + (has_best ? "; so far " + best.Text() : ""));
  }
  program->KeepCopies();
  if (saves.every > 0) {
    const std::optional<int64_t> resumed_at = options.resume.has_value() ? std::optional(done) : std::nullopt;
    if (auto error = ClaimFolder(comm, report.value(), saves.folder, resumed_at, best.so_far())) return error;
  }
  report.value().Begin(done);
  facts.base = std::move(base.value());
  Saving saving(comm, watch, report.value(), saves, facts, NotOf(facts.base, state));
  watch.Finish();
  report.value().Line(Headline(settings, *batches.value(), seed));
  if (!batches.value()->note().empty()) report.value().Line(batches.value()->note());

  RedistributionLog redistributions(comm, watch, folder);
  Run run(settings, options, context, step, done, best, *program, parameters, *batches.value(), report.value(), saving,
          redistributions);
  std::optional<Error> error = run.Whole();
  if (!error.has_value() && saving.stops()) {
    error = Error{kStopped, "SIGTERM ended the training; `--resume` goes on from what was saved"};
  }
  const RunRecord record = run.Finish(error.has_value() ? error->code : ExitCode::kDone);
  if (!error.has_value() && trains) report.value().Summary(record, batches.value()->batch());
  report.value().Profile(record);
  if (!error.has_value()) error = run.WriteTrace(folder);
  const std::optional<Error> unwritten = Agree(comm, report.value().WriteRun(record));
  return error.has_value() ? error : unwritten;
}

// The flags, after which `settings` has the numbers that they give.
Result<Options> ReadFlags(int argc, char** argv, TrainingSettings& settings) {
  Result<Options> options = ParseOptions(argc, argv, settings);
  if (!options.ok()) return options;
  if (std::optional<Error> error = SetNumbers(options.value(), settings)) return *error;
  return options;
}

// An Error where a rank was started with other flags than rank 0.
std::optional<Error> CheckSameFlags(Comm& comm, const Options& options) {
  const std::vector<std::string> flags = comm.GatherText(FlagsText(options));
  for (size_t rank = 1; rank < flags.size(); ++rank) {
    if (flags[rank] == flags[0]) continue;
    return Error{ExitCode::kUsage, Format("rank %zu was started with %s, and rank 0 with %s", rank, flags[rank].c_str(),
                                          flags[0].c_str())};
  }
  return std::nullopt;
}

// The whole work of a rank; returns its exit code.
int TrainRank(const TrainingSettings& settings, const Result<Options>& options, CreateProgram create,
              const std::string& folder) {
  Watch watch(settings.model_file);
  LaunchPlan plan = {settings.mesh, settings.only_rank};
  if (options.ok() && options.value().threads.has_value()) plan.threads = static_cast<int>(*options.value().threads);
  Result<std::unique_ptr<Comm>> joined = Join(plan, watch);
  if (!joined.ok()) return static_cast<int>(joined.error().code);
  std::unique_ptr<Comm> comm = std::move(joined.value());
  // Under mpirun ranks must leave together: the first rank that ends with an error makes mpirun end the others.
  if (!options.ok()) return Leave(std::move(comm), options.error());
  if (auto error = CheckSameFlags(*comm, options.value())) return Leave(std::move(comm), *error);
  const std::optional<Error> error = settings.mode == Mode::kGenerate
                                         ? GenerateJoined(settings, options.value(), create, folder, *comm, watch)
                                         : TrainJoined(settings, options.value(), create, folder, *comm, watch);
  if (error.has_value()) return Leave(std::move(comm), *error);
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

int Train(int argc, char** argv, const TrainingSettings& settings, CreateProgram create) {
  SpinBriefly(argv);
  TrainingSettings chosen = settings;
  const Result<Options> options = ReadFlags(argc, argv, chosen);
  if (options.ok() && options.value().help) {
    if (RankFromEnvironment().value_or(0) == 0) std::printf("%s\n", Usage(argv[0], settings).c_str());
    return static_cast<int>(ExitCode::kDone);
  }
  if (!options.ok() && !RankFromEnvironment().has_value()) {
    std::fprintf(stderr, "error: %s\n", options.error().message.c_str());
    return static_cast<int>(options.error().code);
  }
  const std::string path = argv[0];
  const std::string folder = path.find('/') == std::string::npos ? "." : path.substr(0, path.rfind('/'));
  return RunRanks(settings.mesh, [&] { return TrainRank(chosen, options, create, folder); });
}

}  // namespace cleave::runtime
