#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/graph/scalar/scalar.h"

namespace cleave::ir {
namespace {

// Whether no value of the variables makes it less than 0, or 0. "Not known" is false.
bool IsNeverNegative(const Scalar& x);

bool IsPositive(const Scalar& x) {
  const std::vector<Scalar>& operands = x.operands();
  switch (x.primitive()) {
    case Primitive::kNumber:
      return x.number() > 0;
    case Primitive::kAdd:
      return (IsPositive(operands[0]) && IsNeverNegative(operands[1])) ||
             (IsNeverNegative(operands[0]) && IsPositive(operands[1]));
    case Primitive::kMultiply:
    case Primitive::kDivide:
    case Primitive::kMinimum:
      return IsPositive(operands[0]) && IsPositive(operands[1]);
    case Primitive::kMaximum:
      return IsPositive(operands[0]) || IsPositive(operands[1]);
    case Primitive::kExp:
      return true;
    case Primitive::kSqrt:
      return IsPositive(operands[0]);
    default:
      return false;
  }
}

bool IsNeverNegative(const Scalar& x) {
  const std::vector<Scalar>& operands = x.operands();
  switch (x.primitive()) {
    case Primitive::kNumber:
      return x.number() >= 0;
    case Primitive::kMultiply:
      if (operands[0].key() == operands[1].key()) return true;
      return IsNeverNegative(operands[0]) && IsNeverNegative(operands[1]);
    case Primitive::kAdd:
    case Primitive::kMinimum:
      return IsNeverNegative(operands[0]) && IsNeverNegative(operands[1]);
    case Primitive::kMaximum:
      return IsNeverNegative(operands[0]) || IsNeverNegative(operands[1]);
    case Primitive::kDivide:
      return IsNeverNegative(operands[0]) && IsPositive(operands[1]);
    case Primitive::kAbs:
    case Primitive::kSqrt:
      return true;
    default:
      return IsPositive(x);
  }
}

// `node` is one operation on `a` and `b`, which are simplified.
Scalar SimplifiedOfTwo(const Scalar& node, const Scalar& a, const Scalar& b) {
  switch (node.primitive()) {
    case Primitive::kAdd:
      if (a.IsNumber(0)) return b;
      return b.IsNumber(0) ? a : node;
    case Primitive::kSubtract:
      return b.IsNumber(0) ? a : node;
    case Primitive::kMultiply:
      if (a.IsNumber(0) || b.IsNumber(0)) return 0;
      if (a.IsNumber(1)) return b;
      return b.IsNumber(1) ? a : node;
    case Primitive::kDivide:
      if (a.IsNumber(0) && IsPositive(b)) return 0;
      return b.IsNumber(1) ? a : node;
    default:
      return node;
  }
}

bool AreSameVariable(const Scalar& a, const Scalar& b) {
  return a.Is(Primitive::kVariable) && b.Is(Primitive::kVariable) && a.variable() == b.variable();
}

Scalar SimplifiedNode(const Scalar& node) {
  const std::vector<Scalar>& operands = node.operands();
  if (node.IsLeaf()) return node;
  if (std::all_of(operands.begin(), operands.end(), [](const Scalar& x) { return x.Is(Primitive::kNumber); })) {
    return Calculation(node, {})({});
  }
  if (node.Is(Primitive::kSelect) && operands[0].Is(Primitive::kNumber)) {
    return operands[0].number() != 0 ? operands[1] : operands[2];
  }
  if (node.Is(Primitive::kSelect) && AreSameVariable(operands[1], operands[2])) return operands[1];
  return operands.size() == 2 ? SimplifiedOfTwo(node, operands[0], operands[1]) : node;
}

}  // namespace

Scalar Simplified(const Scalar& value) {
  std::map<Scalar::Key, Scalar> results;
  const Scalar plain = WithoutCalls(value);
  for (const Scalar& node : NodesOf(plain)) {
    std::vector<Scalar> operands;
    for (const Scalar& operand : node.operands()) operands.push_back(results.at(operand.key()));
    results.emplace(node.key(), node.IsLeaf() ? node : SimplifiedNode(Scalar(node.primitive(), std::move(operands))));
  }
  return results.at(plain.key());
}

}  // namespace cleave::ir
