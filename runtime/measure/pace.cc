#include "runtime/measure/pace.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/device/memory.h"
#include "runtime/device/recorded.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kFewest = 2, kMost = 100;  // Repetitions of a round.
constexpr int64_t kMostCalls = 256;
constexpr int kTries = 3;

// What a repetition takes at least, so that the clock and the start of a graph are a small part of it.
double ShortestRepetition() { return TensorsAreOnHost() ? 2e-5 : 2e-3; }

// From when all ranks are there until the work of this one is done.
double SecondsOf(Comm& comm, const std::function<void()>& work) {
  comm.Barrier(comm.world());
  FinishWork();
  const auto start = std::chrono::steady_clock::now();
  work();
  FinishWork();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Least(const std::vector<double>& seconds) { return *std::min_element(seconds.begin(), seconds.end()); }

}  // namespace

bool Figure::IsOfSame(const Figure& other) const {
  return std::strcmp(what, other.what) == 0 && std::strcmp(of, other.of) == 0 && ranks == other.ranks &&
         size == other.size;
}

double Pace::Slowest(double seconds) { return Slowest(std::vector<double>{seconds})[0]; }

std::vector<double> Pace::Slowest(const std::vector<double>& seconds) {
  std::string text;
  for (const double value : seconds) text += Format("%.9g ", value);
  std::vector<double> slowest(seconds.size(), 0);
  for (const std::string& of_rank : comm_.GatherText(text)) {
    const char* at = of_rank.c_str();
    for (double& value : slowest) {
      char* end = nullptr;
      value = std::max(value, std::strtod(at, &end));
      at = end;
    }
  }
  return slowest;
}

double Pace::Once(const std::function<void()>& call) {
  SecondsOf(comm_, call);  // Makes what a library needs for the shape, and connections.
  std::vector<double> tries;
  while (tries.size() < kTries && (tries.empty() || tries.back() < seconds_ / kRounds)) {
    tries.push_back(Slowest(SecondsOf(comm_, call)));
  }
  return Least(tries);
}

bool Pace::Time(const Figure& figure, double growth, const std::function<void()>& call, bool is_recordable) {
  watch_.Start(figure.what, 0);
  const double once = Once(call);
  const int64_t calls = std::clamp<int64_t>(static_cast<int64_t>(ShortestRepetition() / once) + 1, 1, kMostCalls);
  const std::function<void()> repetition = [&] {
    for (int64_t i = 0; i < calls; ++i) call();
  };
  Recorded recorded;
  const std::function<void()> replay = [&] { recorded.Run(repetition); };
  const std::function<void()>& timed = is_recordable ? replay : repetition;
  if (!TensorsAreOnHost()) {
    SecondsOf(comm_, timed);
    SecondsOf(comm_, timed);
  }
  const double of_round = seconds_ / kRounds, of_repetition = once * static_cast<double>(calls);
  const auto repetitions = std::clamp<int64_t>(static_cast<int64_t>(of_round / of_repetition), kFewest, kMost);
  std::vector<double> seconds;
  for (int64_t i = 0; i < repetitions; ++i) {
    seconds.push_back(SecondsOf(comm_, timed) / static_cast<double>(calls));
  }
  seconds = Slowest(seconds);
  watch_.Finish();
  auto found =
      std::find_if(figures_.begin(), figures_.end(), [&](const Figure& other) { return other.IsOfSame(figure); });
  if (found == figures_.end()) found = figures_.insert(found, figure);
  found->seconds.insert(found->seconds.end(), seconds.begin(), seconds.end());
  return growth * Least(found->seconds) <= seconds_;
}

}  // namespace cleave::runtime
