// Injects any number of faults into jobs, prints what did not end as it must, and counts what was tried.
//
//   bazel run //tests/faults -- --injections 500 --seed 1
//   bazel run //tests/faults -- --injections 500 --seed 1 --only 217     # One of them again.
//   bazel run //tests/faults -- --injections 200 --fault 11              # The fault of this number alone.

#include <atomic>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/faults/injection.h"
#include "tests/faults/job.h"
#include "tests/support/command.h"

namespace cleave::tests::faults {
namespace {

int Main(const std::vector<std::string>& arguments) {
  std::map<std::string, int64_t> options = {
      {"--injections", 500}, {"--seed", 1}, {"--jobs", 2}, {"--only", -1}, {"--fault", -1}};
  for (size_t i = 0; i < arguments.size(); i += 2) {
    const auto option = options.find(arguments[i]);
    if (option == options.end() || i + 1 == arguments.size() || !absl::SimpleAtoi(arguments[i + 1], &option->second)) {
      std::cerr << "use --injections N --seed S --jobs J --only I --fault F\n";
      return 2;
    }
  }
  std::vector<Programs> all = Copies(BuildPrograms(FreshFolder("faults")), static_cast<int>(options["--jobs"]));
  MountSmallDisks(all);
  std::optional<Fault> only;
  if (options["--fault"] >= 0) only = static_cast<Fault>(options["--fault"] % kFaults);
  const std::vector<Injection> injections =
      Injections(static_cast<int>(options["--injections"]), static_cast<uint64_t>(options["--seed"]), only);
  std::mutex mutex;
  std::map<std::string, int> tried;
  int failures = 0;
  double longest = 0;
  std::atomic<size_t> next = 0;
  const auto work = [&](const Programs& programs) {
    for (size_t i; (i = next++) < injections.size();) {
      if (options["--only"] >= 0 && static_cast<size_t>(options["--only"]) != i) continue;
      const double start = Seconds();
      const std::optional<std::string> failure = Try(injections[i], programs);
      const std::lock_guard<std::mutex> lock(mutex);
      longest = std::max(longest, Seconds() - start);
      const std::string name = ToString(injections[i]);
      ++tried[name.substr(0, name.find(','))];
      if (!failure.has_value()) continue;
      ++failures;
      std::cout << "FAILED: injection " << i << " (" << name << "): " << *failure << "\n" << std::flush;
    }
  };
  std::vector<std::thread> workers;
  for (const Programs& programs : all) workers.emplace_back(work, programs);
  for (std::thread& worker : workers) worker.join();
  for (const auto& [name, count] : tried) std::cout << name << ": " << count << "\n";
  std::cout << failures << " failures; the longest took " << longest << " s\n";
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cleave::tests::faults

int main(int argc, char** argv) { return cleave::tests::faults::Main({argv + 1, argv + argc}); }
