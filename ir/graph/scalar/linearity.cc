#include "ir/graph/scalar/scalar.h"

namespace cleave::ir {
namespace {

// Whether and how a node depends on the variables.
enum class Dependence { kZero, kNone, kLinear, kOther };

Dependence OfSum(Dependence a, Dependence b) {
  if (a == Dependence::kZero) return b;
  if (b == Dependence::kZero) return a;
  return a == b ? a : Dependence::kOther;
}

Dependence OfProduct(Dependence a, Dependence b) {
  if (a == Dependence::kZero || b == Dependence::kZero) return Dependence::kZero;
  if (a == Dependence::kNone) return b;
  return b == Dependence::kNone ? a : Dependence::kOther;
}

}  // namespace

bool IsLinear(const Scalar& value, const std::set<std::string>& variables) {
  const Scalar plain = WithoutCalls(value);
  std::map<Scalar::Key, Dependence> dependences;
  for (const Scalar& node : NodesOf(plain)) {
    const auto of = [&](size_t operand) { return dependences.at(node.operands()[operand].key()); };
    const auto is_free = [&](size_t operand) {
      return of(operand) == Dependence::kZero || of(operand) == Dependence::kNone;
    };
    Dependence& result = dependences[node.key()];
    switch (node.primitive()) {
      case Primitive::kVariable:
        result = variables.count(node.variable()) > 0 ? Dependence::kLinear : Dependence::kNone;
        continue;
      case Primitive::kNumber:
        result = node.number() == 0 ? Dependence::kZero : Dependence::kNone;
        continue;
      case Primitive::kAdd:
      case Primitive::kSubtract:
        result = OfSum(of(0), of(1));
        continue;
      case Primitive::kMultiply:
        result = OfProduct(of(0), of(1));
        continue;
      case Primitive::kNegate:
        result = of(0);
        continue;
      case Primitive::kDivide:
        result = is_free(1) ? of(0) : Dependence::kOther;
        continue;
      case Primitive::kSelect:
        result = is_free(0) ? OfSum(of(1), of(2)) : Dependence::kOther;
        continue;
      case Primitive::kEqual:
      case Primitive::kNotEqual:
      case Primitive::kLess:
      case Primitive::kLessEqual:
      case Primitive::kGreater:
      case Primitive::kGreaterEqual:
      case Primitive::kMaximum:
      case Primitive::kMinimum:
      case Primitive::kAbs:
      case Primitive::kQuotient:
      case Primitive::kRemainder:
      case Primitive::kPowerOfTwo:
      case Primitive::kToInt32:
      case Primitive::kExp:
      case Primitive::kLog:
      case Primitive::kLogOnePlus:
      case Primitive::kSqrt:
      case Primitive::kSin:
      case Primitive::kCos:
      case Primitive::kTanh:
      case Primitive::kErf:
      case Primitive::kPow:
      case Primitive::kCall:
        result = Dependence::kNone;
        for (size_t i = 0; i < node.operands().size(); ++i) {
          if (!is_free(i)) result = Dependence::kOther;
        }
    }
  }
  return dependences.at(plain.key()) == Dependence::kLinear;
}

}  // namespace cleave::ir
