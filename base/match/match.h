// Exhaustive matching on a std::variant.
//
//   std::string text = Match(expression,
//       [](const Name& name) { return name.text; },
//       [](const Call& call) { return call.callee; });
//
// A call that lacks a case for an alternative does not compile.
#ifndef CLEAVE_BASE_MATCH_MATCH_H_
#define CLEAVE_BASE_MATCH_MATCH_H_

#include <utility>
#include <variant>

namespace cleave {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

template <typename Variant, typename... Cases>
decltype(auto) Match(Variant&& variant, Cases&&... cases) {
  return std::visit(Overloaded{std::forward<Cases>(cases)...}, std::forward<Variant>(variant));
}

}  // namespace cleave

#endif  // CLEAVE_BASE_MATCH_MATCH_H_
