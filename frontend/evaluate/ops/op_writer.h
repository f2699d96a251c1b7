// Writes the ops of a model into its graph, and reports mistakes in the words of the model.
//
//   OpWriter ops(reporter);
//   const Value y = ops.AddOp(OpKind::kMatmul, {{&x_expression, x}, {&w_expression, w}}, {}, {.span = call, .path =
//   "h1"});
//
// adds `h1.matmul`, or reports that the shapes do not fit, with labels on both arguments, and gives Poison. The line of
// an op is that of the outermost call in the model's own body.
#ifndef CLEAVE_FRONTEND_EVALUATE_OPS_OP_WRITER_H_
#define CLEAVE_FRONTEND_EVALUATE_OPS_OP_WRITER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"
#include "ir/graph/ops/builder.h"
#include "ir/transforms/vectorize/vectorize.h"

namespace cleave::frontend {

// The largest graph of one model: far above the needs of any model, and low enough to be reached in seconds.
inline constexpr size_t kMaxOps = 200'000;

// A tensor, and the expression that stands for it; null where it is not written in the model.
struct Operand {
  const dsl::syntax::Expression* expression = nullptr;
  ir::OpId op;
};

// The place of an op in the text, and the path under which it is named.
struct Origin {
  Span span;
  std::string path;
};

// The outermost operation of an expression: the ops from `first` up to `end` are what it made beyond its arguments.
struct Operation {
  Span span;
  std::string callee;
  int first = 0;
  int end = 0;
};

// `print("h1.weight.grad")`: a look at a value by the name that its op has in the end.
struct LookByName {
  ir::LookKind kind{};
  std::string name;
  Span span;
  int line = 0;
  size_t place = 0;  // The number of other looks before it.
};

class OpWriter {
 public:
  explicit OpWriter(Reporter& reporter) : reporter_(reporter) {}
  OpWriter(const OpWriter&) = delete;
  OpWriter& operator=(const OpWriter&) = delete;

  const ir::Graph& graph() const { return builder_.graph(); }
  const ir::TensorType& type(ir::OpId op) const { return builder_.type(op); }
  // How many ops there are: the number of the next one.
  int size() const { return static_cast<int>(graph().ops.size()); }

  // An op that is written in the text. `name`: its name below the origin's path; empty: the name of its kind.
  Value AddOp(ir::OpKind kind, const std::vector<Operand>& operands, ir::Attributes attributes, const Origin& origin,
              const std::string& name = "");
  // The same for an op where values begin to differ between ranks or stop differing: the place is kept.
  Value AddOpOfRanks(ir::OpKind kind, const std::vector<Operand>& operands, ir::Attributes attributes,
                     const Origin& origin, const std::string& name = "");
  // Adds a scalar.
  ir::OpId AddConstant(ir::DType dtype, double value, const Origin& origin);
  // Adds a scalar that has its own value in each step.
  ir::OpId AddStepScalar(const StepValue& value, const Origin& origin);
  // Adds a scalar that has its own value on each rank. REQUIRES: a number for each rank.
  ir::OpId AddRankValue(const Value& value, const Origin& origin);
  // An op that cannot be wrong, under its full name.
  ir::OpId AddValid(ir::OpKind kind, std::vector<ir::OpId> inputs, ir::Attributes attributes, const std::string& name,
                    Span span);

  // Looks at a tensor, or at the `part` of it (ir::Look), under the name that its op has in the end.
  void AddLook(ir::LookKind kind, ir::OpId op, const std::string& part, Span span);

  // The same by a name that is looked up when the model is complete.
  void AddLookByName(ir::LookKind kind, std::string name, Span span);
  const std::vector<LookByName>& looks_by_name() const { return looks_by_name_; }

  // Gives ops other names, made unique as those of new ops are.
  void Rename(const std::map<ir::OpId, std::string>& names);

  // "`x` is f32[8, 6], from line 2": an operand for a label.
  std::string Describe(const Operand& operand) const;

  // Says that the ops from `first` on are one operation. The last operation of an expression is its outermost one.
  void EndOperation(Span span, std::string callee, int first) { last_ = {span, std::move(callee), first, size()}; }
  void ForgetOperation() { last_.reset(); }
  const std::optional<Operation>& last_operation() const { return last_; }

  void KeepRankPlace(ir::OpId op, Span place) { rank_places_[op] = place; }
  const std::map<ir::OpId, Span>& rank_places() const { return rank_places_; }
  // `batched`: ops that were removed, and the ops that replace them.
  void MoveToBatched(const ir::Vectorized& batched);

  // Where in the text of the model ops are made: within statements, calls and passes of loops (ir/graph/repetition.h).
  // What is entered is left at the end of the Inside.
  class Inside {
   public:
    explicit Inside(OpWriter& ops) : ops_(ops) {}
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { ops_.Leave(); }

   private:
    OpWriter& ops_;
  };
  // The part of a statement or of a body with this number.
  Inside EnterPart(size_t number);
  // The next call of a statement.
  Inside EnterCall();
  // A pass of the loop that the current statement is.
  Inside EnterPass(int64_t number);
  // What is made here of a value belongs to the passes that made the value.
  Inside EnterOf(ir::OpId value);
  // The same for what is made here as a part of something that was made there.
  Inside EnterAs(const ir::Repetition& there);
  const ir::Repetition& here() const { return trails_.back().repetition; }
  // From now on, outside of all of these, ops are made of a parameter, or of nothing.
  void MakeOf(const ir::Op* parameter);

  // For parts of a graph that are made as a whole.
  ir::GraphBuilder& builder() { return builder_; }

 private:
  void Report(const ir::OpError& error, ir::OpKind kind, const std::vector<Operand>& operands, Span span);
  std::string InTheWordsOfTheModel(ir::OpKind kind, const std::string& help,
                                   const std::vector<Operand>& operands) const;

  struct Trail {
    ir::Repetition repetition = {};  // Of what is made here.
    uint64_t calls = 0;              // So far.
  };
  void Enter(Trail trail);
  void Leave();

  Reporter& reporter_;
  ir::GraphBuilder builder_;
  std::vector<Trail> trails_ = {{}};  // Innermost last.
  std::optional<Operation> last_;
  std::map<ir::OpId, Span> rank_places_;
  std::vector<LookByName> looks_by_name_;
};

// "h1.matmul"; `name` alone where the path is empty.
std::string JoinPath(const std::string& path, const std::string& name);

// `places`, where the ops that `batched` has removed are replaced by those that have their values now.
std::map<ir::OpId, Span> MovedToBatched(const std::map<ir::OpId, Span>& places, const ir::Vectorized& batched);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_OPS_OP_WRITER_H_
