// Checks of one file of the tree against the order of layers (order.h).
//
//   for (const Finding& finding : CheckSource("ir/sharding/mesh/mesh.cc", text)) Report(finding);
//
// Paths are from the root of the project. Pure functions: the tree itself is read by tree_test.
#ifndef CLEAVE_TESTS_LAYERING_LAYERING_H_
#define CLEAVE_TESTS_LAYERING_LAYERING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave::tests::layering {

struct Finding {
  std::string path;
  int line = 0;  // From 1; 0 for the whole file.
  std::string message;

  bool operator==(const Finding&) const = default;
};

// "ir/sharding/mesh/mesh.cc:3: ir may not use search".
std::string ToString(const Finding& finding);

// Includes that point in the wrong direction, and vendor headers outside their crate. Raw strings and comments are
// ignored.
std::vector<Finding> CheckSource(absl::string_view path, absl::string_view text);

// Labels that point in the wrong direction, and a file that does not begin with a sentence in a comment. Labels of
// plain text may point anywhere: the examples, and for `codegen`, which embeds them, targets of `runtime` called
// "sources" or "…files". `runtime` and tests of `codegen` may also name `tests/stand_in`, which takes the place of the
// CUDA libraries.
std::vector<Finding> CheckBuild(absl::string_view path, absl::string_view text);

// The classes and structs that a file defines where other files can see them, with their namespaces: "cleave::ir::Op".
// Two of one name break the one-definition rule: a program takes the functions of either for both, and no linker says
// so. REQUIRES: `text` is laid out as clang-format leaves it.
std::vector<std::string> VisibleTypes(absl::string_view text);

}  // namespace cleave::tests::layering

#endif  // CLEAVE_TESTS_LAYERING_LAYERING_H_
