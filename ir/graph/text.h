// The text form of a Graph, one op per line, parsed back:
//
//   graph MnistMlp "mnist_mlp.model" "xxh3:…" {
//     %4: f32[256, 512] = matmul(%2, %3) {transpose_b = true}  // h1.matmul, mnist_mlp.model:7
//     …
//     loss %12
//     metric accuracy %13
//     update %3 = %40
//   }
//
// A backward op carries `phase(backward)`, `from(%4, (0, 2, 1))` and `gradient_of(%4)` after its attributes. The name
// and line in the trailing comment are part of the form. The graph of a manual model names its ranks after the hash, `
// ranks(dp = 4, tp = 2) {`. docs/formats/ir.md has the grammar.
#ifndef CLEAVE_IR_GRAPH_TEXT_H_
#define CLEAVE_IR_GRAPH_TEXT_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"

namespace cleave::ir {

// `annotate` may add text after an op's attributes, such as " in_strategy((4, 2), (1, 2))"; it may be null.
std::string GraphText(const Graph& graph, const std::function<std::string(const Op&)>& annotate = nullptr);

// Parses what GraphText writes (annotations are skipped). Checks ids and their order; VerifyGraph (ir/graph/ops) checks
// types. An error gives line and column and what was expected.
absl::StatusOr<Graph> ParseGraph(absl::string_view text);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_TEXT_H_
