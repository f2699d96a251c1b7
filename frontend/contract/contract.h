// What a model expects of its plan: the `expect` block as values.
//
//   expect {
//       all_gather <= 2;                  // Bound
//       layout(h1.weight) = (tp, _);      // ExpectedLayout
//   }
#ifndef CLEAVE_FRONTEND_CONTRACT_CONTRACT_H_
#define CLEAVE_FRONTEND_CONTRACT_CONTRACT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

enum class Unit { kCount, kBytes, kSeconds };

// A number of a plan that can be bounded.
struct FigureName {
  const char* name;  // "step"; that of a kind of collectives: how many a step has.
  Unit unit;
};

inline constexpr char kAllCollectives[] = "collectives";  // Of every kind.
inline constexpr char kSent[] = "sent";                   // By each rank in a step.
inline constexpr char kMemory[] = "memory";               // Of the rank that needs most.
inline constexpr char kStep[] = "step";                   // Predicted time.

absl::Span<const FigureName> Figures();

// `sent <= 64MiB`.
struct Bound {
  Span span;
  std::string text;    // As it is written: "sent <= 64MiB".
  std::string figure;  // One of Figures().
  Unit unit = Unit::kCount;
  dsl::syntax::BinaryOperator comparison = dsl::syntax::BinaryOperator::kLessEqual;  // Of a figure with `limit`.
  double limit = 0;                                                                  // In bytes or seconds.

  bool operator==(const Bound&) const = default;
};

// `layout(h1.weight) = (tp, _)`: for each dimension the mesh axes that cut it, major first.
struct ExpectedLayout {
  Span span;
  std::string name;  // Of an op or a parameter; with `*` and `?` of several.
  Span name_span;
  std::string layout;  // As it is written: "(tp, _)".
  Span layout_span;
  std::vector<std::vector<ir::Placed<std::string>>> dimensions;

  bool operator==(const ExpectedLayout&) const = default;
};

// In the order of the text.
struct Contract {
  std::vector<Bound> bounds;
  std::vector<ExpectedLayout> layouts;

  bool operator==(const Contract&) const = default;
};

// What is wrong with an expectation is reported (E0803), and the expectation left out.
Contract ReadContract(const dsl::syntax::Expect& expect, Diagnostics& diagnostics);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_CONTRACT_CONTRACT_H_
