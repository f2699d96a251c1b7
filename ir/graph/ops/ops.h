// The op table: everything that the compiler knows about an op, one file per op (ir/graph/ops/<op>.cc).
//
// To add an op: write its OpDefinition in a file of ir/graph/ops, list it in table.def, add a sample to samples.cc and
// values to its test. docs/adding_an_op.md explains each step.
#ifndef CLEAVE_IR_GRAPH_OPS_OPS_H_
#define CLEAVE_IR_GRAPH_OPS_OPS_H_

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/graph/op_kind/op_kind.h"
#include "ir/graph/scalar/scalar.h"
#include "ir/tensor/rule/rule.h"
#include "ir/tensor/types/tensor.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

class GraphBuilder;  // ir/graph/ops/builder.h
class Lift;          // ir/graph/ops/lift.h
struct CallSite;     // ir/graph/ops/kernel_call.h
struct KernelCall;   // ir/graph/ops/kernel_call.h
struct Need;         // ir/graph/ops/need.h

// What kind of work an op is: the search gives products every axis and lets light ops follow; codegen fuses elementwise
// ops.
enum class OpClass {
  kSource,       // No inputs: input, parameter, state, constant, step_scalar.
  kProduct,      // Matrix products and convolutions.
  kElementwise,  // One output element from one element of each input (after broadcasting).
  kReduction,    // Removes or normalises over dimensions: reductions, softmax, layer_norm, losses.
  kMovement,     // Moves elements: reshape, transpose, slice, concat, embedding.
};

// What a value depends on besides the op's inputs, in a manual model (ir/graph/manual). Ops with any such use occur in
// manual models only.
enum class RankUse {
  kNone,
  kNumber,  // The rank's own number: rank_slice, rank_pad, rank_value.
  kOthers,  // What other ranks hold: the communication primitives. Not evaluated as the op of one rank.
};

// In which types an op computes where a model is trained in bf16 or f16 (ir/transforms/precision).
enum class Treatment : uint8_t {
  kFloat,     // Computes in f32. Reads and gives f32, but for `reads_16_bits` and `gives_16_bits`.
  kFollow,    // Computes in 16 bits where it reads them, else in f32.
  kProduct,   // Reads 16 bits. Its sum is kept in f32 where it is a parameter's gradient, else rounded.
  kGradient,  // A product whose value is kept in f32 always: reads 16 bits.
  kRounded,   // A product whose value is rounded always: reads and gives 16 bits.
};

// An argument of an op as the language writes it: tensors by position, others by position or name. A kTensorList is one
// tuple, `concat((a, b), axis = 0)`; kTensors, always last, takes the arguments that remain.
enum class ArgumentKind {
  kTensor,
  kOptionalTensor,
  kTensorList,
  kTensors,
  kBool,
  kInt,
  kFloat,
  kInts,
  kFloats,
  kDType,
  kString
};

struct Argument {
  std::string name;
  ArgumentKind kind = ArgumentKind::kTensor;
  std::optional<AttributeValue> default_value = {};  // Of an attribute; without one it must be given.
  bool takes_number = false;                         // A static number may stand for the tensor: it is broadcast.
  bool takes_shape = false;  // Only the shape counts: a tuple of sizes may stand for the tensor.
  bool internal = false;     // For an attribute: only the compiler sets it; without a default it may be absent.
  // Where it is given by name only: what it means, told where a call gives it by position or by its `former_name`.
  std::string by_name = {};
  std::string former_name = {};
  // For a tensor that the op's call can read as a part of a larger one: so many of its last dimensions may each have a
  // stride of their own, that of the very last being 1, and all in front of them have one together. 0: its elements lie
  // one behind another.
  int strides = 0;
  // Whether such elements may be a run of a larger tensor, from any of its elements on.
  bool takes_runs = false;
};

// The optional argument of losses that has a number for each sample. In metrics it is the mask of the padding.
inline constexpr char kSampleWeight[] = "sample_weight";

// The kind of argument that gives an attribute of this type.
template <typename T>
constexpr ArgumentKind AttributeArgumentKind() {
  if constexpr (std::is_same_v<T, bool>) {
    return ArgumentKind::kBool;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return ArgumentKind::kInt;
  } else if constexpr (std::is_same_v<T, double>) {
    return ArgumentKind::kFloat;
  } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    return ArgumentKind::kInts;
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    return ArgumentKind::kFloats;
  } else if constexpr (std::is_same_v<T, DType>) {
    return ArgumentKind::kDType;
  } else {
    static_assert(std::is_same_v<T, std::string>);
    return ArgumentKind::kString;
  }
}

// The argument that gives the attribute of `key`: one that must be given, and one with a default.
template <typename T>
Argument RequiredAttribute(Attribute<T> key) {
  return {.name = key.name, .kind = AttributeArgumentKind<T>()};
}
template <typename T>
Argument OptionalAttribute(Attribute<T> key, std::type_identity_t<T> default_value) {
  return {.name = key.name,
          .kind = AttributeArgumentKind<T>(),
          .default_value = AttributeStorage<T>::Store(std::move(default_value))};
}

// Why an op cannot be built from its arguments; the frontend adds the source places.
struct OpError {
  struct AboutInput {
    int input = 0;
    std::string text;  // What is wrong; the frontend adds "`x` is f32[256, 784]".
  };
  Code code{};
  std::string message = {};
  std::vector<AboutInput> about = {};  // The first is the primary place; empty: the whole call.
  std::vector<std::string> notes = {};
  std::vector<std::string> help = {};
};

using InferResult = std::variant<TensorType, OpError>;

// The slice of a factor that one rank works on: elements [begin, begin + size) of `global`.
struct FactorRange {
  int64_t begin = 0;
  int64_t size = 1;
  int64_t global = 1;
  // By axes. A dimension that is read in windows of the factor is then held in windows, also by a rank that works on
  // all elements of a short factor; else it is held whole.
  bool is_cut = false;

  bool operator==(const FactorRange&) const = default;
};

// One local evaluation. Everything an op needs to know of its place in the whole (a mean's divisor, a mask's first row)
// it takes from `ranges`, so the same function computes a whole op and one rank's part of it.
struct Evaluation {
  const Attributes& attributes;
  absl::Span<const Tensor* const> inputs;  // Local.
  absl::Span<const FactorRange> ranges;    // Per factor of the rule.
  Tensor& output;                          // Has its local shape; values are zero.
  int64_t step = 1;                        // Of training, from 1; 0 in testing, where dropout lets everything through.
  uint64_t seed = 1;                       // Of the run; for random ops.
  int rank = 0;                            // The rank that evaluates; for ops with RankUse::kNumber.
};

// Of an op that only copies elements: a box of one tensor is another tensor.
struct Boxes {
  enum class Of {
    kInput,   // Its value is a box of its first input.
    kResult,  // Its inputs are boxes of its value, and together all of it.
  };
  Of of{};
  // Where the box begins, in whole tensors: for kInput of the first input, for kResult of each one.
  std::vector<std::vector<int64_t>> (*begins)(absl::Span<const TensorType> inputs, const TensorType& output,
                                              const Attributes& attributes) = nullptr;
};

// What an elementwise op computes of one element of each input.
struct ElementFunction {
  ScalarFunction function;  // Its parameters: the op's inputs, then numbers.
  size_t inputs = 1;

  // The numbers; null: float attributes with the names of the parameters. `elements`: the number of elements of the
  // whole result.
  using Numbers = std::vector<double> (*)(const Attributes& attributes, int64_t elements);
  Numbers numbers = nullptr;

  std::vector<double> NumbersOf(const Attributes& attributes, int64_t elements) const;
};

// Another op that the call of an op computes as well, because it reads the same tensors, makes an input of the op, or
// reads a result of the call: a rank then reads and writes these once, or not at all (ir/program/fuse/joint_calls.h).
struct Companion {
  OpKind kind{};
  // For each of its inputs which tensor of the call it is: that input of the op, or where there are no more of these,
  // a tensor that only companions read, or kResult or the ResultOf a companion before it.
  std::vector<int> inputs;
  // Whether an op of this kind that reads these tensors is the companion; null: each is.
  bool (*fits)(const CallSite& op, const CallSite& companion) = nullptr;
  // The tensor of the call that is its value.
  std::optional<int> gives = {};
  // A tensor that the call does not write if this is part of it: only steps of the call may read it.
  std::optional<int> hides = {};
  // The tensors of the call over which it may write this value, besides those of OpDefinition::overwrites.
  std::vector<int> overwrites = {};
  // Of an op of the forward pass: where the companion is of the backward pass, the call in the forward pass may compute
  // it if all that it reads is known there. It names the value by a ResultWithGradients.
  bool comes_early = false;
};

struct OpDefinition {
  // What it is.
  OpKind kind{};  // Set by the table.
  OpClass op_class = OpClass::kElementwise;
  bool depends_on_place = false;  // For an elementwise op: a value also depends on its place in the tensor.
  bool is_alias = false;          // Its local value is that of its only input, element by element: nothing is computed.
  // Its call changes its first input where the result lies there, and else begins with a copy of it.
  bool works_in_place = false;
  // The input over which its call may write the value, where both have one type: it reads each element before it writes
  // there, as loops do.
  std::optional<int> overwrites = {};
  // The input of which it reads no more than it gives: a table whose rows it looks up, or what it takes a slice of.
  std::optional<int> looks_up = {};
  RankUse rank_use = RankUse::kNone;
  bool callable = true;  // May stand in a model; false for ops that only gradients and optimizers use.
  Treatment treatment = Treatment::kFloat;
  // Where the treatment depends on the attributes; null: it does not (TreatmentOf).
  Treatment (*treatment_by_attributes)(const Attributes& attributes) = nullptr;
  // Whether a product that reads 16 bits reads input `i` of `count` in f32; null: none.
  bool (*reads_in_f32)(const Attributes& attributes, size_t i, size_t count) = nullptr;
  // Of a kFloat op: the inputs that its call reads in the type that they have, and whether it can write its value in 16
  // bits (attribute `result`), so that no copy in the other type is made.
  std::vector<int> reads_16_bits = {};
  bool gives_16_bits = false;
  std::optional<Boxes> boxes = {};
  int result_strides = 0;    // Argument::strides, of the result: its call can write it as a part of a larger tensor.
  bool writes_runs = false;  // Argument::takes_runs, of the result.

  // How a model calls it.
  std::vector<Argument> signature = {};
  std::string summary = {};  // One line for the language reference.

  // Set for ops that are computed element by element: generated programs compute them inside of loops.
  std::optional<ElementFunction> element = {};

  // Infers shape and dtype, and checks everything that can be wrong with the arguments; only InferType calls it.
  InferResult (*infer)(absl::Span<const TensorType> inputs, const Attributes& attributes) = nullptr;

  // The sharding rule. REQUIRES: infer accepted the arguments.
  std::function<Rule(absl::Span<const TensorType> inputs, const TensorType& output, const Attributes& attributes)>
      rule = nullptr;

  // Builds the gradients of the loss by each input, from the gradient by the output; nullopt where a gradient is zero
  // or the input is not differentiable. Null: the op has no gradient, and a differentiable path through it is an error.
  std::vector<std::optional<OpId>> (*gradient)(GraphBuilder& builder, const Op& op, OpId output_gradient) = nullptr;

  // Arithmetic operations for the given (local or global) types.
  std::function<Flops(absl::Span<const TensorType> inputs, const TensorType& output, const Attributes& attributes)>
      flops = nullptr;

  // The op in its distributed form: ops with plain factors that compute the same value, however their factors are cut.
  // Needed by ops with kInner factors. `pieces`: per factor of the rule the number of pieces it is cut into. Returns
  // the op that takes the place of `op`; ir/transforms/distribute gives each of the ops built the strategy that follows
  // from that of `op`.
  OpId (*distribute)(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) = nullptr;

  // Reference evaluation in double. Null only for sources whose values come from outside (input, parameter, state) and
  // for ops that need other ranks (RankUse::kOthers).
  std::function<void(const Evaluation& evaluation)> evaluate = nullptr;

  // The attributes of the same op when its rule has other sizes and windows (a reshape's target shape, a slice's
  // begin). Null where attributes hold none.
  Attributes (*resize)(const Attributes& attributes, const Rule& resized) = nullptr;

  // The number of values that the integers of input `input` may take, counted from 0: the classes of a label, the rows
  // of a table; 0 if any integer is allowed. Null: no input has such a limit.
  int64_t (*choices)(absl::Span<const TensorType> inputs, const Attributes& attributes, int input) = nullptr;

  // Builds ops that compute the op for many elements at once (`vmap`), whichever of its inputs are mapped. Null only
  // for ops that a model cannot call.
  OpId (*batch)(Lift& lift) = nullptr;

  // The calls of the runtime that compute it. Null for sources, aliases, ops that need other ranks, and elementwise ops
  // that are computed in a loop.
  std::vector<KernelCall> (*calls)(const CallSite& site) = nullptr;

  // What its call computes as well, where a program wants it. `calls` gives one call then, which names the values of
  // companions by ResultOf; what is not wanted is a null pointer there. A companion with `overwrites` may be written
  // over that tensor by this call, too. `need` is what the call takes with all of them.
  std::vector<Companion> companions = {};

  // The memory that its calls take beside their tensors, for the given (local) types; the shape of an image in blocks
  // of channels is [n, c / 16, h, w, 16]. Null: nothing as large as a tensor.
  Need (*need)(absl::Span<const TensorType> inputs, const TensorType& output, const Attributes& attributes) = nullptr;

  std::string name() const { return std::string(OpKindName(kind)); }
};

// Null for a name that no op has.
const OpDefinition* FindOp(absl::string_view name);

// Every op of the table, by name.
std::vector<const OpDefinition*> AllOps();

const OpDefinition& DefinitionOf(OpKind kind);
inline const OpDefinition& DefinitionOf(const Op& op) { return DefinitionOf(op.kind); }

// In which types the op computes where a model is trained in 16 bits.
Treatment TreatmentOf(const Op& op);

// Whether a step_scalar with these attributes differs between steps.
bool ReadsStep(const Attributes& attributes);

// The type of the op's value: what `infer` says, with inputs and values of 16 bits where a kFloat op has them, and the
// limit on elements.
InferResult InferType(const OpDefinition& definition, absl::Span<const TensorType> inputs,
                      const Attributes& attributes);

std::vector<TensorType> InputTypes(const Graph& graph, const Op& op);
Rule RuleOf(const Graph& graph, const Op& op);

// Ranges that cover every factor whole.
std::vector<FactorRange> WholeRanges(const Rule& rule);

// Bytes that an op on the given (local or global) types reads of input `tensor`, or writes of its value for -1. An op
// that looks up rows, or replaces rows in place, touches no others.
Bytes BytesTouched(const OpDefinition& definition, absl::Span<const TensorType> inputs, const TensorType& output,
                   int tensor);
// Of all of them.
Bytes BytesTouched(const OpDefinition& definition, absl::Span<const TensorType> inputs, const TensorType& output);

// Ids in range and ordered, names unique, kinds known, types as inferred, rules well-formed. Empty when the graph is
// valid.
std::vector<std::string> VerifyGraph(const Graph& graph);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_OPS_H_
