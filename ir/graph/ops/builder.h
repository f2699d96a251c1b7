// Builds a Graph op by op, with shapes inferred and names made unique.
//
//   GraphBuilder builder(std::move(graph));
//   builder.SetLine(7);
//   OpId y = builder.Add(OpKind::kMatmul, {x, w}, {{attribute::kTransposeB, true}}, "h1.matmul");
#ifndef CLEAVE_IR_GRAPH_OPS_BUILDER_H_
#define CLEAVE_IR_GRAPH_OPS_BUILDER_H_

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {

class GraphBuilder {
 public:
  GraphBuilder() = default;
  explicit GraphBuilder(Graph graph);

  // Adds an op whose arguments come from a user: returns why it cannot be built instead of checking.
  // `name` is a wish: a taken name gets "_1", "_2" … appended. Missing attributes take their defaults.
  std::variant<OpId, OpError> TryAdd(OpKind kind, std::vector<OpId> inputs, Attributes attributes,
                                     const std::string& name);

  // The same for ops that the compiler makes itself. CHECKs that inference accepts it.
  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes, const std::string& name);

  // Adds what `op`, which may be of another graph, computes, of `inputs`: nothing is inferred. REQUIRES: their types
  // are those of the inputs of `op`.
  OpId AddLike(const Op& op, std::vector<OpId> inputs, const std::string& name);

  // Adds a value that is made elsewhere, of any type: an input, though those of models are f32 or i32.
  OpId AddSource(const TensorType& type, const std::string& name);

  // Says how many ops there will be, which takes less time than to find out.
  void Reserve(size_t ops);

  // Removes the ops from `first` on and returns them in program order; their names are free again. REQUIRES: no op that
  // is kept reads them.
  std::vector<Op> RemoveFrom(OpId first);

  // The phase of the ops that are added from now on.
  void SetPhase(Phase phase) { phase_ = phase; }
  // Returns the line that was set before.
  int SetLine(int line) { return std::exchange(line_, line); }

  // What the ops are made of that are added from now on: they belong to its passes, and each has a place of its own
  // within that of `of`, by what it is called behind `name` or by its kind. Copies of an op are given its own
  // repetition instead.
  struct Source {
    Repetition of = {};
    std::string name = {};
  };
  Source SetSource(Source source) { return std::exchange(source_, std::move(source)); }
  Source SetSource(const Op& op) { return SetSource({op.repetition, op.name}); }

  const Graph& graph() const { return graph_; }
  Graph& mutable_graph() { return graph_; }
  const TensorType& type(OpId id) const { return graph_.op(id).type; }
  // REQUIRES: no op of `mutable_graph()` was given another name.
  std::optional<OpId> Find(absl::string_view name) const;
  Graph Build() &&;

 private:
  OpId Append(OpKind kind, std::vector<OpId> inputs, Attributes attributes, TensorType type, const std::string& name);
  std::string UniqueName(const std::string& wish);
  Repetition RepetitionOf(OpKind kind, const std::string& name);

  Graph graph_;
  absl::flat_hash_map<std::string, OpId> by_name_;
  // For the names that were taken: makes many equal wishes take linear time.
  absl::flat_hash_map<std::string, int64_t> last_suffix_;
  Phase phase_ = Phase::kForward;
  int line_ = 0;
  Source source_;
  absl::flat_hash_map<TextPlace, uint64_t> made_;  // How many ops have been made, by place and passes.
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_BUILDER_H_
