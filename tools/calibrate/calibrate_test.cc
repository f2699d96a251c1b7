// The whole command: with the compiler and mpirun of this machine, and on the stand-in for CUDA. Times are not looked
// at.
#include "tools/calibrate/calibrate.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "gtest/gtest.h"
#include "search/model/cluster/cluster_json.h"
#include "tools/calibrate/fit.h"
#include "tools/calibrate/hosts.h"
#include "tools/calibrate/measurements.h"
#include "tools/driver/launch.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  ExitCode code;
  std::string out, err;
};

Outcome Calibrate(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const ExitCode code = RunCalibrate("cleave calibrate", "Measures.", words);
  const std::string out = testing::internal::GetCapturedStdout();
  return {code, out, testing::internal::GetCapturedStderr()};
}

// In a new folder, which is the current one.
class CalibrateTest : public testing::Test {
 protected:
  CalibrateTest() : before_(fs::current_path()) {
    std::string path = testing::TempDir() + "/calibrate.XXXXXX";
    folder_ = mkdtemp(path.data());
    fs::current_path(folder_);
  }
  ~CalibrateTest() override { fs::current_path(before_); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }

  const fs::path before_;
  fs::path folder_;
};

std::string TextOf(const std::string& path) {
  return ReadFile(path, {.what = "file", .most_bytes = 1 << 20}).value_or("");
}

TEST_F(CalibrateTest, WritesAFileThatPlansAreMadeFor) {
  const Outcome first = Calibrate({"--devices", "2", "--out", "here.json", "--seconds", "0.0001"});
  ASSERT_EQ(first.code, ExitCode::kDone) << first.out << first.err;
  EXPECT_TRUE(absl::StrContains(first.out, "collectives, others: predicted / measured ")) << first.out;
  EXPECT_EQ(Names(), std::vector<std::string>{"here.json"});
  const std::string text = TextOf("here.json");
  const absl::StatusOr<search::Machines> machines = search::ParseClusterJson(text);
  ASSERT_TRUE(machines.ok()) << machines.status();
  EXPECT_EQ(machines->devices(), 2);
  EXPECT_EQ(machines->host.name, "here");
  EXPECT_EQ(machines->host.links[0].groups.size(), 1u);
  EXPECT_GE(machines->host.links[0].ramp.points.size(), 4u);
  EXPECT_GT(machines->host.input_bytes_per_second, 0);
  EXPECT_TRUE(absl::StrContains(text, "\"device.peak.f32\": \"product of f32 matrices with ")) << text;
  // It stays unless it is to be replaced.
  const Outcome again = Calibrate({"--devices", "2", "--out", "here.json"});
  EXPECT_EQ(again.code, ExitCode::kEnvironment);
  EXPECT_EQ(again.err, "error[E0601]: `here.json` exists; `--force` replaces it\n");
  EXPECT_EQ(TextOf("here.json"), text);
}

TEST_F(CalibrateTest, TheProgramForGpusMeasuresOnTheStandIn) {
  const std::string program = (before_ / "runtime/measure/measure_on_stand_in").string();
  ASSERT_EQ(std::system(absl::StrCat("WORLD_SIZE=2 OMP_NUM_THREADS=1 '", program, "' >log 2>&1").c_str()), 0)
      << TextOf("log");
  const absl::StatusOr<Measurements> measurements = ParseMeasurements(TextOf("measurements.jsonl"));
  ASSERT_TRUE(measurements.ok()) << measurements.status();
  ASSERT_EQ(measurements->ranks.size(), 2u);
  EXPECT_NE(measurements->ranks[0].device, measurements->ranks[1].device);
  EXPECT_TRUE(measurements->kernel.has_value() && measurements->overlap.has_value());
  EXPECT_EQ(measurements->host_copies.size(), 2u);
  const Calibration calibration =
      CalibrationFrom(*measurements, {.name = "gpus", .target = "cuda", .comm = "mpi", .hosts = 1, .ranks_on_host = 2});
  const std::string text = search::ClusterJson(calibration.machines, calibration.notes);
  const absl::StatusOr<search::Machines> machines = search::ParseClusterJson(text);
  ASSERT_TRUE(machines.ok()) << machines.status() << text;
  EXPECT_EQ(machines->devices(), 2);
}

TEST_F(CalibrateTest, RefusesWhatCannotBeMeasuredOrWritten) {
  const auto refused = [&](std::vector<std::string> words, ExitCode code) {
    const Outcome outcome = Calibrate(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return outcome.err;
  };
  EXPECT_TRUE(absl::StrContains(refused({"--out", "cpu.json"}, ExitCode::kUsage), "`cpu` is a preset"));
  EXPECT_TRUE(absl::StrContains(refused({"--out", "here/"}, ExitCode::kUsage), "names no file"));
  EXPECT_TRUE(absl::StrContains(refused({"--seconds", "0"}, ExitCode::kUsage), "is not a number of seconds"));
  EXPECT_TRUE(absl::StrContains(refused({"--out", "no/such.json"}, ExitCode::kEnvironment), "cannot write into"));
  const std::string many = absl::StrCat(4 * std::thread::hardware_concurrency() + 1);
  EXPECT_TRUE(absl::StrContains(refused({"--devices", many}, ExitCode::kUsage), "ranks a core are measured"));
  if (!CountGpus().ok()) {
    const std::string said = refused({"--target", "cuda", "--devices", "9"}, ExitCode::kEnvironment);
    EXPECT_TRUE(absl::StrContains(said, "NVIDIA driver")) << said;
  }
  std::ofstream("notes.json") << "{}";
  EXPECT_TRUE(absl::StrContains(refused({"--out", "notes.json", "--force"}, ExitCode::kEnvironment), "something else"));
  EXPECT_EQ(TextOf("notes.json"), "{}");
  EXPECT_TRUE(absl::StrContains(refused({"--hosts", "hosts"}, ExitCode::kModelWrong), "no such file"));
  std::ofstream("hosts") << "node1 slots=2\nnode2 slots=3\n";
  EXPECT_TRUE(absl::StrContains(refused({"--hosts", "hosts"}, ExitCode::kModelWrong), "describes equal hosts"));
  EXPECT_TRUE(absl::StrContains(refused({"--hosts", "hosts", "--comm", "local"}, ExitCode::kUsage), "names several"));
  EXPECT_TRUE(absl::StrContains(refused({"--hosts", "hosts", "--devices", "2"}, ExitCode::kUsage), "--devices"));
  EXPECT_EQ(Names().size(), 2u);
}

// With tools of its own on PATH.
class WithToolsTest : public CalibrateTest {
 protected:
  WithToolsTest() : path_(std::getenv("PATH")) {
    fs::create_directory("tools");
    setenv("PATH", (folder_ / "tools").c_str(), 1);
  }
  ~WithToolsTest() override { setenv("PATH", path_.c_str(), 1); }

  void WriteTool(const std::string& name, const std::string& text) {
    std::ofstream("tools/" + name) << "#!/bin/sh\n" << text << "\n";
    chmod(("tools/" + name).c_str(), 0755);
  }

  const std::string path_;
};

TEST_F(WithToolsTest, SaysWhatIsNotInstalled) {
  const std::vector<std::string> words = {"--devices", "1", "--out", "here.json"};
  EXPECT_TRUE(absl::StrContains(Calibrate(words).err, "error[E0603]: `make` is not installed"));
  WriteTool("make", "echo 'Makefile:9: *** oneDNN is not there: install it.  Stop.' >&2; exit 2");
  EXPECT_TRUE(absl::StrContains(Calibrate(words).err, "error[E0603]: `mpicxx` is not installed"));
  WriteTool("mpicxx", "");
  EXPECT_TRUE(absl::StrContains(Calibrate(words).err, "error[E0603]: `mpirun` is not installed"));
  WriteTool("mpirun", "");
  const Outcome outcome = Calibrate(words);
  EXPECT_EQ(outcome.code, ExitCode::kEnvironment);
  EXPECT_EQ(outcome.err, "error[E0603]: oneDNN is not there: install it\n");
  EXPECT_EQ(Names(), std::vector<std::string>{"tools"});
}

// The folder of the program goes, and so does what was started.
TEST_F(WithToolsTest, EndsAtASignalAndLeavesNothing) {
  WriteTool("make", absl::StrCat("echo $$ >'", folder_.string(), "/tools/started'; exec /bin/sleep 60"));
  for (const char* tool : {"mpicxx", "mpirun"}) WriteTool(tool, "");
  const pid_t child = fork();
  if (child == 0)
    _exit(static_cast<int>(RunCalibrate("cleave calibrate", "", {"--devices", "1", "--out", "here.json"})));
  std::string started;
  while (started.empty()) {
    usleep(10000);
    started = TextOf("tools/started");
  }
  kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_NE(kill(std::atoi(started.c_str()), 0), 0);
  EXPECT_EQ(Names(), std::vector<std::string>{"tools"});
}

TEST(HostsTest, AreReadAsOpenMpiDoes) {
  const auto hosts = ParseHosts("# Two of four.\nnode1 slots=4\n\n  node2\tslots=4  # The other.\n");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_EQ(hosts->hosts, 2);
  EXPECT_EQ(hosts->ranks_on_host, 4);
  EXPECT_EQ(ParseHosts("a\nb\nc\n")->ranks_on_host, 1);
  const auto message = [](const std::string& text) { return std::string(ParseHosts(text).status().message()); };
  EXPECT_EQ(message("# None.\n"), "no host is named");
  EXPECT_EQ(message("a\na\n"), "host `a` occurs twice");
  EXPECT_EQ(message("a\nb slots=x\n"), "line 2: expected a host as in `node1 slots=4`, found `b slots=x`");
  for (const char* line : {"a slots=0", "a slots=-1", "a slots=1 b", "a 4", "a slots=99999999999999999999"}) {
    EXPECT_TRUE(absl::StartsWith(message(line), "line 1: expected a host")) << line;
  }
}

}  // namespace
}  // namespace cleave::tools
