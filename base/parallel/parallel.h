// Independent calculations, beside one another.
//
//   auto [few, more] = InParallel([&] { return ProgramOf(a); }, [&] { return ProgramOf(b); });
//
// What they read must not change meanwhile, and what they give must not depend on which one is faster.
#ifndef CLEAVE_BASE_PARALLEL_PARALLEL_H_
#define CLEAVE_BASE_PARALLEL_PARALLEL_H_

#include <future>
#include <tuple>
#include <utility>

namespace cleave {

// The results, in the order of the functions. All but the first run on threads of their own, or where there are none
// to be had, one after another.
template <typename First, typename... Others>
auto InParallel(First first, Others... others) {
  auto running = std::make_tuple(std::async(std::launch::async | std::launch::deferred, std::move(others))...);
  auto result = first();
  return std::apply(
      [&](auto&... future) {
        return std::tuple<decltype(result), decltype(future.get())...>(std::move(result), future.get()...);
      },
      running);
}

}  // namespace cleave

#endif  // CLEAVE_BASE_PARALLEL_PARALLEL_H_
