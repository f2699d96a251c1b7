#include "tests/faults/injection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/faults/job.h"
#include "tests/faults/program.h"
#include "tests/support/command.h"

namespace cleave::tests::faults {
namespace {

namespace fs = std::filesystem;

// Jobs run beside other tests, on few cores: what must happen may take this long.
constexpr double kSecondsToStart = 60;
constexpr double kSecondsToEnd = 60;
// CLEAVE_TIMEOUT where it is to be reached; ranks that only have no core must not reach it.
constexpr int kTimeout = 8;

std::string NameOf(Fault fault) {
  switch (fault) {
    case Fault::kKill:
      return "kill";
    case Fault::kKillJoining:
      return "kill at the start";
    case Fault::kStop:
      return "stop";
    case Fault::kSlow:
      return "slowness";
    case Fault::kNotFinite:
      return "a value that is not finite";
    case Fault::kFullDisk:
      return "a full disk";
    case Fault::kLostFile:
      return "a lost file";
    case Fault::kTaken:
      return "a taken port or folder";
    case Fault::kTwoJobs:
      return "a second job";
    case Fault::kSignal:
      return "a signal to run.sh";
    case Fault::kKillScript:
      return "kill of run.sh";
    case Fault::kKillSaving:
      return "kill of all while they save";
    case Fault::kTerminate:
      return "a signal to save";
    case Fault::kDamage:
      return "a damaged checkpoint";
    case Fault::kRestart:
      return "faults of a job that begins again";
    case Fault::kNoRoom:
      return "a full disk of checkpoints";
  }
  return "";
}

std::string NameOf(Way way) {
  switch (way) {
    case Way::kMpirun:
      return "mpirun";
    case Way::kRankTable:
      return "rank-table";
    case Way::kDynamic:
      return "dynamic";
    case Way::kLocal:
      return "local";
  }
  return "";
}

std::string NameOf(Work work) {
  switch (work) {
    case Work::kTrain:
      return "training";
    case Work::kPipeline:
      return "training in stages";
    case Work::kGenerate:
      return "generation";
  }
  return "";
}

// Whether the fault can come to programs that train nothing.
bool IsForGeneration(Fault fault) {
  switch (fault) {
    case Fault::kKill:
    case Fault::kKillJoining:
    case Fault::kStop:
    case Fault::kSlow:
    case Fault::kTwoJobs:
    case Fault::kSignal:
    case Fault::kKillScript:
      return true;
    default:
      return false;
  }
}

// A port of this host that nobody can listen at while this lives.
class TakenPort {
 public:
  TakenPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool is_bound = bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(socket_, 8) == 0;
    if (is_bound && getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
      number_ = ntohs(address.sin_port);
    }
  }
  ~TakenPort() { close(socket_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  int number() const { return number_; }

 private:
  const int socket_;
  int number_ = 0;
};

int FreePort() { return TakenPort().number(); }

// What the end of a job must be.
struct Expected {
  std::vector<int> codes;         // One of these; empty: any but 0.
  std::vector<std::string> said;  // Each of these.
};

class Trial {
 public:
  Trial(const Injection& injection, const Programs& programs)
      : injection_(injection), program_(programs.of(injection.work)), small_disk_(programs.small_disk) {
    fs::remove_all(out_);
  }

  std::optional<std::string> Run() {
    switch (injection_.fault) {
      case Fault::kKill:
      case Fault::kStop:
        return HurtRank();
      case Fault::kKillJoining:
        return KillJoining();
      case Fault::kSlow:
        return Slow();
      case Fault::kNotFinite:
        return NotFinite();
      case Fault::kFullDisk:
        return FullDisk();
      case Fault::kLostFile:
        return LostFile();
      case Fault::kTaken:
        return Taken();
      case Fault::kTwoJobs:
        return TwoJobs();
      case Fault::kSignal:
      case Fault::kKillScript:
        return HurtScript();
      case Fault::kKillSaving:
        return KillSaving();
      case Fault::kTerminate:
        return Terminate();
      case Fault::kDamage:
        return Damage();
      case Fault::kRestart:
        return Restart();
      case Fault::kNoRoom:
        return small_disk_.empty() ? std::nullopt : NoRoom();
    }
    return std::nullopt;
  }

 private:
  struct Settings {
    std::vector<std::string> inputs;
    std::string out;
    std::vector<std::string> flags = {"--quiet"};
    std::vector<std::string> environment = {};
    std::optional<Way> way = std::nullopt;  // Another one than that of the injection.
    int restarts = 0;
    std::string hosts = {};        // The file of --hosts.
    std::string checkpoints = {};  // Where they are; empty: with what else the job writes.
  };

  Settings Usual() const { return {.inputs = program_.inputs, .out = out_}; }
  // With data in that folder.
  Settings WithData(const std::string& folder) const {
    return {.inputs = {"--epochs", "1000000", "--data", folder}, .out = out_};
  }

  // A job that goes on until something ends it.
  Job Start(const Settings& settings) const {
    const Way way = settings.way.value_or(injection_.way);
    std::vector<std::string> flags;
    if (settings.restarts > 0) flags = {"--restarts", absl::StrCat(settings.restarts)};
    if (!settings.hosts.empty()) flags.insert(flags.end(), {"--hosts", settings.hosts});
    flags.insert(flags.end(), {"--launch", NameOf(way)});
    if (way == Way::kRankTable) flags.push_back(program_.folder + "/ranks.json");
    for (const std::string& flag : settings.flags) flags.push_back(flag);
    flags.insert(flags.end(), settings.inputs.begin(), settings.inputs.end());
    flags.insert(flags.end(), {"--out", settings.out});
    if (!settings.checkpoints.empty()) flags.insert(flags.end(), {"--checkpoints", settings.checkpoints});
    // Open MPI's sockets need a short path.
    std::vector<std::string> environment = {"TMPDIR=/tmp", "OMP_NUM_THREADS=1", absl::StrCat("CLEAVE_PORT=", port_)};
    for (const std::string& setting : settings.environment) environment.push_back(setting);
    return Job(program_.folder, flags, environment);
  }

  // How much the job has said of its work: lines of steps, or texts.
  size_t Progress(const Job& job) const {
    if (injection_.work == Work::kGenerate) return job.Output().rfind("--- ") + 1;  // "--- 7 ---" begins a text.
    std::error_code error;
    const uintmax_t size = fs::file_size(out_ + "/metrics.jsonl", error);
    return error ? 0 : static_cast<size_t>(size);
  }

  // Waits until the job works; what is wrong if it does not.
  std::optional<std::string> AwaitSteps(Job& job, size_t more_than = 0) const {
    const double deadline = Seconds() + kSecondsToStart;
    while (Progress(job) <= more_than) {
      if (job.Wait(0).has_value()) return absl::StrCat("the job ended before it worked:\n", job.Output());
      if (Seconds() > deadline) return absl::StrCat("the job does not work:\n", job.Output());
      Sleep(0.01);
    }
    return std::nullopt;
  }

  std::optional<std::string> CheckEnd(Job& job, const Expected& expected) const {
    const std::optional<int> code = job.Wait(kSecondsToEnd);
    const std::string output = job.Output();
    if (!code.has_value()) return absl::StrCat("the job hangs:\n", output);
    const bool is_expected =
        expected.codes.empty() ? *code != 0
                               : std::find(expected.codes.begin(), expected.codes.end(), *code) != expected.codes.end();
    if (!is_expected) return absl::StrCat("the exit code is ", *code, ":\n", output);
    for (const std::string& said : expected.said) {
      if (!absl::StrContains(output, said)) return absl::StrCat("`", said, "` is not said:\n", output);
    }
    if (fs::exists(out_ + "/run.json") && !EndsByItself()) return "run.json is there";
    // What is killed needs a moment to go.
    for (const double deadline = Seconds() + 20; !job.Processes().empty(); Sleep(0.02)) {
      if (Seconds() > deadline) {
        return absl::StrCat("processes are left: ", absl::StrJoin(job.Processes(), ", "), "\n", output);
      }
    }
    return std::nullopt;
  }

  // Whether the job says itself how it ended.
  bool EndsByItself() const {
    return injection_.fault == Fault::kNotFinite || injection_.fault == Fault::kTerminate ||
           injection_.fault == Fault::kRestart || injection_.fault == Fault::kNoRoom;
  }

  std::string RankText() const {
    return injection_.way == Way::kLocal ? "the process of all ranks" : absl::StrCat("rank ", injection_.rank);
  }

  void Delay() const { Sleep(injection_.milliseconds * 1e-3); }

  std::optional<std::string> HurtRank() {
    Settings settings = Usual();
    const bool stops = injection_.fault == Fault::kStop;
    if (stops) settings.environment.push_back(absl::StrCat("CLEAVE_TIMEOUT=", kTimeout));
    Job job = Start(settings);
    if (std::optional<std::string> problem = AwaitSteps(job)) return problem;
    Delay();
    const pid_t process = job.ProcessOfRank(injection_.rank);
    if (process <= 0) return absl::StrCat("the rank is not there:\n", job.Output());
    kill(process, stops ? SIGSTOP : SIGKILL);
    if (!stops) return CheckEnd(job, {.codes = {137}, .said = {RankText()}});
    Expected expected = {.codes = {6}, .said = {RankText()}};
    // Ranks that wait say where; of the process of all ranks nobody knows more than that it is stopped.
    expected.said.push_back(injection_.way == Way::kLocal ? "is stopped since" : " is missing: it does not answer");
    if (injection_.way != Way::kLocal) expected.said.push_back("(faulty.model");
    return CheckEnd(job, expected);
  }

  std::optional<std::string> KillJoining() {
    Job job = Start(Usual());
    const pid_t process = job.ProcessOfRank(injection_.rank);
    if (process <= 0) return absl::StrCat("the rank was not started:\n", job.Output());
    Delay();
    kill(process, SIGKILL);
    return CheckEnd(job, {.codes = {}, .said = {RankText()}});
  }

  std::optional<std::string> Slow() {
    Job job = Start(Usual());
    if (std::optional<std::string> problem = AwaitSteps(job)) return problem;
    const pid_t process = job.ProcessOfRank(injection_.rank);
    if (process <= 0) return absl::StrCat("the rank is not there:\n", job.Output());
    for (int i = 0; i < 3; ++i) {
      kill(process, SIGSTOP);
      Delay();
      kill(process, SIGCONT);
      Delay();
    }
    if (std::optional<std::string> problem = AwaitSteps(job, Progress(job))) return problem;
    if (absl::StrContains(job.Output(), "error")) return job.Output();
    kill(job.script(), SIGTERM);
    return CheckEnd(job, {.codes = {128 + SIGTERM}, .said = {}});
  }

  std::optional<std::string> NotFinite() {
    const std::string data = program_.folder + "/odd";
    const bool is_large = injection_.number % 2 == 0;
    WriteData(data, is_large ? 3e38f : std::nanf(""), injection_.number);
    Job job = Start(WithData(data));
    Expected expected = {.codes = {7}, .said = {"the first value that is not finite is ", "(faulty.model", "of rank "}};
    if (is_large) expected.said[1] = "(faulty.model:";  // It is an op that makes it infinite.
    return CheckEnd(job, expected);
  }

  std::optional<std::string> FullDisk() {
    Settings settings = Usual();
    // Every process writes a log, and mpirun itself those of its ranks.
    const bool is_log = injection_.way != Way::kMpirun && injection_.number % 2 == 0;
    const int rank = injection_.way == Way::kLocal ? 0 : injection_.rank;
    const std::string path =
        is_log ? absl::StrCat(program_.folder, "/log_output/1/rank.", rank, "/stdout") : out_ + "/metrics.jsonl";
    fs::create_directories(fs::path(path).parent_path());
    fs::remove(path);
    fs::create_symlink("/dev/full", path);
    if (is_log) settings.flags = {"--log-ranks", "all"};
    std::optional<std::string> problem;
    {
      Job job = Start(settings);
      problem = CheckEnd(job, {.codes = {5}, .said = {"cannot write to `", "No space left on device"}});
    }
    fs::remove(path);
    return problem;
  }

  std::optional<std::string> LostFile() {
    const std::string data = program_.folder + "/lost";
    WriteData(data, std::nullopt, injection_.number);
    const std::string lost = data + (injection_.number % 2 == 0 ? "/x.npy" : "/target.npy");
    fs::remove(lost);
    Job job = Start(WithData(data));
    return CheckEnd(job, {.codes = {3}, .said = {lost}});
  }

  std::optional<std::string> Taken() {
    Settings settings = Usual();
    const TakenPort port;
    Expected expected = {.codes = {5}, .said = {"cannot write to the folder `/proc/nothing`"}};
    switch (injection_.way) {
      case Way::kMpirun:
        settings.environment.push_back("OMPI_MCA_orte_tmpdir_base=/proc/nothing");
        expected.said = {"mpirun cannot write to the folder `/proc/nothing` (TMPDIR)"};
        break;
      case Way::kRankTable:
        port_ = port.number();
        expected.said = {absl::StrCat("port ", port.number(), " is in use")};
        break;
      case Way::kDynamic:
        settings.environment.push_back(absl::StrCat("CLEAVE_SCHEDULER=127.0.0.1:", port.number()));
        settings.environment.push_back("CLEAVE_JOIN_TIMEOUT=3");
        expected.said = {"is not the scheduler of this job: is the port in use by another program?"};
        break;
      case Way::kLocal:
        settings.out = "/proc/nothing";
        break;
    }
    Job job = Start(settings);
    return CheckEnd(job, expected);
  }

  std::optional<std::string> TwoJobs() {
    Job first = Start(Usual());
    if (std::optional<std::string> problem = AwaitSteps(first)) return problem;
    Delay();
    {
      Settings settings = Usual();
      settings.out = out_ + "_of_second";
      settings.way = static_cast<Way>(injection_.number % kWays);
      Job second = Start(settings);
      if (std::optional<std::string> problem = CheckEnd(
              second, {.codes = {5}, .said = {"another job uses the folder `log_output`: host ", ", since 2"}})) {
        return absl::StrCat("the second job: ", *problem);
      }
    }
    const std::string logs = program_.folder + "/log_output/1/rank.1";
    if (injection_.way != Way::kLocal && !fs::exists(logs)) return "the second job has removed logs of the first";
    // The first has not noticed.
    if (std::optional<std::string> problem = AwaitSteps(first, Progress(first))) return problem;
    kill(first.script(), SIGTERM);
    return CheckEnd(first, {.codes = {128 + SIGTERM}, .said = {}});
  }

  std::optional<std::string> HurtScript() {
    Job job = Start(Usual());
    // Half of the signals come while the job starts.
    if (injection_.number % 2 == 0) {
      if (std::optional<std::string> problem = AwaitSteps(job)) return problem;
    } else {
      job.ProcessOfRank(injection_.rank);
    }
    Delay();
    constexpr int kSignals[] = {SIGHUP, SIGINT, SIGTERM};
    const int signal = injection_.fault == Fault::kKillScript ? SIGKILL : kSignals[injection_.number % 3];
    kill(job.script(), signal);
    return CheckEnd(job, {.codes = {128 + signal}, .said = {}});
  }

  // The losses of all steps, from the first; empty where a line is missing or is not the next.
  static std::vector<double> LossesOf(const std::string& out) {
    std::vector<double> losses;
    std::ifstream lines(out + "/metrics.jsonl");
    for (std::string line; std::getline(lines, line);) {
      long long step = 0;
      double loss = 0;
      if (std::sscanf(line.c_str(), "{\"step\":%lld,\"epoch\":%*d,\"loss\":%lf", &step, &loss) != 2) return {};
      if (step != static_cast<long long>(losses.size()) + 1) return {};
      losses.push_back(loss);
    }
    return losses;
  }

  // The steps of the checkpoints, the last one at the end.
  std::vector<int64_t> SavedSteps() const { return SavedSteps(out_ + "/checkpoints"); }
  static std::vector<int64_t> SavedSteps(const std::string& folder) {
    std::vector<int64_t> steps;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      int64_t step = 0;
      const std::string name = entry.path().filename().string();
      if (absl::StartsWith(name, "step_") && absl::SimpleAtoi(name.substr(5), &step)) steps.push_back(step);
    }
    std::sort(steps.begin(), steps.end());
    return steps;
  }

  // Trains to that step and ends; what is wrong if it does not. `warning`: what it must say; empty: it may warn of
  // nothing.
  std::optional<std::string> TrainTo(int64_t step, const Settings& settings, const std::string& warning = "") const {
    Settings own = settings;
    own.flags.insert(own.flags.end(), {"--steps", absl::StrCat(step)});
    Job job = Start(own);
    if (job.Wait(kSecondsToStart + kSecondsToEnd) != 0) return absl::StrCat("it does not train:\n", job.Output());
    const std::string output = job.Output();
    const bool warns = absl::StrContains(output, "error") || absl::StrContains(output, "warning");
    if (!absl::StrContains(output, warning) || warns == warning.empty()) return absl::StrCat("it says:\n", output);
    return std::nullopt;
  }

  // Goes on from the checkpoint of step `last`, from the beginning if that is 0, for a few steps, with the losses of
  // training that was not interrupted. `warning`: as above.
  std::optional<std::string> GoOn(int64_t last, const std::string& warning = "",
                                  const std::string& checkpoints = "") const {
    constexpr int64_t kSteps = 5;
    Settings whole = Usual();
    whole.out = out_ + "_whole";
    whole.way = Way::kLocal;
    Settings resumed = Usual();
    resumed.flags = {"--quiet", "--checkpoint-every", "1", "--keep", "2"};
    resumed.checkpoints = checkpoints;
    if (last > 0) resumed.flags.push_back("--resume");
    if (std::optional<std::string> problem = TrainTo(last + kSteps, whole)) return problem;
    if (std::optional<std::string> problem = TrainTo(last + kSteps, resumed, warning)) return problem;
    const std::vector<double> losses = LossesOf(out_);
    const std::vector<double> expected = LossesOf(whole.out);
    if (static_cast<int64_t>(expected.size()) != last + kSteps || losses.size() != expected.size()) {
      return absl::StrCat(losses.size(), " and ", expected.size(), " steps instead of ", last + kSteps);
    }
    for (size_t i = 0; i < losses.size(); ++i) {
      const double allowed = injection_.way == Way::kLocal && !LosesHosts() ? 0 : 1e-5 * expected[i];
      if (!(std::abs(losses[i] - expected[i]) <= allowed)) {
        return absl::StrCat("the loss of step ", i + 1, " is ", losses[i], ", not ", expected[i], "; resumed at ",
                            last);
      }
    }
    const std::string trained = ReadText(out_ + "/run.json");
    const bool is_resumed = absl::StrContains(trained, absl::StrCat("\"resumed_after\":", last, ","));
    if (is_resumed != (last > 0)) return absl::StrCat("it has not gone on after step ", last, ": ", trained);
    size_t folders = 0;
    const std::string folder = checkpoints.empty() ? out_ + "/checkpoints" : checkpoints;
    for (const auto& entry : fs::directory_iterator(folder)) {
      folders += entry.is_directory() && entry.path().extension() != ".set_aside" ? 1 : 0;
    }
    if (folders != 2) return absl::StrCat(folders, " folders are left, and 2 checkpoints are kept");
    return std::nullopt;
  }

  std::optional<std::string> KillSaving() {
    Settings settings = Usual();
    settings.flags = {"--quiet", "--checkpoint-every", "1", "--keep", "2"};
    Job job = Start(settings);
    if (std::optional<std::string> problem = AwaitSteps(job)) return problem;
    Delay();
    while (!job.Processes().empty()) {
      for (const pid_t process : job.Processes()) kill(process, SIGKILL);
      job.Wait(0.01);
    }
    const std::vector<int64_t> saved = SavedSteps();
    return GoOn(saved.empty() ? 0 : saved.back());
  }

  std::optional<std::string> Terminate() {
    Settings settings = Usual();
    settings.flags = {"--quiet", "--checkpoint-every", "1000000"};
    Job job = Start(settings);
    if (std::optional<std::string> problem = AwaitSteps(job)) return problem;
    Delay();
    // As a person, `timeout` and a shell, Slurm and systemd, and a cloud that takes a machine away do it.
    const int64_t recipient = injection_.milliseconds % 4;
    if (recipient <= 1) kill(job.script(), SIGTERM);
    if (recipient == 1) kill(-job.script(), SIGTERM);
    if (recipient == 2) {
      // mpirun gives its ranks a second, and ends them.
      for (const pid_t process : job.Processes()) {
        if (job.NameOf(process) != "mpirun") kill(process, SIGTERM);
      }
    }
    if (recipient == 3) kill(job.ProcessOfRank(0), SIGTERM);
    if (std::optional<std::string> problem =
            CheckEnd(job, {.codes = {128 + SIGTERM}, .said = {"`--resume` goes on"}})) {
      return problem;
    }
    const std::vector<int64_t> saved = SavedSteps();
    const auto steps = static_cast<int64_t>(LossesOf(out_).size());
    if (saved != std::vector<int64_t>{steps}) return absl::StrCat("the step ", steps, " is not saved");
    return std::nullopt;
  }

  // Writes other bytes over a part of a file, zeros, or cuts it there.
  void DamageFile(const std::string& path) const {
    std::mt19937_64 random(injection_.number);
    std::string content = ReadText(path);
    if (content.empty()) return;  // It has been removed meanwhile.
    const size_t begin = random() % content.size();
    const size_t end = begin + 1 + random() % (content.size() - begin);
    const std::string before = content;
    switch (random() % 3) {
      case 0:
        for (size_t i = begin; i < end; ++i) content[i] = static_cast<char>(random());
        break;
      case 1:
        for (size_t i = begin; i < end; ++i) content[i] = 0;
        break;
      default:
        content.resize(begin);
    }
    if (content == before) content[begin] ^= 1;
    WriteText(path, content);
  }

  std::optional<std::string> Damage() {
    constexpr int64_t kLast = 4;
    Settings settings = Usual();
    settings.flags = {"--quiet", "--checkpoint-every", "1", "--keep", "3"};
    if (std::optional<std::string> problem = TrainTo(kLast, settings)) return problem;
    std::vector<std::string> files;
    const std::string last = absl::StrCat(out_, "/checkpoints/step_", kLast);
    // Not those of ranks that keep nothing.
    constexpr size_t kEmpty = 64;
    for (const auto& entry : fs::directory_iterator(last)) {
      if (entry.file_size() > kEmpty) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    const std::string damaged = files[injection_.number % files.size()];
    DamageFile(damaged);
    return GoOn(kLast - 1, damaged);
  }

  // Whether the job has room for fewer ranks now and then.
  bool LosesHosts() const {
    return injection_.fault == Fault::kRestart && injection_.work == Work::kTrain && injection_.way != Way::kRankTable;
  }

  static bool HasRunOnFewer(const Job& job) {
    return absl::StrContains(job.Output(), absl::StrCat("runs on ", kFewerRanks, " ranks in place of ", kRanks));
  }

  // Where there is room for so many ranks, from the next start on.
  std::string HostsWithRoom(int ranks) const {
    const std::string path = program_.folder + "/hosts";
    WriteText(path + ".next", absl::StrCat("localhost slots=", ranks, "\n"));
    fs::rename(path + ".next", path);
    return path;
  }

  // What ends a job that begins again: a rank is killed, is stopped, or gets SIGTERM; all ranks are killed, or all
  // processes but run.sh; the last checkpoint is damaged and a rank killed.
  void HurtAttempt(Job& job, std::mt19937_64& random) const {
    const pid_t rank = job.ProcessOfRank(static_cast<int>(random() % (LosesHosts() ? kFewerRanks : kRanks)));
    constexpr int kHurts = 6;
    const uint64_t hurt = random() % kHurts;
    if (hurt == 0 && rank > 0) kill(rank, SIGSTOP);
    if (hurt == 1 && rank > 0) kill(rank, SIGTERM);
    if (hurt == 2 || hurt == 3) {
      for (const pid_t process : job.Processes()) {
        const bool is_hurt = hurt == 2 ? absl::StartsWith(Job::NameOf(process), "program") : process != job.script();
        if (is_hurt) kill(process, SIGKILL);
      }
    }
    if (hurt == 4) {
      const std::vector<int64_t> saved = SavedSteps();
      // Where no good one is left, nothing goes on.
      const std::string path =
          absl::StrCat(out_, "/checkpoints/step_", saved.size() < 2 ? 0 : saved.back(), "/rank_0.safetensors");
      if (fs::exists(path)) DamageFile(path);
    }
    if (hurt >= 4 && rank > 0) kill(rank, SIGKILL);
  }

  std::optional<std::string> Restart() {
    constexpr int kHurts = 3;
    std::mt19937_64 random(injection_.number);
    Settings settings = Usual();
    settings.flags = {"--quiet", "--checkpoint-every", "20", "--keep", "2"};
    settings.environment.push_back(absl::StrCat("CLEAVE_TIMEOUT=", kTimeout));
    settings.restarts = 2 * kHurts;
    if (LosesHosts()) settings.hosts = HostsWithRoom(kRanks);
    Job job = Start(settings);
    for (int hurt = 0; hurt < kHurts; ++hurt) {
      if (std::optional<std::string> problem = AwaitSteps(job, Progress(job))) return problem;
      Delay();
      // Two hurts may come to one attempt, as one that saves. Room for all ranks is back once some were missing.
      if (LosesHosts()) HostsWithRoom(HasRunOnFewer(job) ? kRanks : kFewerRanks);
      HurtAttempt(job, random);
    }
    if (std::optional<std::string> problem = AwaitSteps(job, Progress(job))) return problem;
    kill(job.script(), SIGTERM);
    if (std::optional<std::string> problem = CheckEnd(job, {.codes = {128 + SIGTERM}, .said = {"restart 1 of "}})) {
      return problem;
    }
    if (LosesHosts() && !HasRunOnFewer(job)) {
      return absl::StrCat("it has not run on fewer ranks:\n", job.Output());
    }
    const std::vector<int64_t> saved = SavedSteps();
    return GoOn(saved.empty() ? 0 : saved.back());
  }

  // Waits until a condition holds; what is wrong if it does not.
  template <typename Condition>
  std::optional<std::string> Await(Job& job, const std::string& what, Condition condition) const {
    for (const double deadline = Seconds() + kSecondsToStart; !condition(); Sleep(0.01)) {
      if (job.Wait(0).has_value()) return absl::StrCat("the job ended before ", what, ":\n", job.Output());
      if (Seconds() > deadline) return absl::StrCat("never came: ", what, "\n", job.Output());
    }
    return std::nullopt;
  }

  std::optional<std::string> NoRoom() {
    fs::remove_all(small_disk_ + "/checkpoints");
    const std::string rest = small_disk_ + "/rest";
    fs::remove(rest);
    Settings settings = Usual();
    settings.checkpoints = small_disk_ + "/checkpoints";
    settings.flags = {"--quiet", "--checkpoint-every", "10", "--keep", "2"};
    settings.restarts = 10;
    Job job = Start(settings);
    const auto saved = [&] { return SavedSteps(settings.checkpoints); };
    if (auto problem = Await(job, "a second checkpoint", [&] { return saved().size() >= 2; })) return problem;
    Delay();
    bool was_lost = false;
    int64_t last = 0;
    const auto is_full = [&] {  // What the removal of an old checkpoint has made room for is taken, too.
      std::ofstream(rest, std::ios::app) << std::string(static_cast<size_t>(kSmallDisk), 'x');
      const std::vector<int64_t> steps = saved();
      was_lost |= steps.empty() || steps.back() < last;
      if (!steps.empty()) last = steps.back();
      const std::string output = job.Output();
      return absl::StrContains(output, "No space left on device") &&
             absl::StrContains(output, "with exit code 5; step ");
    };
    if (auto problem = Await(job, "a full disk", is_full)) return problem;
    if (was_lost) return "a good checkpoint is gone";
    fs::remove(rest);
    if (auto problem =
            Await(job, "a checkpoint after that", [&] { return !saved().empty() && saved().back() > last; })) {
      return problem;
    }
    kill(job.script(), SIGTERM);
    if (auto problem = CheckEnd(job, {.codes = {128 + SIGTERM}, .said = {"restart 1 of "}})) return problem;
    return GoOn(saved().back(), "", settings.checkpoints);
  }

  const Injection injection_;
  const Program& program_;
  const std::string small_disk_;
  const std::string out_ = program_.folder + "/results";
  int port_ = FreePort();
};

}  // namespace

std::string ToString(const Injection& injection) {
  return absl::StrCat(NameOf(injection.fault), ", rank ", injection.rank, ", ", injection.milliseconds, " ms, ",
                      NameOf(injection.way), ", ", NameOf(injection.work));
}

std::vector<Injection> Injections(int count, uint64_t seed, std::optional<Fault> only) {
  std::mt19937_64 random(seed);
  std::vector<Injection> injections;
  std::vector<int> order(kFaults * kWays);
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  while (static_cast<int>(injections.size()) < count) {
    for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    for (const int number : order) {
      if (static_cast<int>(injections.size()) == count) break;
      Injection injection;
      injection.fault = only.value_or(static_cast<Fault>(number % kFaults));
      injection.way = static_cast<Way>(number / kFaults);
      injection.rank = static_cast<int>(random() % kRanks);
      injection.milliseconds = static_cast<int>(random() % 300);
      injection.number = random();
      injection.work = static_cast<Work>(random() % (IsForGeneration(injection.fault) ? kWorks : kWorks - 1));
      injections.push_back(injection);
    }
  }
  return injections;
}

std::optional<std::string> Try(const Injection& injection, const Programs& programs) {
  return Trial(injection, programs).Run();
}

}  // namespace cleave::tests::faults
