// Which layer may use which, and where the headers of third-party libraries may be included.
#ifndef CLEAVE_TESTS_LAYERING_ORDER_H_
#define CLEAVE_TESTS_LAYERING_ORDER_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace cleave::tests::layering {

// A top-level folder that holds crates.
struct Layer {
  absl::string_view name;
  absl::Span<const absl::string_view> uses;  // Besides itself.
};

absl::Span<const Layer> Layers();

// The layer of a path from the root, or nullptr for a folder that is not a layer.
const Layer* LayerOf(absl::string_view path);

// The same for the areas that a layer is divided into; nullptr where it is not divided. A test may use all of its
// layer.
const Layer* AreaOf(absl::string_view path);

bool MayUse(const Layer& user, const Layer& used);

// Headers of a library that only these folders may include.
struct Restriction {
  absl::string_view library;
  absl::Span<const absl::string_view> prefixes;  // Of the included path; it ends with the name or with part of it.
  absl::Span<const absl::string_view> folders;   // That may include them.
};

// The restriction for `header`, as written in an include, or nullptr.
const Restriction* RestrictionOf(absl::string_view header);

}  // namespace cleave::tests::layering

#endif  // CLEAVE_TESTS_LAYERING_ORDER_H_
