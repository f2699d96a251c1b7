// Expands a model: runs its statements once, at compile time, and writes down the ops that they stand for.
//
// How to read it: Evaluate (expression.cc) turns an expression into a Value; calls of functions (call.cc) open a Frame
// and run the function's body there (statement.cc); calls of ops (op_call.cc) append to the graph. Shapes of signatures
// are bound and checked in shapes.cc, static arithmetic is arithmetic.cc, operators on tensors and subscripts are
// operators.cc, tuples of tensors are tuples.cc, `vmap` is vmap.cc; attributes are attach.cc and block_pins.cc. Of
// manual models (manual.cc): values that differ between ranks are per_rank.cc, collectives communication.cc, messages
// between neighbours neighbors.cc and halo.cc, `send` and `recv` messages.cc.
//
// A mistake is reported where it is found and gives Poison, about which everything that uses it is silent.
#ifndef CLEAVE_FRONTEND_EVALUATE_EVALUATOR_H_
#define CLEAVE_FRONTEND_EVALUATE_EVALUATOR_H_

#include <functional>
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
#include "frontend/attributes/block.h"
#include "frontend/attributes/region.h"
#include "frontend/custom_ops/backward.h"
#include "frontend/custom_ops/custom_ops.h"
#include "frontend/functions/functions.h"
#include "frontend/initializers/initializers.h"
#include "frontend/manual/mailbox.h"
#include "frontend/manual/primitives.h"
#include "frontend/report/report.h"
#include "frontend/scope/scope.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"
#include "ir/manual/manual.h"
#include "ir/ops/builder.h"
#include "ir/pins/pins.h"
#include "ir/vectorize/vectorize.h"

namespace cleave::frontend {

// What expanding a model gives.
struct Expansion {
  Graph graph;
  std::vector<Pin> pins;
  std::vector<Priority> priorities;
  std::vector<Region> regions;
  std::map<OpId, Span> inputs;                  // In program order; not the sample mask.
  std::map<OpId, Span> parameters;              // Where the user finds each.
  std::map<std::string, Span> npy_places = {};  // Of parameters by name, where each names its file.
  std::map<OpId, CustomCall> custom_calls;
  // Of a manual model: where values begin to differ between ranks, or cease to.
  std::map<OpId, Span> rank_places = {};
  std::optional<Span> loss = {};
  std::vector<Span> metrics = {};  // As in the graph.
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
  std::vector<BlockDemand> demands;  // Of the function's attributes.
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

// How many rows and columns of images go to the neighbours there.
struct HaloLengths {
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;
};

// A `#[region]` whose call is being expanded.
struct RegionUnderWay {
  const syntax::Attribute* attribute = nullptr;
  const syntax::Call* call = nullptr;
  RegionDemand demand;
  std::string path;  // Of the call, once it is entered.
  int first = -1;    // Of its ops; -1 while its arguments are evaluated, which do not belong to it.
};

// Bounds the graph of one model: far beyond any model, near enough to answer in seconds.
inline constexpr size_t kMaxOps = 200'000;

class Evaluator {
 public:
  Evaluator(const FunctionTable& functions, const CustomOps& custom_ops, Reporter& reporter)
      : functions_(functions), custom_ops_(custom_ops), reporter_(reporter) {}
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Binds a model argument before RunModel; settings can use it too.
  void DefineArgument(const syntax::Identifier& name, Value value);

  // Before RunModel. The model is `#[manual]` where `attribute` is given; its ranks are known a little later, when the
  // `parallel` block has been read.
  void SetModel(const syntax::Model& model, std::optional<Span> attribute);
  void SetRanks(std::vector<RankAxis> axes) { builder_.mutable_graph().rank_axes = std::move(axes); }

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

  // Gives regions what they leave to the `parallel` block. Before pins by name are added.
  void FinishRegions(const ParallelSettings& settings);

  const Graph& graph() const { return builder_.graph(); }
  Expansion Finish() &&;

 private:
  using ArgumentValues = std::map<const syntax::Argument*, Value>;

  // A tensor, and where it is spoken of.
  struct Operand {
    const syntax::Expression* expression = nullptr;
    OpId op;
  };

  // expression.cc
  Value Evaluate(const syntax::Expression& expression, Frame& frame);
  Value EvaluateKind(const syntax::Expression& expression, Frame& frame);
  Value EvaluateName(const std::string& name, Span span, Frame& frame);
  Value EvaluateTuple(const syntax::Tuple& tuple, Frame& frame);
  Value EvaluateAttributed(const syntax::Expression& operand, const std::vector<syntax::Attribute>& attributes,
                           Frame& frame);
  bool Exhausted(Span span);

  // arithmetic.cc
  Value Arithmetic(const syntax::Binary& binary, const Value& left, const Value& right);
  Value NegateNumber(const Value& value, Span span);
  std::optional<Value> StaticFunction(const std::string& name, const Value& value, Span span);
  Value Choose(const syntax::Call& call, Span span, Frame& frame);
  Value ShapeOf(const syntax::Call& call, Span span, Frame& frame);

  // manual.cc
  int64_t world() const;
  std::optional<Value> RankName(const std::string& name, Span span);
  void ReportNotManual(const std::string& what, Span span, std::string label);
  bool TakeLocal(std::vector<syntax::Attribute>& attributes);

  // per_rank.cc
  Value RankByRank(const std::vector<Value>& values, const std::function<Value(const std::vector<Value>&)>& compute);
  Diagnostic Differs(Code code, std::string message, const syntax::Expression& expression, const Value& value,
                     Frame& frame);
  void ReportDiffering(std::string message, const syntax::Expression& expression, const Value& value,
                       const std::optional<CommunicatingCall>& call, Frame& frame);
  void ReportShape(std::string message, const syntax::Expression& expression, const Value& value, Frame& frame);
  std::optional<Value> ChooseOnRanks(const Value& condition, const Value& then, const Value& otherwise);
  Value ChoosePerRank(const syntax::Expression& condition, const Value& truth, const syntax::Expression& then,
                      const syntax::Expression& otherwise, Frame& frame);
  OpId AddRankValue(const Value& value, Span span, const Frame& frame);

  // communication.cc: arguments of a primitive by name; an argument that is not given is Poison with no expression.
  struct Given {
    const syntax::Expression* expression = nullptr;
    Value value{Poison()};
  };
  using GivenArguments = std::map<std::string, Given>;
  Value CallPrimitive(Primitive primitive, const syntax::Call& call, Span span, Frame& frame);
  std::optional<GivenArguments> ReadArguments(Primitive primitive, const syntax::Call& call, Span span, Frame& frame);
  std::optional<OpId> TensorArgument(const Given& given, const std::string& name, Primitive primitive);
  std::optional<int64_t> IntArgument(const Given& given, const std::string& name, int64_t otherwise, Code differs,
                                     Span span, Frame& frame);
  std::optional<RankAxisSet> GroupArgument(const Given& given, Span span, Frame& frame);
  std::optional<std::string> ReductionArgument(const Given& given);
  Value Reduce(const GivenArguments& given, OpId x, RankAxisSet group, Span span, Frame& frame);
  Value Collect(Primitive primitive, const syntax::Call& call, Span span, Frame& frame);
  Value AddCollective(Primitive primitive, const Given& x, OpId tensor, RankAxisSet group, Attributes attributes,
                      Span span, const Frame& frame);
  Value MakeGroup(const syntax::Call& call, Span span, Frame& frame);
  Value OfGroup(Primitive primitive, const syntax::Call& call, Span span, Frame& frame);

  // neighbors.cc
  // A message: where it is spoken of, its shape, and for each rank the rank at the other end.
  struct Part {
    const syntax::Expression* expression = nullptr;
    Shape shape;
    std::vector<int64_t> ranks;
  };
  std::optional<std::vector<int64_t>> RanksArgument(const syntax::Expression& expression, const Value& value,
                                                    const std::string& name);
  std::optional<std::vector<Part>> PartsArgument(const Given& given, const std::string& name, size_t count);
  std::optional<Shape> ShapeArgument(const syntax::Expression& expression, const Value& value, Frame& frame);
  // What `sends`, with the tensors `sent`, and `receives` say; the received tensors.
  std::optional<std::vector<OpId>> Exchange(Primitive primitive, const std::vector<Operand>& sent,
                                            const std::vector<Part>& sends, const std::vector<Part>& receives,
                                            Span span, const Frame& frame);
  Value ExchangeWithNeighbors(const syntax::Call& call, Span span, Frame& frame);

  // halo.cc
  // By direction, as halo.cc numbers them.
  struct Halo {
    HaloLengths lengths;  // Of what is sent.
    std::vector<Part> sends;
    std::vector<Part> receives;
  };
  std::optional<HaloLengths> LengthsArgument(const Given& given, const std::string& name, Frame& frame);
  std::optional<Halo> ReadHalo(const GivenArguments& given, const Shape& shape, Frame& frame);
  std::optional<std::vector<std::optional<OpId>>> SendBorders(const Operand& image, const Halo& halo, Span span,
                                                              const Frame& frame);
  Value ExchangeHalo(const syntax::Call& call, Span span, Frame& frame);

  // messages.cc
  void Send(const syntax::Call& call, Span span, Frame& frame);
  Value Receive(const syntax::Call& call, Span span, Frame& frame);
  void ReportUnreceived();

  // vmap.cc
  struct MappedArgument {
    const syntax::Argument* argument = nullptr;
    size_t axis = 0;
  };
  Value CallVmap(const syntax::Call& vmap, const syntax::Call& call, Span span, Frame& frame);
  std::optional<std::vector<MappedArgument>> MappedArguments(const syntax::Call& call, const syntax::Expression* axes,
                                                             ArgumentValues& values, Frame& frame);
  std::optional<size_t> MappedDimension(const syntax::Argument& argument, const syntax::Expression* axis,
                                        const Value& value, Frame& frame);
  OpId ElementsFirst(const MappedArgument& argument, ArgumentValues& values, const Frame& frame);
  OpId AddElement(OpId whole);
  Value ForAllElements(const Value& result, OpId first, const std::vector<MappedInput>& inputs, Span span);
  Value BatchedValue(const Value& value, const Vectorized& batched, int64_t size, Span span);
  void MoveToBatched(const std::vector<Op>& ops, const Vectorized& batched);
  void MovePin(size_t index, const Op& op, const Vectorized& batched);
  bool IsTheSameOp(const Op& op, const Vectorized& batched) const;
  bool RefuseInVmap(const std::string& what, Span span);
  void WarnOfUnrolled(const std::vector<Op>& ops, const Vectorized& batched, int64_t size, Span span);

  // operators.cc
  Value TensorArithmetic(const syntax::Binary& binary, const Value& left, const Value& right, Span span, Frame& frame);
  Value RankArithmetic(const syntax::Binary& binary, const Value& left, const Value& right, Span span, Frame& frame);

  // subscripts.cc
  // The elements of one dimension that a subscript means: from `begin` on, which may differ between ranks, `size` of
  // them.
  struct Range {
    Value begin;
    int64_t size = 0;
    bool dropped = false;  // An index: the dimension goes.
  };
  Value EvaluateIndex(const syntax::Index& index, Span span, Frame& frame);
  std::optional<Range> RangeOf(const syntax::Subscript& subscript, size_t dimension, const Value& base, Frame& frame);
  std::optional<Range> CheckRange(const syntax::Subscript& subscript, size_t dimension, const Value& begin,
                                  const Value& end, const Value& base, Frame& frame);
  Value TakeRanges(const Operand& tensor, const std::vector<Range>& ranges, Span span, const Frame& frame);

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
  Value CallOp(const OpDefinition& called, const syntax::Call& call, Span span, Frame& frame);
  const OpDefinition& TakeNumbers(const OpDefinition& op, absl::Span<const syntax::Argument* const> matched,
                                  ArgumentValues& values, Span span, const Frame& frame);
  std::optional<AttributeValue> ToAttribute(const ::cleave::Argument& formal, const Value& value);
  // `name`: under which the op stands at the frame's path; empty: its kind.
  Value AddOp(OpKind kind, const std::vector<Operand>& operands, Attributes attributes, Span span, const Frame& frame,
              const std::string& name = "");
  OpId AddConstant(DType dtype, double value, Span span, const Frame& frame);
  std::string DescribeOperand(const Operand& operand) const;
  std::string InTheWordsOfTheModel(OpKind kind, const std::string& help, const std::vector<Operand>& operands) const;
  std::optional<OpId> MaskFor(const OpDefinition& op, const std::vector<Operand>& operands, Span span,
                              const Frame& frame);
  const Op* SamplesOfRank(const std::vector<Operand>& operands) const;

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
  void RunFor(const syntax::For& loop, const syntax::Statement& statement, Frame& frame);
  void RunReturn(const syntax::Return& result, const syntax::Statement& statement, Frame& frame);
  void RunEffect(OpKind kind, const syntax::Expression& expression, Attributes attributes, Span span, Frame& frame);
  void CloseBlock(Frame& frame);
  bool IsFree(const syntax::Identifier& name, const Frame& frame);
  Value EvaluateNamed(const std::string& name, const syntax::Expression& expression,
                      const std::vector<syntax::Attribute>& attributes, Frame& frame);

  // source.cc
  void RunInput(const syntax::Input& input, const syntax::Statement& statement, Frame& frame);
  std::optional<Initialization> EvaluateNpy(const syntax::Argument& argument, Frame& frame);
  std::optional<Initialization> EvaluateInitializer(const syntax::Expression& expression, const Shape& shape,
                                                    Frame& frame);
  void CheckParameterName(OpId id, const std::string& path, Span call);
  void AttachToSource(const std::vector<syntax::Attribute>& attributes, OpId source, Frame& frame);
  void RunParam(const syntax::Param& param, const syntax::Statement& statement, Frame& frame);

  // objective.cc
  void RunLoss(const syntax::Loss& loss, const syntax::Statement& statement, Frame& frame);
  void RunMetric(const syntax::Metric& metric, const syntax::Statement& statement, Frame& frame);

  // region.cc
  using TensorPlaces = std::vector<std::pair<Value*, const syntax::Expression*>>;
  // Whether the call of `expression` is a region from now on; else there is none, or its mistake has been reported.
  bool OpenRegion(const std::vector<syntax::Attribute>& attributes, const syntax::Expression& expression, Frame& frame);
  bool MayOpen(const syntax::Attribute& region, const syntax::Call* call);
  // Every call comes by here when its arguments are known: that of the open region gets its border.
  void EnterRegion(const syntax::Call& call, const std::string& path, absl::Span<const syntax::Argument* const> matched,
                   ArgumentValues& values);
  Value CloseRegion(Value result, const syntax::Expression& expression);
  OpId AddBorder(OpId value, const std::string& name, Span place);
  bool CheckBorder(const std::vector<Placed<int64_t>>& counts, Span place, OpId tensor, const std::string& what,
                   Span tensor_place);
  void PinResults(const RegionUnderWay& region, Span place, const TensorPlaces& results);
  void PinParameters(const RegionUnderWay& region);
  void ReportUnknownParameter(const RegionUnderWay& region, const RegionParameter& parameter,
                              const std::vector<std::string>& known);

  // block_pins.cc
  std::vector<BlockDemand> ReadBlockAttributes(const std::vector<syntax::Attribute>& attributes, Frame& frame);
  void PinArguments(const Function& function, Frame& callee);
  void PinParameter(const std::string& name, OpId parameter, const Frame& frame);
  void PinPass(const std::vector<BlockDemand>& demands, Frame& frame);
  void PinOpsFrom(int first, const std::vector<BlockDemand>& demands);
  void PinTensor(const NamedDemand& demand, OpId op, const std::vector<BlockDemand>& beside);
  void ReportUnpinnable(const NamedDemand& demand, const std::string& where, const std::vector<std::string>& names);

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

  std::optional<Span> model_name_;
  std::optional<Span> manual_;  // The attribute of a manual model.
  Mailbox mailbox_;

  std::map<std::string, Span> parameter_places_;      // By path, where the user finds each.
  std::set<std::pair<int32_t, int32_t>> same_paths_;  // Calls that are known to make parameters of one path.
  std::optional<Span> loss_;
  std::optional<Operation> last_operation_;
  std::vector<RegionUnderWay> regions_;     // One is entered at most, the innermost.
  std::map<OpId, Span> region_parameters_;  // That a region's `params` pins.
  std::vector<size_t> open_objectives_;     // Regions that take that of `parallel`.
  std::vector<size_t> default_outputs_;     // Pins that say what `parallel { dataset }` does.
  int vmap_depth_ = 0;
  std::map<const syntax::Expression*, Value> substitutes_;  // What arguments of a mapped call under way are worth.
  bool in_metric_ = false;
  bool masked_ = false;
  std::optional<OpId> mask_;
  int64_t steps_ = 0;
  int depth_ = 0;
  bool exhausted_ = false;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_EVALUATOR_H_
