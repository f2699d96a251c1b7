// The names of the same op or tensor in repeated layers differ only in the numbers between their dots.
//
//   LayerNameOf("x.3.attn.out.matmul") == {.place = "x.#.attn.out.matmul", .numbers = {3}}
//   FoldedName({"x.0.ln", "x.1.ln", "x.2.ln"}) == "x.0..2.ln"
#ifndef CLEAVE_BASE_LAYER_NAMES_LAYER_NAMES_H_
#define CLEAVE_BASE_LAYER_NAMES_LAYER_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace cleave {

using LayerNumbers = absl::InlinedVector<int64_t, 4>;  // In the order of the name.

struct LayerName {
  std::string place;  // "x.#.attn.out.matmul"
  LayerNumbers numbers;

  bool operator==(const LayerName&) const = default;
};

LayerName LayerNameOf(absl::string_view name);
// Its numbers alone, which takes less time.
LayerNumbers LayerNumbersOf(absl::string_view name);

// The name up to its last number, "x.3" of "x.3.attn.out.matmul"; empty where it has none.
absl::string_view LayerOf(absl::string_view name);

// One name for all: where their numbers differ, it has `least..greatest` if all numbers between occur, else `*`.
// REQUIRES: at least one name; all have the same place.
std::string FoldedName(absl::Span<const std::string> names);

// `text` with the numbers between dots replaced in every word, so that sentences about equal layers become equal.
std::string FoldedText(absl::string_view text);

}  // namespace cleave

#endif  // CLEAVE_BASE_LAYER_NAMES_LAYER_NAMES_H_
