// Independent calculations, beside one another.
//
//   auto [few, more] = InParallel([&] { return ProgramOf(a); }, [&] { return ProgramOf(b); });
//   std::vector<Program> all = MapInParallel(parts.size(), [&](size_t i) { return ProgramOf(parts[i]); });
//
// What they read must not change meanwhile, and what they give must not depend on which one is faster.
#ifndef CLEAVE_BASE_PARALLEL_PARALLEL_H_
#define CLEAVE_BASE_PARALLEL_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace cleave {

// Runs on a thread of its own, or where there is none to be had, when the result is waited for.
std::future<void> RunBeside(std::function<void()> work);

// The results, in the order of the functions. All but the first run on threads of their own, or where there are none
// to be had, one after another.
template <typename First, typename... Others>
auto InParallel(First first, Others... others) {
  const auto begin = [](auto function) {
    using Result = decltype(function());
    const auto result = std::make_shared<std::optional<Result>>();
    const auto own = std::make_shared<decltype(function)>(std::move(function));
    std::future<void> running = RunBeside([result, own] { result->emplace((*own)()); });
    return [result, running = std::move(running)]() mutable -> Result {
      running.get();
      return *std::move(*result);
    };
  };
  auto running = std::make_tuple(begin(std::move(others))...);
  auto result = first();
  return std::apply(
      [&](auto&... get) { return std::tuple<decltype(result), decltype(get())...>(std::move(result), get()...); },
      running);
}

// of(0), of(1), …, of(count - 1), by as many threads as there are processors.
template <typename Function>
auto MapInParallel(size_t count, const Function& of) {
  using Result = decltype(of(size_t{0}));
  std::vector<std::optional<Result>> results(count);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) results[i].emplace(of(i));
  };
  std::vector<std::future<void>> running;
  const size_t threads = std::min<size_t>(count, std::max(1U, std::thread::hardware_concurrency()));
  for (size_t thread = 1; thread < threads; ++thread) {
    running.push_back(RunBeside(work));
  }
  work();
  for (std::future<void>& own : running) own.get();
  std::vector<Result> all;
  all.reserve(count);
  for (std::optional<Result>& result : results) all.push_back(*std::move(result));
  return all;
}

}  // namespace cleave

#endif  // CLEAVE_BASE_PARALLEL_PARALLEL_H_
