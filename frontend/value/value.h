// What an expression of the language is worth while a model is expanded: a static number, a text, a tensor of the
// graph.
#ifndef CLEAVE_FRONTEND_VALUE_VALUE_H_
#define CLEAVE_FRONTEND_VALUE_VALUE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/types/types.h"

namespace cleave::frontend {

// The worth of an expression whose mistake has been reported: whatever uses it stays silent.
struct Poison {
  bool operator==(const Poison&) const = default;
};

struct Value;

// A tensor: the op that computes it.
struct TensorValue {
  OpId op;

  bool operator==(const TensorValue&) const = default;
};

struct TupleValue {
  std::vector<Value> elements;

  bool operator==(const TupleValue&) const;
};

struct Value {
  std::variant<Poison, int64_t, double, bool, std::string, DType, TensorValue, TupleValue> kind;

  bool is_poison() const { return std::holds_alternative<Poison>(kind); }
  bool is_int() const { return std::holds_alternative<int64_t>(kind); }
  bool is_float() const { return std::holds_alternative<double>(kind); }
  bool is_number() const { return is_int() || is_float(); }
  bool is_tensor() const { return std::holds_alternative<TensorValue>(kind); }
  bool is_tuple() const { return std::holds_alternative<TupleValue>(kind); }

  int64_t as_int() const { return std::get<int64_t>(kind); }
  // REQUIRES: is_number().
  double as_number() const { return is_int() ? static_cast<double>(as_int()) : std::get<double>(kind); }
  OpId as_tensor() const { return std::get<TensorValue>(kind).op; }
  const std::vector<Value>& as_tuple() const { return std::get<TupleValue>(kind).elements; }

  bool operator==(const Value&) const = default;
};

inline bool TupleValue::operator==(const TupleValue& other) const { return elements == other.elements; }

// The kind of value in words: "an int", "f32[256, 784]", "a tuple".
std::string DescribeType(const Value& value, const Graph& graph);

// A static value as it is written: "3", "0.5", "true", "\"text\""; a tensor's type.
std::string ValueText(const Value& value, const Graph& graph);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_VALUE_VALUE_H_
