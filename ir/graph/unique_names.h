// New names beside those of a graph's ops.
//
//   UniqueNames names(graph);     // With an op "h1.view".
//   names.Take("h1.view") == "h1.view_1"
//   names.Take("h1.view") == "h1.view_2"
#ifndef CLEAVE_IR_GRAPH_UNIQUE_NAMES_H_
#define CLEAVE_IR_GRAPH_UNIQUE_NAMES_H_

#include <deque>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"

namespace cleave::ir {

class UniqueNames {
 public:
  // The names of the graph's ops, which outlive this, are taken.
  explicit UniqueNames(const Graph& graph);

  // `wish` if it is free, else `wish` with the first number behind it that makes it free. It is taken afterwards.
  std::string Take(const std::string& wish);

 private:
  absl::flat_hash_set<absl::string_view> taken_;
  std::deque<std::string> own_;  // Those that were taken here.
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_UNIQUE_NAMES_H_
