// Rules of many ops, each made once for all ops that share it: those of one kind, types and attributes, as repeated
// layers have them.
//
//   RuleTable rules;
//   for (const Op& op : graph.ops) Use(rules.Of(graph, op));   // Equal to RuleOf(graph, op).
//
// Not thread-safe.
#ifndef CLEAVE_IR_GRAPH_OPS_RULE_TABLE_H_
#define CLEAVE_IR_GRAPH_OPS_RULE_TABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {

class RuleTable {
 public:
  // Valid as long as the table; the same object for ops that share it.
  const Rule& Of(const Graph& graph, const Op& op);
  // The same, or null where it has not been made.
  const Rule* Known(const Graph& graph, const Op& op);
  const Rule& Of(OpKind kind, absl::Span<const TensorType* const> inputs, const TensorType& output,
                 const Attributes& attributes);
  const Rule* Known(OpKind kind, absl::Span<const TensorType* const> inputs, const TensorType& output,
                    const Attributes& attributes);

  // The number of rules that were made.
  int64_t size() const { return size_; }

 private:
  struct Entry {
    Attributes attributes;
    std::unique_ptr<const Rule> rule;
  };

  // Those of the kind and the types.
  std::vector<Entry>& EntriesOf(OpKind kind, absl::Span<const TensorType* const> inputs, const TensorType& output);
  absl::Span<const TensorType* const> InputTypes(const Graph& graph, const Op& op);

  // Per kind and types, written as numbers.
  absl::flat_hash_map<std::vector<int64_t>, std::vector<Entry>> entries_;
  int64_t size_ = 0;
  std::vector<int64_t> key_;  // Space that calls share.
  std::vector<const TensorType*> inputs_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_RULE_TABLE_H_
