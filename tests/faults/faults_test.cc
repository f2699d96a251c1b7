// A sample of the faults that //tests/faults:faults injects.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/faults/injection.h"
#include "tests/support/command.h"

namespace cleave::tests::faults {
namespace {

constexpr int kInjections = 34;
constexpr uint64_t kSeed = 1;
constexpr int kJobs = 3;  // Some faults are mostly waited for.

TEST(Faults, EachJobEndsInTimeAndSaysWhy) {
  std::vector<Programs> all = Copies(BuildPrograms(FreshFolder("faults")), kJobs);
  ASSERT_FALSE(HasFailure());
  MountSmallDisks(all);
  std::vector<Injection> injections = Injections(kInjections, kSeed);
  injections.push_back({.fault = Fault::kNoRoom, .way = Way::kMpirun, .milliseconds = 100, .number = 1});
  injections.push_back({.fault = Fault::kRestart, .way = Way::kDynamic, .milliseconds = 100, .number = 1});
  std::vector<std::string> failures(injections.size());
  std::atomic<size_t> next = 0;
  std::vector<std::thread> workers;
  for (int worker = 0; worker < kJobs; ++worker) {
    workers.emplace_back([&, worker] {
      const Programs& programs = all[static_cast<size_t>(worker)];
      for (size_t i; (i = next++) < injections.size();) failures[i] = Try(injections[i], programs).value_or("");
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (size_t i = 0; i < failures.size(); ++i) EXPECT_EQ(failures[i], "") << ToString(injections[i]);
}

TEST(Faults, EveryFaultIsTriedWithEveryWay) {
  std::vector<bool> tried(kFaults * kWays, false);
  for (const Injection& injection : Injections(kFaults * kWays, 7)) {
    tried[static_cast<size_t>(injection.fault) * kWays + static_cast<size_t>(injection.way)] = true;
  }
  EXPECT_EQ(tried, std::vector<bool>(kFaults * kWays, true));
}

}  // namespace
}  // namespace cleave::tests::faults
