// Reading guide: RunCalibrate is the order of what is done; each step returns what it made, or nothing after saying
// why. All is checked before anything is written. A WorkFolder holds the program while it is built and runs.
#include "tools/calibrate/calibrate.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "base/file/file.h"
#include "base/source/source.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "codegen/codegen.h"
#include "runtime/device/device.h"
#include "search/model/cluster/cluster_json.h"
#include "search/model/cluster/presets.h"
#include "tools/calibrate/check.h"
#include "tools/calibrate/fit.h"
#include "tools/calibrate/hosts.h"
#include "tools/calibrate/measurements.h"
#include "tools/driver/launch.h"
#include "tools/driver/output.h"
#include "tools/jobs/jobs.h"
#include "tools/own_file/own_file.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

constexpr OwnKind kClusterFile{.first = "{\n \"format\": \"cleave-cluster\",", .what = "a file that calibrate wrote"};
constexpr int64_t kMostFileBytes = int64_t{16} << 20;

struct CalibrateOptions {
  std::optional<int64_t> devices;
  std::string hosts;
  std::string comm = "mpi";
  std::string target = "cpu";
  std::string out = "cluster.json";
  std::string seconds = "0.3";
  bool force = false;
};

// "0.3"
CLI::Validator PositiveNumber() {
  return CLI::Validator(
      [](const std::string& text) {
        char* end = nullptr;
        const double number = std::strtod(text.c_str(), &end);
        const bool is_number = !text.empty() && *end == '\0' && number > 0 && number <= 3600;
        return is_number ? std::string() : absl::StrCat("`", text, "` is not a number of seconds from above 0 to 3600");
      },
      "");
}

void AddOptions(CLI::App& app, CalibrateOptions& options) {
  CLI::Option* const devices = app.add_option(
      "--devices", options.devices, "The ranks to measure on this host (default: one for each core, or each GPU)");
  SetValue(devices, "N")->check(WholeNumber(1, 4096));
  SetValue(
      app.add_option("--hosts", options.hosts,
                     "The hosts to measure, `node1 slots=4` a line; with --comm gloo or nccl a rank table, and the "
                     "command is started on each host"),
      "FILE")
      ->excludes(devices);
  SetValue(app.add_option("--comm", options.comm,
                          "What connects the ranks: mpi (the default), gloo (GPUs: nccl), or local: threads"),
           "mpi|gloo|nccl|local");
  SetValue(app.add_option("--target", options.target, "What computes: cpu (the default) or cuda"), "cpu|cuda");
  SetValue(app.add_option("--out", options.out, "The cluster file to write (default: cluster.json)"), "FILE.json");
  SetValue(app.add_option("--seconds", options.seconds, "How long each figure is measured (default: 0.3)"), "S")
      ->check(PositiveNumber());
  app.add_flag("--force", options.force, "Replace a file that calibrate wrote");
}

ExitCode Fail(ExitCode code, const Diagnostic& error) {
  Diagnostics diagnostics;
  diagnostics.Add(error);
  std::cerr << DiagnosticsText(ErrorFormat::kText, diagnostics, SourceSet());
  return code;
}

ExitCode Fail(ExitCode code, const std::string& message, const std::string& help = "") {
  std::cerr << UsageErrorText(ErrorFormat::kText, message, help);
  return code;
}

std::string NameOf(const CalibrateOptions& options) { return fs::path(options.out).stem().string(); }

fs::path FolderOf(const CalibrateOptions& options) { return fs::absolute(options.out).parent_path(); }

// Whether the file may be written, as far as that can be known before.
std::optional<ExitCode> CheckPlace(const CalibrateOptions& options) {
  if (fs::path(options.out).filename().empty()) {
    return Fail(ExitCode::kUsage, absl::StrCat("`", options.out, "` names no file"));
  }
  if (search::FindPreset(NameOf(options)).has_value()) {
    return Fail(ExitCode::kUsage,
                absl::StrCat("a cluster of a file has its name, and `", NameOf(options), "` is a preset"),
                "name another file with `--out`");
  }
  if (!options.force && fs::exists(fs::symlink_status(options.out))) {
    return Fail(ExitCode::kEnvironment,
                Error(Code::kE0601, absl::StrCat(QuotedPath(options.out), " exists; `--force` replaces it")));
  }
  const absl::Status place = CheckOwnPlace(options.out, kClusterFile);
  if (!place.ok()) return Fail(ExitCode::kEnvironment, Error(Code::kE0601, std::string(place.message())));
  if (access(FolderOf(options).c_str(), W_OK | X_OK) != 0) {
    return Fail(ExitCode::kEnvironment,
                Error(Code::kE0602, absl::StrCat("cannot write into ", QuotedPath(FolderOf(options).string()), ": ",
                                                 strerror(errno))));
  }
  return std::nullopt;
}

// Whether the ranks meet at an address, those of several hosts by a rank table.
bool MeetAtAddress(const CalibrateOptions& options) { return options.comm == "gloo" || options.comm == "nccl"; }

// How run.sh starts the ranks.
codegen::LaunchDefault LaunchOf(const CalibrateOptions& options) {
  if (options.comm == "mpi") return {.way = "mpirun", .rank_table = ""};
  if (options.comm == "local") return {.way = "local", .rank_table = ""};
  if (options.hosts.empty()) return {.way = "dynamic", .rank_table = ""};
  return {.way = "rank-table", .rank_table = fs::absolute(options.hosts).lexically_normal().string()};
}

absl::StatusOr<codegen::HostsToMeasure> ReadHosts(const CalibrateOptions& options) {
  if (MeetAtAddress(options)) return ReadTableOfHosts(options.hosts);
  const absl::StatusOr<std::string> text =
      ReadFile(options.hosts, {.what = "file of hosts", .most_bytes = kMostFileBytes});
  if (!text.ok()) return text.status();
  absl::StatusOr<codegen::HostsToMeasure> hosts = ParseHosts(*text);
  if (hosts.ok()) return hosts;
  return absl::InvalidArgumentError(absl::StrCat(QuotedPath(options.hosts), ": ", hosts.status().message()));
}

// What each rank takes beside what it measures with.
constexpr int64_t kBytesBeside = int64_t{64} << 20;

// More would measure the system's scheduler, and take hours.
constexpr int64_t kMostRanksOfCore = 4;

// The ranks of this host alone.
std::optional<codegen::HostsToMeasure> RanksHere(const CalibrateOptions& options, ExitCode& code) {
  int64_t most = std::max(1u, std::thread::hardware_concurrency());
  if (options.target == "cuda") {
    const absl::StatusOr<int> gpus = CountGpus();
    if (!gpus.ok()) {
      code = Fail(ExitCode::kEnvironment, Error(Code::kE0603, std::string(gpus.status().message())));
      return std::nullopt;
    }
    most = *gpus;
  }
  const int64_t ranks = options.devices.value_or(most);
  if (options.target == "cuda" && options.comm != "local" && ranks > most) {
    code = Fail(ExitCode::kEnvironment, Error(Code::kE0603, absl::StrCat("this machine has ", Plural(most, "GPU"),
                                                                         ", and each of ", ranks, " ranks needs one")));
    return std::nullopt;
  }
  if (options.target == "cpu") {
    if (ranks > kMostRanksOfCore * most) {
      code = Fail(ExitCode::kUsage, absl::StrCat("--devices: ", ranks, " ranks would share ", Plural(most, "core"),
                                                 ", and at most ", kMostRanksOfCore, " ranks a core are measured"));
      return std::nullopt;
    }
    const int64_t needed = ranks * (codegen::kBytesMeasuredWithOnCpu + kBytesBeside), left = runtime::AvailableMemory();
    if (left >= 0 && needed > left) {
      code = Fail(ExitCode::kEnvironment,
                  absl::StrCat(Plural(ranks, "rank"), " would take ", FormatBytes(Bytes(needed)),
                               " of memory to measure with, and this machine has ", FormatBytes(Bytes(left)), " left"),
                  "measure fewer with `--devices`");
      return std::nullopt;
    }
    if (ranks > most) {
      std::cerr << "warning: " << ranks << " ranks share " << Plural(most, "core")
                << ": the file will describe ranks that wait for each other's cores\n";
    }
  }
  return codegen::HostsToMeasure{.hosts = 1, .ranks_on_host = ranks};
}

std::optional<codegen::HostsToMeasure> RanksToMeasure(const CalibrateOptions& options, ExitCode& code) {
  if (options.hosts.empty()) return RanksHere(options, code);
  if (options.comm == "local") {
    code = Fail(ExitCode::kUsage, "`--comm local` connects threads of one process, and `--hosts` names several hosts");
    return std::nullopt;
  }
  const absl::StatusOr<codegen::HostsToMeasure> hosts = ReadHosts(options);
  if (hosts.ok()) return *hosts;
  code = Fail(ExitCode::kModelWrong, std::string(hosts.status().message()));
  return std::nullopt;
}

// A folder beside the file, where other hosts see it if they see the file. While there is one, signals that end this
// process wait until a job can be told of them, so that the folder does not stay.
class WorkFolder {
 public:
  static absl::StatusOr<std::unique_ptr<WorkFolder>> Create(const fs::path& beside) {
    auto folder = std::unique_ptr<WorkFolder>(new WorkFolder);
    std::string path = (beside / ".cleave_calibrate.XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("cannot make a folder in ", QuotedPath(beside.string()), ": ", strerror(errno)));
    }
    folder->path_ = path;
    return folder;
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  const std::string& path() const { return path_; }

 private:
  WorkFolder() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, number);
    sigprocmask(SIG_BLOCK, &ending, &before_);
  }

  std::string path_;
  sigset_t before_;
};

absl::Status WriteProgram(const CalibrateOptions& options, const codegen::HostsToMeasure& hosts,
                          const std::string& folder) {
  const auto generate = options.target == "cuda" ? codegen::MeasuringForCuda : codegen::MeasuringForCpu;
  std::vector<OutputFile> files;
  for (codegen::GeneratedFile& file : generate(hosts, LaunchOf(options))) {
    files.push_back({.path = std::move(file.path), .text = std::move(file.text), .executable = file.executable});
  }
  return WriteOutput(folder, files);
}

using Variables = std::vector<std::pair<std::string, std::string>>;

// The exit code; 128 + the signal that has ended it, or this.
int RunJob(const Job& job, const Variables& variables) {
  int exit_code = 0;
  const int signal = RunJobs(
      {job}, 1, [&](size_t) { return variables; }, [&](size_t, int code) { exit_code = code; });
  return signal == 0 ? exit_code : 128 + signal;
}

bool IsEndedBySignal(int exit_code) {
  return exit_code == 128 + SIGINT || exit_code == 128 + SIGTERM || exit_code == 128 + SIGHUP;
}

std::optional<ExitCode> BuildProgram(const CalibrateOptions& options, const std::string& folder) {
  std::cout << "compiles the program that measures" << std::endl;
  const int exit_code =
      RunJob({.folder = folder, .command = BuildCommand(options.target, LaunchOf(options).way), .log = kBuildLog},
             {{"LC_ALL", "C"}});
  if (IsEndedBySignal(exit_code)) return static_cast<ExitCode>(exit_code);
  const absl::StatusOr<LaunchResult> built = OutcomeOfBuild(folder, exit_code);
  if (!built.ok()) return Fail(ExitCode::kEnvironment, Error(Code::kE0603, std::string(built.status().message())));
  if (built->exit_code == 0) return std::nullopt;
  std::cerr << built->build_log;
  return Fail(ExitCode::kEnvironment, "the program that measures does not compile on this machine");
}

// Of mpirun, which reads the hosts and reaches them by ssh: a host that does not answer ends it within seconds.
Variables VariablesFor(const CalibrateOptions& options) {
  if (options.hosts.empty() || options.comm != "mpi") return {};
  const std::string hosts = fs::absolute(options.hosts).string();
  Variables variables = {{"OMPI_MCA_orte_default_hostfile", hosts}, {"PRTE_MCA_prte_default_hostfile", hosts}};
  for (const char* name : {"OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args"}) {
    if (std::getenv(name) == nullptr) variables.emplace_back(name, "-o BatchMode=yes -o ConnectTimeout=10");
  }
  return variables;
}

std::optional<ExitCode> Start(const CalibrateOptions& options, const std::string& folder) {
  const int exit_code = RunJob({.folder = folder, .command = {"./run.sh", "--seconds", options.seconds}, .log = ""},
                               VariablesFor(options));
  if (exit_code == 0) return std::nullopt;
  if (IsEndedBySignal(exit_code)) return static_cast<ExitCode>(exit_code);
  // mpirun ends with codes of its own where it does not reach a host.
  const bool is_of_program = exit_code > 1 && exit_code < 128;
  const ExitCode code = is_of_program ? static_cast<ExitCode>(exit_code) : ExitCode::kEnvironment;
  return Fail(code, absl::StrCat("the machines were not measured: the program ended with exit code ", exit_code));
}

ExitCode Conclude(const CalibrateOptions& options, const codegen::HostsToMeasure& hosts, const std::string& text) {
  const absl::StatusOr<Measurements> measurements = ParseMeasurements(text);
  if (!measurements.ok()) {
    std::cerr << "internal error: " << measurements.status().message() << "\n";
    return ExitCode::kInternal;
  }
  const Calibration calibration = CalibrationFrom(*measurements, {.name = NameOf(options),
                                                                  .target = options.target,
                                                                  .comm = options.comm,
                                                                  .hosts = hosts.hosts,
                                                                  .ranks_on_host = hosts.ranks_on_host});
  const std::string file = search::ClusterJson(calibration.machines, calibration.notes);
  if (const absl::StatusOr<search::Machines> again = search::ParseClusterJson(file); !again.ok()) {
    std::cerr << "internal error: " << again.status().message() << "\n" << file;
    return ExitCode::kInternal;
  }
  std::cout << CheckText(CheckTimes(calibration.machines, *measurements));
  if (AreDisturbed(*measurements)) {
    std::cerr << "warning: most times scatter by a factor of 2 and more: something else runs on these machines\n";
  }
  const absl::Status written = WriteOwn(options.out, kClusterFile, file);
  if (!written.ok()) return Fail(ExitCode::kEnvironment, Error(Code::kE0602, std::string(written.message())));
  std::cout << "written to " << options.out << "; use it with `--cluster " << options.out << "`\n";
  return ExitCode::kDone;
}

ExitCode Calibrate(const CalibrateOptions& options) {
  const std::string meeting = options.target == "cuda" ? "nccl" : "gloo";
  if (MeetAtAddress(options) && options.comm != meeting) {
    return Fail(ExitCode::kUsage,
                absl::StrCat("ranks of `--target ", options.target, "` do not meet by ", options.comm),
                absl::StrCat("--comm ", meeting));
  }
  if (const auto code = CheckPlace(options)) return *code;
  ExitCode code = ExitCode::kDone;
  const std::optional<codegen::HostsToMeasure> hosts = RanksToMeasure(options, code);
  if (!hosts.has_value()) return code;
  if (const absl::Status possible = CanBuildAndRun(options.target, LaunchOf(options).way); !possible.ok()) {
    return Fail(ExitCode::kEnvironment, Error(Code::kE0603, std::string(possible.message())));
  }
  const absl::StatusOr<std::unique_ptr<WorkFolder>> folder = WorkFolder::Create(FolderOf(options));
  const absl::Status ready = folder.ok() ? WriteProgram(options, *hosts, (*folder)->path()) : folder.status();
  if (!ready.ok()) return Fail(ExitCode::kEnvironment, Error(Code::kE0602, std::string(ready.message())));
  if (const auto failed = BuildProgram(options, (*folder)->path())) return *failed;
  if (const auto failed = Start(options, (*folder)->path())) return *failed;
  const absl::StatusOr<std::string> text = ReadFile((*folder)->path() + "/measurements.jsonl",
                                                    {.what = "list of measurements", .most_bytes = kMostFileBytes});
  if (text.ok()) return Conclude(options, *hosts, *text);
  if (!options.hosts.empty() && MeetAtAddress(options)) {
    std::cout << "measured; the file is written on the host of rank 0\n";
    return ExitCode::kDone;
  }
  return Fail(ExitCode::kEnvironment, std::string(text.status().message()));
}

}  // namespace

void DescribeCalibrate(CLI::App& app) { AddOptions(app, *new CalibrateOptions); }

ExitCode RunCalibrate(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  CalibrateOptions options;
  CLI::App app(summary, name);
  AddOptions(app, options);
  if (const auto exit = Parse(app, words)) return Print(*exit);
  return Calibrate(options);
}

}  // namespace cleave::tools
