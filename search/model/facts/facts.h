// Facts about a training graph that searches use, computed once: rules, readers, and how each op gets its strategy.
//
//   const GraphFacts facts = FactsOf(graph);
//   if (facts.roles[op] == Role::kProduct) ...
#ifndef CLEAVE_SEARCH_MODEL_FACTS_FACTS_H_
#define CLEAVE_SEARCH_MODEL_FACTS_FACTS_H_

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/tensor/rule/rule.h"
#include "search/model/shorten/shorten.h"

namespace cleave::search {

// How an op gets its strategy.
enum class Role {
  kProduct,    // A forward product: a search sets it.
  kLight,      // Any other forward op that depends on a parameter: a search sets it too.
  kData,       // A forward op that depends on data and constants only: made in the layout in which it is read.
  kInput,      // Data: read in the layout in which it is used.
  kConstant,   // A constant or a scalar of the step: replicated.
  kParameter,  // Stored as its leader reads it.
  kCopy,       // A parameter in another type: made as its leader reads it.
  kInherits,   // A backward op: has the strategy of its forward op.
  kSum,        // A sum of a value's gradients, or a parameter's gradient in another shape.
  kUpdate,     // Optimizer state and update: in the storage layout of the parameter.
  kAside,      // Only metrics or looks need it, and no file: has no price, and is decided last (search/knobs/aside.h).
};

// One read of a value.
struct Read {
  ir::OpId reader;
  int input = 0;

  bool operator==(const Read&) const = default;
};

// How many tensors of this size a message may have, this one included.
struct SentTogether {
  int64_t equal = 1;  // Of its shape.
  int64_t all = 1;    // Of any shape.

  bool operator==(const SentTogether&) const = default;
};

struct GraphFacts {
  const ir::Graph* graph = nullptr;  // Outlives the facts.
  int64_t micro_batches = 1;
  // How many equal ops each one stands for (search/model/shorten). Prices count it so often.
  OpTimes times;
  IdVector<ir::OpId, ir::BatchUse> uses;  // All kOnce where there is one micro-batch.
  std::vector<ir::Rule> rules;            // Equal ops share one.
  IdVector<ir::OpId, int> rule_of;        // Indexes into rules.
  IdVector<ir::OpId, Role> roles;
  IdVector<ir::OpId, ir::OpClass> classes;
  // The ops whose strategies a search sets, in program order: kProduct and kLight. All others follow from these.
  std::vector<ir::OpId> set_ops;
  IdVector<ir::OpId, double> product_flops;              // Of a product; 0 for other ops.
  IdVector<ir::OpId, std::vector<Read>> reads;           // By ops that are not aside, in program order.
  IdVector<ir::OpId, std::vector<ir::OpId>> inheritors;  // Backward ops that inherit from a forward op.
  // Of a parameter or a copy: the read that decides its layout; its own id where nothing reads it.
  IdVector<ir::OpId, Read> leaders;
  IdVector<ir::OpId, std::vector<ir::OpId>> led;   // Of a forward op: those whose leader it is.
  IdVector<ir::OpId, ir::OpId> whole_sums;         // Of a sum: the last sum of its chain.
  IdVector<ir::OpId, std::vector<ir::OpId>> sums;  // Of a forward op: the sums that make its value's gradient.
  // Of a sum: whether a summand is the whole gradient of another value, as along residual connections. Such a sum has
  // the layout of the value whose gradient it is, so that no op's strategy depends on ops many layers away.
  IdVector<ir::OpId, uint8_t> continues_other_sum;
  IdVector<ir::OpId, std::vector<ir::OpId>>
      update_groups;                                // Of a parameter: the states and update ops that have its layout.
  IdVector<ir::OpId, ir::OpId> updated_parameters;  // Of these: that parameter. Of all others: the op itself.
  // Of a table's gradient that is applied by rows (ir/graph/row_updates), and of ops that read it: the most rows that
  // are touched. 0 for all other ops.
  IdVector<ir::OpId, int64_t> touched_rows;
  // Whether redistributions of the value have a price: not those of scalars, of ops that are aside, and of gradients of
  // vectors, which are small and sent with others.
  IdVector<ir::OpId, uint8_t> priced;
  IdVector<ir::OpId, uint8_t> gradient;  // Whether it is (a summand of) a parameter's gradient, or of the update.
  // Of gradients and new parameters; 1 for all other values.
  IdVector<ir::OpId, SentTogether> sent_together;
  // Of an op that does not inherit: those of it and its inheritors that have inner factors, in program order. They
  // share the statistics of their distributed forms (ir/transforms/distribute).
  IdVector<ir::OpId, std::vector<ir::OpId>> inner_groups;
  // Equal for groups whose prices are equal functions of their members' strategies; -1 for an empty group.
  IdVector<ir::OpId, int> inner_kinds;

  const ir::Rule& rule(ir::OpId op) const { return rules[static_cast<size_t>(rule_of[op])]; }
  const ir::Op& op(ir::OpId id) const { return graph->op(id); }
  // The sum of `times` over these ops.
  int64_t TimesOf(const std::vector<ir::OpId>& ops) const;
  // Whether the op is one of `set_ops`.
  bool is_set(ir::OpId id) const { return roles[id] == Role::kProduct || roles[id] == Role::kLight; }
  // Whether no op of a training step reads this input of the model.
  bool is_unread_data(ir::OpId id) const { return roles[id] == Role::kInput && reads[id].empty(); }
  // The types of an op's value and inputs in the largest micro-batch.
  ir::TensorType value_type(ir::OpId op) const;
  ir::TensorType input_type(ir::OpId op, size_t input) const;
  // How often a step runs the op.
  int64_t runs(ir::OpId op) const { return uses[op].kind == ir::BatchUse::Kind::kOnce ? 1 : micro_batches; }
  // How often a step sends the value: values with samples for each micro-batch, sums over samples once.
  int64_t moves(ir::OpId value) const { return HasSamples(value) ? micro_batches : 1; }
  bool HasSamples(ir::OpId value) const;
  // The forward reads of a parameter, itself or as a copy. REQUIRES: `op` is a parameter or a copy.
  std::vector<Read> parameter_reads(ir::OpId op) const;
};

// The facts of `graph`, a forward graph or a training graph. With several micro-batches rules are those of the largest
// one, so that strategies are valid for it. `times` empty: all 1. REQUIRES: VerifyGraph finds no error.
GraphFacts FactsOf(const ir::Graph& graph, int64_t micro_batches = 1, OpTimes times = {});

// The factor by which `value` is sent more often than moves() for `reader`: once for each micro-batch if the reader
// takes a part of it in each, or if it is a parameter that is gathered again (`gathered_again`).
int64_t ReadTimes(const GraphFacts& facts, ir::OpId value, ir::OpId reader, bool gathered_again);

// The weight of a redistribution of `value` for `reader`: 0 where it is not priced, gradient_weight for gradients and
// updates, else 1.
double ReadWeight(const GraphFacts& facts, ir::OpId value, ir::OpId reader, double gradient_weight);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_FACTS_FACTS_H_
