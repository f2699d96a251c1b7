// Expands a model: runs its statements once, at compile time, and writes down the ops that they stand for.
//
// How to read it: Evaluate (expression.cc) turns an expression into a Value; calls of functions (call.cc) open a Frame
// and run the function's body there (statement.cc); calls of ops (op_call.cc) append to the graph. Shapes of signatures
// are bound and checked in shapes.cc, static arithmetic is arithmetic.cc, operators on tensors and subscripts are
// operators.cc, tuples of tensors are tuples.cc.
//
// A mistake is reported where it is found and gives Poison, about which everything that uses it is silent.
#ifndef CLEAVE_FRONTEND_EVALUATE_EVALUATOR_H_
#define CLEAVE_FRONTEND_EVALUATE_EVALUATOR_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/arguments/arguments.h"
#include "frontend/custom_ops/backward.h"
#include "frontend/custom_ops/custom_ops.h"
#include "frontend/functions/functions.h"
#include "frontend/initializers/initializers.h"
#include "frontend/report/report.h"
#include "frontend/scope/scope.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"
#include "ir/ops/builder.h"
#include "ir/pins/pins.h"

namespace cleave::frontend {

// What expanding a model gives.
struct Expansion {
  Graph graph;
  std::vector<Pin> pins;
  std::vector<Priority> priorities;
  std::map<OpId, Span> inputs;      // In program order; not the sample mask.
  std::map<OpId, Span> parameters;  // Where the user finds each.
  std::map<OpId, CustomCall> custom_calls;
};

// How the calls of one statement name what they make: the statement's path, and whether callee and ordinal stand
// between.
struct Naming {
  std::string path;
  bool ordinals = false;
  std::map<std::string, int> next_ordinal = {};
};

// The model, or one call of a function under way.
struct Frame {
  const Function* function = nullptr;  // Null in the model.
  std::string path;
  std::vector<int64_t> loop_indices;  // Of the loops around the statement under way, outermost first.
  Scope scope;
  std::map<std::string, std::vector<int64_t>> rests;  // `..n`
  std::map<std::string, std::string> symbol_origins;  // `k`: "dimension 1 of `x`"
  Naming naming;
  std::optional<Value> result;
  bool failed = false;  // An assertion did not hold: the rest of the function would only repeat it.

  // The path of what is called `name` here: "x.0.1" for `x` in two loops of a frame with an empty path.
  std::string PathOf(const std::string& name) const;
};

// The outermost operation of an expression: the ops from `first` up to `end` are what it made beyond its arguments.
struct Operation {
  Span span;
  std::string callee;
  int first = 0;
  int end = 0;
  bool is_function = false;
};

class Evaluator {
 public:
  Evaluator(const FunctionTable& functions, const CustomOps& custom_ops, Reporter& reporter)
      : functions_(functions), custom_ops_(custom_ops), reporter_(reporter) {}
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Binds a model argument before RunModel; settings can use it too.
  void DefineArgument(const syntax::Identifier& name, Value value);

  void RunModel(const syntax::Model& model);

  // A value that is known without running anything, in a setting, an attribute or a default. Poison after a mistake.
  Value EvaluateStatic(const syntax::Expression& expression, Frame* frame = nullptr);
  std::optional<int64_t> EvaluateInt(const syntax::Expression& expression, const std::string& what,
                                     Frame* frame = nullptr);
  std::optional<double> EvaluateNumber(const syntax::Expression& expression, const std::string& what);

  // The demand of `pin "name" = …` or of an attribute on `op`, checked against its shape and written down. `ops`: all
  // that the outermost call made, of which `#[replicate]` and `#[priority]` speak.
  // Numbers in it may use the names of `frame`; null: the model's arguments.
  void AddPin(const syntax::Attribute& attribute, OpId op, const std::vector<OpId>& ops, Frame* frame = nullptr);

  const Graph& graph() const { return builder_.graph(); }
  Expansion Finish() &&;

 private:
  // expression.cc
  Value Evaluate(const syntax::Expression& expression, Frame& frame);
  Value EvaluateKind(const syntax::Expression& expression, Frame& frame);
  Value EvaluateName(const std::string& name, Span span, Frame& frame);
  Value EvaluateTuple(const syntax::Tuple& tuple, Frame& frame);
  Value EvaluateAttributed(const syntax::Attributed& attributed, Frame& frame);
  bool Exhausted(Span span);

  // arithmetic.cc
  Value Arithmetic(const syntax::Binary& binary, const Value& left, const Value& right);
  Value NegateNumber(const Value& value, Span span);
  std::optional<Value> StaticFunction(const std::string& name, const Value& value, Span span);
  Value Choose(const syntax::Call& call, Span span, Frame& frame);
  Value ShapeOf(const syntax::Call& call, Span span, Frame& frame);

  // operators.cc
  Value TensorArithmetic(const syntax::Binary& binary, const Value& left, const Value& right, Span span, Frame& frame);
  Value EvaluateIndex(const syntax::Index& index, Span span, Frame& frame);

  // tuples.cc
  Value Stack(const syntax::Call& call, Span span, Frame& frame);
  Value Split(const syntax::Call& call, Span span, Frame& frame);
  Value TupleElement(const syntax::Index& index, const TupleValue& tuple, Frame& frame);
  std::optional<size_t> AxisArgument(const syntax::Expression& expression, const Value& value, int64_t rank);
  std::optional<std::vector<int64_t>> PartSizes(const syntax::Expression& expression, const Value& parts, int64_t size,
                                                size_t axis);

  // call.cc
  Value EvaluateCall(const syntax::Call& call, Span span, Frame& frame);
  Value CallFunction(const Function& function, const syntax::Call& call, Span span, Frame& frame);
  bool BindArguments(const Function& function, absl::Span<const syntax::Argument* const> matched,
                     const std::vector<Value>& values, Frame& callee);
  void Assert(const syntax::Call& call, Span span, Frame& frame);

  // op_call.cc
  struct Operand {
    const syntax::Expression* expression = nullptr;
    OpId op;
  };
  Value CallOp(const OpDefinition& called, const syntax::Call& call, Span span, Frame& frame);
  using ArgumentValues = std::map<const syntax::Argument*, Value>;
  const OpDefinition& TakeNumbers(const OpDefinition& op, absl::Span<const syntax::Argument* const> matched,
                                  ArgumentValues& values, Span span, const Frame& frame);
  std::optional<AttributeValue> ToAttribute(const ::cleave::Argument& formal, const Value& value);
  // `name`: under which the op stands at the frame's path; empty: its kind.
  Value AddOp(const std::string& kind, const std::vector<Operand>& operands, Attributes attributes, Span span,
              const Frame& frame, const std::string& name = "");
  OpId AddConstant(DType dtype, double value, Span span, const Frame& frame);
  std::string DescribeOperand(const Operand& operand) const;
  std::string InTheWordsOfTheModel(const std::string& kind, const std::string& help,
                                   const std::vector<Operand>& operands) const;
  std::optional<OpId> MaskFor(const OpDefinition& op, const std::vector<Operand>& operands);

  // custom_call.cc
  Value CallCustomOp(const CustomOp& op, const syntax::Call& call, Span span, Frame& frame);

  // shapes.cc
  std::optional<Shape> EvaluateShape(const syntax::Type& type, Frame& frame);
  std::optional<TensorType> EvaluateTensorType(const syntax::Type& type, Frame& frame);
  bool CheckElementCount(const TensorType& type, Span span);
  bool BindParameterType(const syntax::Parameter& parameter, Value& value, const syntax::Expression& expression,
                         Frame& callee);
  bool BindShape(const syntax::Parameter& parameter, const Shape& shape, const syntax::Expression& expression,
                 Frame& callee);
  bool CheckType(const syntax::Type& type, Value& value, Span place, const std::string& what, Frame& frame);

  // statement.cc
  void Run(const std::vector<syntax::Statement>& body, Frame& frame);
  void RunStatement(const syntax::Statement& statement, Frame& frame);
  void RunLet(const syntax::Let& let, const syntax::Statement& statement, Frame& frame);
  void RunAssign(const syntax::Assign& assign, const syntax::Statement& statement, Frame& frame);
  void RunFor(const syntax::For& loop, Frame& frame);
  void RunReturn(const syntax::Return& result, const syntax::Statement& statement, Frame& frame);
  void RunEffect(const std::string& kind, const syntax::Expression& expression, Attributes attributes, Span span,
                 Frame& frame);
  void CloseBlock(Frame& frame);
  bool IsFree(const syntax::Identifier& name, const Frame& frame);
  Value EvaluateNamed(const std::string& name, const syntax::Expression& expression,
                      const std::vector<syntax::Attribute>& attributes, Frame& frame);

  // source.cc
  void RunInput(const syntax::Input& input, const syntax::Statement& statement, Frame& frame);
  std::optional<Initialization> EvaluateInitializer(const syntax::Expression& expression, const Shape& shape,
                                                    Frame& frame);
  void CheckParameterName(OpId id, const std::string& path, Span call);
  void AttachToSource(const std::vector<syntax::Attribute>& attributes, OpId source, Frame& frame);
  void RunParam(const syntax::Param& param, const syntax::Statement& statement, Frame& frame);

  // objective.cc
  void RunLoss(const syntax::Loss& loss, const syntax::Statement& statement, Frame& frame);
  void RunMetric(const syntax::Metric& metric, const syntax::Statement& statement, Frame& frame);

  // attach.cc
  void Attach(const std::vector<syntax::Attribute>& attributes, const Value& value, Frame& frame);
  bool CheckShard(const syntax::Attribute& attribute, const ShardPin& pin, OpId op);
  bool CheckLayout(const syntax::Attribute& attribute, const LayoutPin& pin, OpId op);
  void Record(Pin pin);

  const FunctionTable& functions_;
  const CustomOps& custom_ops_;
  Reporter& reporter_;
  GraphBuilder builder_;
  Expansion expansion_;
  Frame arguments_;  // The model's arguments, which settings see too.

  std::map<std::string, Span> parameter_places_;      // By path, where the user finds each.
  std::set<std::pair<int32_t, int32_t>> same_paths_;  // Calls that are known to make parameters of one path.
  std::optional<Span> loss_;
  std::optional<Operation> last_operation_;
  bool in_metric_ = false;
  bool masked_ = false;
  std::optional<OpId> mask_;
  int64_t steps_ = 0;
  int depth_ = 0;
  bool exhausted_ = false;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_EVALUATOR_H_
