// Reading guide: RunSweep is the order of what is done; each step is a method of Sweep, which returns an exit code
// where the sweep ends with it.
#include "tools/sweep/sweep.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "runtime/digest/digest.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "runtime/lock/lock.h"
#include "tools/driver/driver.h"
#include "tools/driver/launch.h"
#include "tools/driver/options.h"
#include "tools/driver/program_flags.h"
#include "tools/driver/report.h"
#include "tools/jobs/jobs.h"
#include "tools/sweep/grid.h"
#include "tools/sweep/results.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr char kRecord[] = "sweep.json";  // Of a run: by which program and flags it was made.
constexpr char kOutput[] = "output.txt";  // What it has printed.
constexpr char kResults[] = "results.jsonl";
constexpr int64_t kMostBytes = int64_t{256} << 20;

struct SweepOptions {
  int64_t jobs = 1;
  bool dry_run = false;
};

void AddSweepOptions(CLI::App& app, SweepOptions& options) {
  SetValue(app.add_option("--jobs", options.jobs,
                          "How many runs at a time; they share the cores, and of GPUs each gets its own (default: 1)"),
           "N")
      ->check(WholeNumber(1, 1024));
  app.add_flag("--dry-run", options.dry_run, "Check the settings and list the runs; compile and run nothing");
}

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string DurationText(double seconds) {
  return seconds < 120 ? absl::StrFormat("%.1f s", seconds) : absl::StrFormat("%.1f min", seconds / 60);
}

// What follows `--`: words that run.sh reads, which come first, and flags of the program.
struct RunWords {
  std::vector<std::string> of_script, of_program;
};

RunWords SplitWords(const std::vector<std::string>& words) {
  size_t end = WordsBeforeLaunch(words);
  if (words.size() > end + 1 && words[end] == "--launch") end += words[end + 1] == "rank-table" ? 3 : 2;
  const auto middle = words.begin() + static_cast<int64_t>(std::min(end, words.size()));
  return {{words.begin(), middle}, {middle, words.end()}};
}

bool HasFlag(const std::vector<std::string>& words, const std::string& flag) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == flag || absl::StartsWith(word, absl::StrCat(flag, "="));
  });
}

// The text of a small file; empty where there is none.
std::string TextOf(const fs::path& path) {
  return ReadFile(path.string(), {.what = "file", .most_bytes = kMostBytes}).value_or("");
}

// The last line that is not empty, of what a run has printed.
std::string LastLine(const std::string& text) {
  std::string last;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) last = std::string(line);
  return last;
}

class Sweep {
 public:
  Sweep(CompileOptions options, SweepOptions how, std::vector<Axis> axes)
      : options_(std::move(options)), how_(how), axes_(std::move(axes)), words_(SplitWords(options_.run_arguments)) {
    folder_ = !options_.out.empty()
                  ? fs::path(options_.out)
                  : fs::path("out") / absl::StrCat(fs::path(options_.model).stem().string(), "_sweep");
    for (const Axis& axis : axes_) {
      if (axis.values.size() > 1) names_.push_back(axis.name);
    }
  }

  std::optional<ExitCode> CheckSettings();
  void List() const;
  runtime::Result<runtime::FolderLock> Lock() const;
  std::optional<ExitCode> Compile();
  std::optional<ExitCode> CheckFlags() const;
  std::optional<ExitCode> Prepare();
  ExitCode RunAll();

 private:
  struct Program {
    std::vector<SettingValue> settings;
    int64_t ranks = 1;
    std::string digest = "";  // Of its source.
  };

  ExitCode Mistake(const std::string& message, const std::string& help = "", ExitCode code = ExitCode::kUsage) const {
    std::cerr << UsageErrorText(options_.error_format, message, help);
    return code;
  }
  void Say(const std::string& line) const {
    if (!options_.quiet) std::cout << line << std::endl;
  }
  std::string Launch() const { return LaunchWay(options_.launch, words_.of_script); }
  fs::path FolderOf(const std::string& program) const { return folder_ / "programs" / program; }
  std::string RecordOf(const SweepRun& run) const;
  std::vector<std::string> FlagsOf(const SweepRun& run) const;
  std::string StatusOf(size_t run, const RunResult& result) const;
  std::vector<TableRow> Rows() const;
  ExitCode Report(int signal) const;

  const CompileOptions options_;
  const SweepOptions how_;
  const std::vector<Axis> axes_;
  const RunWords words_;
  fs::path folder_;
  std::vector<std::string> names_;  // Of the settings that have several values.
  std::vector<SweepRun> runs_;
  std::map<std::string, Program> programs_;
  std::map<size_t, int> ended_;  // The exit codes of the runs that have ended now.
};

std::vector<std::string> Sweep::FlagsOf(const SweepRun& run) const {
  std::vector<std::string> flags = words_.of_program;
  flags.insert(flags.end(), run.flags.begin(), run.flags.end());
  return flags;
}

std::string Sweep::RecordOf(const SweepRun& run) const {
  runtime::JsonObject record;
  runtime::JsonArray flags;
  for (const std::string& flag : FlagsOf(run)) flags.Add(flag);
  record.Add("program", programs_.at(run.program).digest);
  record.Add("flags", flags);
  return absl::StrCat(record.Text(), "\n");
}

// Reads the model with each choice of settings, as far as no plan is needed for it.
std::optional<ExitCode> Sweep::CheckSettings() {
  for (const char* const flag : {"--out", "--checkpoints", "--resume", "--auto-resume", "--help"}) {
    if (HasFlag(words_.of_program, flag)) {
      return Mistake(absl::StrCat("`", flag, "` is no flag for the runs of a sweep"),
                     "each run has a folder of its own, and goes on from its own checkpoints");
    }
  }
  CompileOptions options = options_;
  options.overrides.clear();
  for (const Axis& axis : axes_) options.overrides.emplace_back(axis.name, axis.values[0]);
  cleave::tools::Report report;
  const std::optional<ProgramFlags> flags = FlagsOfProgram(options, MaybeNumbers::kLeftOut, report);
  if (!flags.has_value()) {
    std::cerr << ReportText(report, options_.error_format);
    return ExitCodeOf(report);
  }
  runs_ = RunsOf(axes_, [&](const std::string& name, const std::string& value) { return FlagOf(name, value, *flags); });
  for (const SweepRun& run : runs_) {
    for (const std::string& flag : run.flags) {
      if (flag == "--set" || !absl::StartsWith(flag, "--") || !HasFlag(words_.of_program, flag)) continue;
      return Mistake(absl::StrCat("`", flag, "` is given by `--set` and behind `--`"));
    }
    programs_[run.program].settings = run.compiled;
  }
  for (auto& [name, program] : programs_) {
    options.overrides = program.settings;
    cleave::tools::Report of_program;
    const std::optional<ProgramFlags> known = FlagsOfProgram(options, MaybeNumbers::kCompiled, of_program);
    if (known.has_value()) {
      program.ranks = known->devices;
      continue;
    }
    std::cerr << ReportText(of_program, options_.error_format);
    if (programs_.size() > 1) Mistake(absl::StrCat("the settings of `", name, "` are refused; nothing was run"));
    return ExitCodeOf(of_program);
  }
  return std::nullopt;
}

void Sweep::List() const {
  Say(absl::StrCat(Plural(static_cast<int64_t>(programs_.size()), "program"), ", ",
                   Plural(static_cast<int64_t>(runs_.size()), "run"), " in ", folder_.string()));
  for (const SweepRun& run : runs_) {
    Say(absl::StrCat("  ", run.name, ": program ", run.program, "; run.sh ", absl::StrJoin(words_.of_script, " "),
                     words_.of_script.empty() ? "" : " ", absl::StrJoin(FlagsOf(run), " ")));
  }
}

// Makes the folder. Of two sweeps in it the second is refused.
runtime::Result<runtime::FolderLock> Sweep::Lock() const {
  std::error_code ignored;
  fs::create_directories(folder_.parent_path(), ignored);
  return runtime::FolderLock::Take(folder_.string());
}

std::optional<ExitCode> Sweep::Compile() {
  for (auto& [name, program] : programs_) {
    CompileOptions options = options_;
    options.overrides = program.settings;
    options.out = FolderOf(name).string();
    options.run = options.build_only = options.quiet = true;
    options.run_arguments = words_.of_script;
    const Clock::time_point start = Clock::now();
    const ExitCode code = RunCompiler(options);
    if (code != ExitCode::kDone) {
      if (programs_.size() > 1) Mistake(absl::StrCat("the program `", name, "` could not be made; nothing was run"));
      return code;
    }
    const std::string source = TextOf(FolderOf(name) / (options.target == "cuda" ? "program.cu" : "program.cc"));
    program.digest = runtime::DigestOf(source.data(), static_cast<int64_t>(source.size()));
    Say(absl::StrCat("program ", name, ": compiled and built in ", DurationText(SecondsSince(start))));
  }
  return std::nullopt;
}

// Asks each program whether it takes the flags of its runs: with `--help` it reads them, and does nothing else.
std::optional<ExitCode> Sweep::CheckFlags() const {
  for (const SweepRun& run : runs_) {
    Job job{.folder = FolderOf(run.program).string(),
            .command = {absl::StrCat("./", ProgramOf(options_.target, Launch()))},
            .log = absl::StrCat(".sweep_check.", getpid())};
    const std::vector<std::string> flags = FlagsOf(run);
    job.command.insert(job.command.end(), flags.begin(), flags.end());
    job.command.emplace_back("--help");
    int exit_code = 0;
    const auto no_variables = [](size_t) { return std::vector<std::pair<std::string, std::string>>(); };
    const int signal = RunJobs({job}, 1, no_variables, [&](size_t, int code) { exit_code = code; });
    const fs::path log = fs::path(job.folder) / job.log;
    const std::string said = TextOf(log);
    std::error_code ignored;
    fs::remove(log, ignored);
    if (signal != 0) return static_cast<ExitCode>(128 + signal);
    if (exit_code == 0) continue;
    const std::vector<std::string> lines = absl::StrSplit(said, '\n');
    return Mistake(absl::StrCat("the run `", run.name, "` is refused: ", absl::StripPrefix(lines[0], "error: "),
                                "; nothing was run"),
                   "", exit_code == 2 ? ExitCode::kUsage : static_cast<ExitCode>(exit_code));
  }
  return std::nullopt;
}

// Makes the folders of runs, where they are not there; refuses those that are of something else.
std::optional<ExitCode> Sweep::Prepare() {
  for (const SweepRun& run : runs_) {
    const fs::path folder = folder_ / run.name;
    std::error_code error;
    if (!fs::exists(folder, error) || fs::is_empty(folder, error)) continue;
    const std::string found = TextOf(folder / kRecord);
    if (found == RecordOf(run)) continue;
    return Mistake(absl::StrCat("`", folder.string(), "` holds ",
                                found.empty() ? "files that no sweep has written"
                                              : "a run of another program or with other flags than this one"),
                   "name another folder with `--out`, or remove this one");
  }
  for (const SweepRun& run : runs_) {
    const fs::path folder = folder_ / run.name;
    std::error_code error;
    fs::create_directories(folder, error);
    for (const std::string& name :
         {std::string("run.sh"), ProgramOf(options_.target, Launch()), std::string("starter"), std::string("scheduler"),
          std::string("plan.json"), std::string("redistributions.txt")}) {
      if (!fs::exists(FolderOf(run.program) / name, error)) continue;
      const fs::path link = folder / name, target = fs::path("..") / "programs" / run.program / name;
      if (fs::is_symlink(link, error) && fs::read_symlink(link, error) == target) continue;
      fs::remove(link, error);
      fs::create_symlink(target, link, error);
      if (error) break;
    }
    std::ofstream record(folder / kRecord);
    record << RecordOf(run);
    record.close();
    if (error || !record) {
      return Mistake(absl::StrCat("cannot write to the folder `", folder.string(), "`"), "", ExitCode::kEnvironment);
    }
  }
  return std::nullopt;
}

std::string Sweep::StatusOf(size_t run, const RunResult& result) const {
  constexpr int kFirstOfSignals = 128;
  const auto now = ended_.find(run);
  const std::optional<int> code = now != ended_.end() ? std::optional<int>(now->second) : result.exit_code;
  if (code == 0) return "done";
  if (code == kNotFinite) return "not finite";
  if (!code.has_value() && result.losses.empty()) return "not started";
  if (!code.has_value() || *code > kFirstOfSignals) return "interrupted";
  return absl::StrCat("failed (exit code ", *code, ")");
}

std::vector<TableRow> Sweep::Rows() const {
  std::vector<TableRow> rows;
  for (size_t i = 0; i < runs_.size(); ++i) {
    TableRow row{.values = runs_[i].values, .result = ReadResult((folder_ / runs_[i].name).string()), .status = ""};
    row.status = StatusOf(i, row.result);
    rows.push_back(std::move(row));
  }
  return rows;
}

// The table, and which run was the best.
ExitCode Sweep::Report(int signal) const {
  const std::vector<TableRow> rows = Rows();
  std::vector<std::string> folders;
  for (const SweepRun& run : runs_) folders.push_back(run.name);
  std::ofstream(folder_ / kResults) << ResultLines(names_, folders, rows);
  Say(absl::StrCat("\n", absl::StripSuffix(TableText(names_, rows), "\n")));
  std::optional<size_t> best;
  bool by_validation = false;
  const auto measure = [&](const TableRow& row) {
    const auto least = std::min_element(row.result.losses.begin(), row.result.losses.end());
    return by_validation ? row.result.best_validation.value_or(INFINITY)
                         : (least == row.result.losses.end() ? INFINITY : *least);
  };
  for (const TableRow& row : rows) by_validation |= row.result.best_validation.has_value();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status != "done" || !(measure(rows[i]) < INFINITY)) continue;
    if (!best.has_value() || measure(rows[i]) < measure(rows[*best])) best = i;
  }
  if (best.has_value()) {
    Say(absl::StrFormat("least %s: %.6g, of %s", by_validation ? "validation loss" : "loss", measure(rows[*best]),
                        (folder_ / runs_[*best].name).string()));
  }
  if (signal != 0) {
    Say("interrupted: the same command goes on");
    return static_cast<ExitCode>(128 + signal);
  }
  for (const auto& [run, code] : ended_) {
    if (code != 0 && code != kNotFinite) return static_cast<ExitCode>(code);
  }
  return best.has_value() ? ExitCode::kDone : static_cast<ExitCode>(kNotFinite);
}

ExitCode Sweep::RunAll() {
  std::vector<size_t> left;
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (!IsFinal(ReadResult((folder_ / runs_[i].name).string()))) left.push_back(i);
  }
  if (left.size() < runs_.size()) {
    Say(absl::StrCat(runs_.size() - left.size(), " of ", Plural(static_cast<int64_t>(runs_.size()), "run"),
                     " are there already"));
  }
  int64_t most_ranks = 1;
  for (const auto& [unused, program] : programs_) most_ranks = std::max(most_ranks, program.ranks);
  const bool is_cuda = options_.target == "cuda";
  std::vector<Job> jobs;
  for (const size_t i : left) {
    const SweepRun& run = runs_[i];
    Job job{.folder = (folder_ / run.name).string(), .command = {"./run.sh"}, .log = kOutput};
    job.command.insert(job.command.end(), words_.of_script.begin(), words_.of_script.end());
    const std::vector<std::string> flags = FlagsOf(run);
    job.command.insert(job.command.end(), flags.begin(), flags.end());
    job.command.emplace_back("--auto-resume");
    // Threads that wait for a core would take most of the time.
    if (how_.jobs > 1 && !is_cuda && !HasFlag(flags, "--threads")) {
      const int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
      const int64_t threads = std::max<int64_t>(1, cores / (how_.jobs * programs_.at(run.program).ranks));
      job.command.insert(job.command.end(), {"--threads", absl::StrCat(threads)});
    }
    jobs.push_back(std::move(job));
  }
  // Of GPUs each run has its own, among those that this process may use.
  const char* const visible = getenv("CUDA_VISIBLE_DEVICES");
  const std::vector<std::string> gpus =
      visible == nullptr ? std::vector<std::string>() : std::vector<std::string>(absl::StrSplit(visible, ','));
  const auto variables = [&](size_t slot) {
    std::vector<std::pair<std::string, std::string>> variables;
    if (!is_cuda || how_.jobs == 1) return variables;
    std::vector<std::string> own;
    for (int64_t k = 0; k < most_ranks; ++k) {
      const size_t gpu = slot * static_cast<size_t>(most_ranks) + static_cast<size_t>(k);
      if (visible == nullptr) own.push_back(absl::StrCat(gpu));
      if (gpu < gpus.size()) own.push_back(gpus[gpu]);
    }
    variables.emplace_back("CUDA_VISIBLE_DEVICES", absl::StrJoin(own, ","));
    return variables;
  };
  size_t count = 0;
  const auto ended = [&](size_t job, int exit_code) {
    const size_t i = left[job];
    ended_[i] = exit_code;
    const RunResult result = ReadResult((folder_ / runs_[i].name).string());
    const std::string status = StatusOf(i, result);
    const std::string loss =
        result.losses.empty() ? "" : absl::StrFormat(", %d steps, loss %.6g", result.steps, result.losses.back());
    const std::string why = absl::StartsWith(status, "failed")
                                ? absl::StrCat(": ", LastLine(TextOf(folder_ / runs_[i].name / kOutput)))
                                : "";
    Say(absl::StrCat("[", ++count, "/", left.size(), "] ", runs_[i].name, ": ", status, loss, why));
  };
  return Report(RunJobs(jobs, static_cast<size_t>(how_.jobs), variables, ended));
}

}  // namespace

void DescribeSweep(CLI::App& app) {
  DescribeOptions(Command::kSweep, app);
  AddSweepOptions(app, *new SweepOptions);
}

ExitCode RunSweep(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  SweepOptions how;
  const auto parsed =
      ParseCommandLine(Command::kSweep, name, summary, words, [&](CLI::App& app) { AddSweepOptions(app, how); });
  if (const auto* exit = std::get_if<EarlyExit>(&parsed)) return Print(*exit);
  const CompileOptions& options = std::get<CompileOptions>(parsed);
  std::variant<std::vector<Axis>, std::string> axes = AxesOf(options.overrides);
  if (const auto* mistake = std::get_if<std::string>(&axes)) return Print(UsageError(options.error_format, *mistake));
  Sweep sweep(options, how, std::get<std::vector<Axis>>(std::move(axes)));
  if (const auto end = sweep.CheckSettings()) return *end;
  sweep.List();
  if (how.dry_run) return ExitCode::kDone;
  const auto lock = sweep.Lock();
  if (!lock.ok()) {
    std::cerr << UsageErrorText(options.error_format, lock.error().message, "");
    return ExitCode::kEnvironment;
  }
  if (const auto end = sweep.Compile()) return *end;
  if (const auto end = sweep.CheckFlags()) return *end;
  if (const auto end = sweep.Prepare()) return *end;
  return sweep.RunAll();
}

}  // namespace cleave::tools
