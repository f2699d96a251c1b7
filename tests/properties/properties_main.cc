// Checks any number of random cases on all cores and prints what they covered.
//
//   bazel run //tests/properties -- --cases 200000 --seed 1
//   bazel run //tests/properties -- --cases 1 --seed 4711       # Runs the case of a failure again.
//   bazel run //tests/properties -- --programs 1000             # Runs cases as programs under mpirun.
//   bazel run //tests/properties -- --mutants 1000              # Gives broken programs to the proof.
//   bazel run //tests/properties -- --models 20000              # Compiles and proves random models.
//   bazel run //tests/properties -- --model-programs 1000       # Runs random models as programs under mpirun.
//   bazel run //tests/properties -- --layered 3000              # Trains models of layers with random settings.
//   bazel run //tests/properties -- --pipelines 10000           # Compiles those of them that have stages.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "ir/testing/random_plan.h"
#include "tests/properties/case.h"
#include "tests/properties/coverage.h"
#include "tests/properties/failure.h"
#include "tests/properties/layered_check.h"
#include "tests/properties/model_check.h"
#include "tests/properties/run_batch.h"
#include "tests/properties/verdict.h"

namespace cleave::tests::properties {
namespace {

struct Options {
  uint64_t seed = 1;  // Of the first case; the others follow.
  uint64_t cases = 2000;
  uint64_t proof_every = 4;     // Every so many cases, the compiler's own proof runs too.
  uint64_t programs = 0;        // Instead: so many cases as programs,
  uint64_t mutants = 0;         // or so many cases with mutants,
  uint64_t models = 0;          // or so many models,
  uint64_t model_programs = 0;  // or so many models as programs,
  uint64_t layered = 0;         // or so many models of layers,
  uint64_t pipelines = 0;       // or those of so many that have stages, which are only compiled.
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  CaseOptions of_case;
};

// Returns false for arguments that it does not know.
bool Read(const std::vector<std::string>& arguments, Options& options) {
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    uint64_t value = 0;
    if (!absl::SimpleAtoi(arguments[i + 1], &value)) return false;
    if (arguments[i] == "--seed") {
      options.seed = value;
    } else if (arguments[i] == "--cases") {
      options.cases = value;
    } else if (arguments[i] == "--proof_every") {
      options.proof_every = value;
    } else if (arguments[i] == "--programs") {
      options.programs = value;
    } else if (arguments[i] == "--mutants") {
      options.mutants = value;
    } else if (arguments[i] == "--models") {
      options.models = value;
    } else if (arguments[i] == "--model-programs") {
      options.model_programs = value;
    } else if (arguments[i] == "--layered") {
      options.layered = value;
    } else if (arguments[i] == "--pipelines") {
      options.pipelines = value;
    } else if (arguments[i] == "--threads") {
      options.threads = static_cast<unsigned>(value);
    } else if (arguments[i] == "--ops") {
      options.of_case.most_ops = static_cast<int>(value);
    } else if (arguments[i] == "--ranks") {
      options.of_case.most_ranks = static_cast<int64_t>(value);
    } else {
      return false;
    }
  }
  return arguments.size() % 2 == 0;
}

// A fresh folder of this process.
std::string FolderOfRun() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("cleave_properties_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  return folder.string();
}

int PrintRuns(uint64_t programs, const BatchReport& report) {
  std::cout << programs << " programs, " << report.Summary() << ", " << report.failures.size() << " failures\n";
  return report.failures.empty() ? 0 : 1;
}

// Batches of programs, one after another in one folder: building a batch keeps all cores busy.
int RunPrograms(const Options& options) {
  constexpr uint64_t kCasesOfABatch = 10;
  constexpr int64_t kMostRanks = 6;
  const std::string folder = FolderOfRun();
  BatchReport all;
  for (uint64_t first = 0; first < options.programs; first += kCasesOfABatch) {
    std::vector<uint64_t> seeds;
    for (uint64_t i = first; i < std::min(first + kCasesOfABatch, options.programs); ++i) {
      seeds.push_back(options.seed + i);
    }
    ir::Random random(seeds.front());
    const ir::Mesh mesh = ir::RandomMesh(ir::RandomInt(random, 1, kMostRanks), random);
    const BatchReport report = RunBatch(folder, mesh, seeds, {.most_ops = 10});
    for (const std::string& failure : report.failures) std::cout << failure << std::endl;
    all.Add(report);
  }
  return PrintRuns(options.programs, all);
}

// Models on all cores, in processes: a crash is the end of one of them, and a failure of all.
int CheckModelsInProcesses(const Options& options) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < options.threads; ++i) {
    const uint64_t begin = options.models * i / options.threads, end = options.models * (i + 1) / options.threads;
    children.push_back(fork());
    if (children.back() != 0) continue;
    const ModelReport report = CheckModels(options.seed + begin, static_cast<int64_t>(end - begin), FolderOfRun());
    std::cout << report.Text() << std::endl;
    _exit(report.failures == 0 ? 0 : 1);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) ++failed;
  }
  return failed == 0 ? 0 : 1;
}

int RunModelPrograms(const Options& options) {
  const ModelRuns runs = RunModels(options.seed, static_cast<int64_t>(options.model_programs), FolderOfRun());
  for (const std::string& failure : runs.report.failures) std::cout << failure << std::endl;
  return PrintRuns(static_cast<uint64_t>(runs.programs), runs.report);
}

int RunLayered(const Options& options, uint64_t count, LayeredDepth depth) {
  const LayeredReport report = CheckLayered(options.seed, static_cast<int64_t>(count), FolderOfRun(), depth);
  std::cout << report.Text() << "\n";
  return report.failures.empty() ? 0 : 1;
}

int RunMutants(const Options& options) {
  constexpr int kPlaces = 2;
  VerdictTable table;
  int missed = 0;
  for (uint64_t seed = options.seed; seed < options.seed + options.mutants; ++seed) {
    CaseOptions of_case = options.of_case;
    of_case.most_ops = std::min(of_case.most_ops, 8);
    const absl::StatusOr<Compiled> compiled = Compile(RandomCase(seed, of_case));
    if (!compiled.ok()) continue;  // That is a failure of the other kind of run.
    for (const std::string& mutant : TryMutants(*compiled, Mutations(), kPlaces, seed, table)) {
      std::cout << "seed " << seed << ": " << mutant << std::endl;
      ++missed;
    }
  }
  std::cout << TableText(table);
  return missed == 0 ? 0 : 1;
}

// Checks cases on many threads; prints failures as they come.
class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  int Do() {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options_.threads; ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << coverage_.Text() << options_.cases << " cases in " << seconds << " s, "
              << static_cast<double>(options_.cases) / seconds / options_.threads << " per second and thread, "
              << failures_ << " failed\n";
    return failures_ == 0 ? 0 : 1;
  }

 private:
  void Work() {
    Coverage coverage;
    for (uint64_t i = next_++; i < options_.cases; i = next_++) {
      const uint64_t seed = options_.seed + i;
      const PlannedGraph sample = RandomCase(seed, options_.of_case);
      const bool with_proof = options_.proof_every > 0 && i % options_.proof_every == 0;
      if (const std::optional<std::string> failure = FindFailure(sample, {.with_proof = with_proof}, &coverage)) {
        const std::string report = FailureReport(seed, sample, *failure, {.with_proof = with_proof});
        const std::lock_guard<std::mutex> lock(mutex_);
        ++failures_;
        std::cout << report << std::endl;
      }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    coverage_.Add(coverage);
  }

  const Options options_;
  std::atomic<uint64_t> next_ = 0;
  std::mutex mutex_;
  Coverage coverage_;
  int failures_ = 0;
};

}  // namespace
}  // namespace cleave::tests::properties

int main(int argc, char** argv) {
  cleave::tests::properties::Options options;
  if (!cleave::tests::properties::Read(std::vector<std::string>(argv + 1, argv + argc), options)) {
    std::cerr
        << "usage: properties [--seed N] [--cases N | --programs N | --mutants N | --models N | --model-programs N | "
           "--layered N | --pipelines N] "
           "[--proof_every N] [--threads N] [--ops N] [--ranks N]\n";
    return 2;
  }
  if (options.programs > 0) return cleave::tests::properties::RunPrograms(options);
  using cleave::tests::properties::LayeredDepth;
  using cleave::tests::properties::RunLayered;
  if (options.layered > 0) return RunLayered(options, options.layered, LayeredDepth::kTraining);
  if (options.pipelines > 0) return RunLayered(options, options.pipelines, LayeredDepth::kProgram);
  if (options.mutants > 0) return cleave::tests::properties::RunMutants(options);
  if (options.models > 0) return cleave::tests::properties::CheckModelsInProcesses(options);
  if (options.model_programs > 0) return cleave::tests::properties::RunModelPrograms(options);
  return cleave::tests::properties::Run(options).Do();
}
