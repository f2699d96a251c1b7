// The value that an expression of the language has while a model is expanded: a static number, a text, a tensor of the
// graph, a record, a function or a layer; in a manual model also a group of ranks, and a static value that differs
// between ranks; in an optimizer also a number that the training step decides.
#ifndef CLEAVE_FRONTEND_VALUE_VALUE_H_
#define CLEAVE_FRONTEND_VALUE_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "dsl/syntax/syntax.h"
#include "ir/graph/graph.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/scalar/scalar.h"
#include "ir/tensor/types/types.h"

namespace cleave::frontend {

// The value of an expression whose mistake has been reported: nothing is reported about what uses it.
struct Poison {
  bool operator==(const Poison&) const = default;
};

struct Value;

// A tensor: the op that computes it.
struct TensorValue {
  ir::OpId op;

  bool operator==(const TensorValue&) const = default;
};

struct TupleValue {
  std::vector<Value> elements;

  bool operator==(const TupleValue&) const;
};

// `Config(width = 256)`: nothing in it is a tensor.
struct RecordValue {
  const dsl::syntax::Record* type = nullptr;
  std::vector<Value> fields;  // In the order of the declaration.
  std::vector<bool> given;    // Of each field whether it was given; else it follows its default.

  const std::string& name() const { return type->name.text; }
  bool operator==(const RecordValue&) const;
};

// `group("dp", "tp")`: the ranks that differ on these axes of the mesh.
struct GroupValue {
  ir::RankAxisSet axes;

  bool operator==(const GroupValue&) const = default;
};

// A static value for each rank, all of one kind: int, float, bool, string or group. Made by `PerRank`.
struct PerRankValue {
  std::vector<Value> ranks;

  bool operator==(const PerRankValue&) const;
};

// A number that is known when the program runs, in an optimizer or a learning rate: a formula in `step`, which counts
// from 1, and in numbers that flags of the program change.
struct StepValue {
  ir::Scalar formula;
  bool is_condition = false;  // The result of a comparison.
  int size = 1;               // Of the formula as text, in numbers, names and operations.
  std::string name = {};      // Of the `let` or the argument that it is the value of.
  bool is_whole = false;      // An int of the language.

  bool is_settled() const;  // Whether it is the same in every step.
  bool operator==(const StepValue& other) const;
};

// `normal(deviation = 0.02)` as an argument of a function: how a parameter gets its first values.
struct InitializerValue {
  std::string name;
  std::vector<std::optional<double>> numbers;  // Per argument of the initialiser; nullopt for its default.
  std::string file = {};                       // Of `npy`.

  bool operator==(const InitializerValue&) const = default;
};

// A function as a value: `relu` without a call, or `layer dense(8)`. What it does is kept where it was made.
struct FunctionValue {
  int id = 0;  // Among the functions, or among the layers, of one expansion.
  bool is_layer = false;
  std::string name = {};  // Of the function.

  bool operator==(const FunctionValue&) const = default;
};

struct Value {
  std::variant<Poison, int64_t, double, bool, std::string, ir::DType, TensorValue, TupleValue, RecordValue, GroupValue,
               PerRankValue, StepValue, InitializerValue, FunctionValue>
      kind;

  bool is_poison() const { return std::holds_alternative<Poison>(kind); }
  bool is_int() const { return std::holds_alternative<int64_t>(kind); }
  bool is_float() const { return std::holds_alternative<double>(kind); }
  bool is_number() const { return is_int() || is_float(); }
  bool is_tensor() const { return std::holds_alternative<TensorValue>(kind); }
  bool is_tuple() const { return std::holds_alternative<TupleValue>(kind); }
  bool is_record() const { return std::holds_alternative<RecordValue>(kind); }
  bool is_per_rank() const { return std::holds_alternative<PerRankValue>(kind); }
  bool is_initializer() const { return std::holds_alternative<InitializerValue>(kind); }
  bool is_function() const { return std::holds_alternative<FunctionValue>(kind); }
  bool is_of_step() const { return std::holds_alternative<StepValue>(kind); }

  int64_t as_int() const { return std::get<int64_t>(kind); }
  // REQUIRES: is_number().
  double as_number() const { return is_int() ? static_cast<double>(as_int()) : std::get<double>(kind); }
  ir::OpId as_tensor() const { return std::get<TensorValue>(kind).op; }
  const std::vector<Value>& as_tuple() const { return std::get<TupleValue>(kind).elements; }
  const RecordValue& as_record() const { return std::get<RecordValue>(kind); }
  const std::vector<Value>& as_per_rank() const { return std::get<PerRankValue>(kind).ranks; }
  const InitializerValue& as_initializer() const { return std::get<InitializerValue>(kind); }
  const FunctionValue& as_function() const { return std::get<FunctionValue>(kind); }
  const StepValue& as_of_step() const { return std::get<StepValue>(kind); }

  bool operator==(const Value&) const = default;
};

inline bool TupleValue::operator==(const TupleValue& other) const { return elements == other.elements; }
inline bool RecordValue::operator==(const RecordValue& other) const {
  return type == other.type && fields == other.fields;
}
inline bool PerRankValue::operator==(const PerRankValue& other) const { return ranks == other.ranks; }

// One value per rank; if all ranks agree, that value itself. Ints among floats become floats. nullopt if the kinds
// differ, or are not those that a PerRankValue can have. REQUIRES: at least one rank.
std::optional<Value> PerRank(std::vector<Value> ranks);

// The value on `rank`: `value` itself where it does not differ between ranks.
const Value& OnRank(const Value& value, int64_t rank);

// A string, or those of a tuple of strings; nullopt for anything else.
std::optional<std::vector<std::string>> StringsOf(const Value& value);

// Whether it, or an element of it, differs between ranks.
bool DiffersBetweenRanks(const Value& value);

// "8 on rank 0, 7 on rank 1": the first rank, and the first that has something else. REQUIRES: value.is_per_rank().
std::string FirstDifference(const Value& value, const ir::Graph& graph);

// The types of static values that are no records: `int`, `float`, `bool`, `string`, and these.
inline constexpr char kTupleType[] = "tuple";              // Of static values.
inline constexpr char kInitializerType[] = "initializer";  // How a parameter gets its first values.
inline constexpr char kLayerType[] = "layer";              // A layer, or a function or op by its name.
bool IsScalarName(const std::string& name);

// Whether it is a tensor, or one is in it.
bool HasTensor(const Value& value);

// The element type that a model may name, `f32` or `i32`. The others are made by the compiler.
std::optional<ir::DType> ElementTypeNamed(absl::string_view name);

// A number, or one per rank, as a float; one of the step as it is. REQUIRES: it is one.
Value ToFloat(const Value& value);

// The ints of an int or of a tuple of ints; nullopt for anything else, and for values that differ between ranks.
std::optional<std::vector<int64_t>> ToInts(const Value& value);

// Whether a name that holds one value can be given the other.
bool SameKind(const Value& a, const Value& b);

// The kind of value in words: "an int", "f32[256, 784]", "a tuple of 2".
std::string DescribeType(const Value& value, const ir::Graph& graph);

// A static value as it is written: "3", "0.5", "true", "\"text\""; a tensor's type.
std::string ValueText(const Value& value, const ir::Graph& graph);

// The values that a tuple or a record is made of, those of what is in it among them; 0 for any other value.
int64_t ElementCount(const Value& value);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_VALUE_VALUE_H_
