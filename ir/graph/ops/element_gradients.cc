// The gradients of an op's function of one element, as ops of the graph.

#include <map>

#include "base/check/check.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

// Makes ops from the nodes of gradients, operands first, and one op for a node that several gradients share.
class GradientOps {
 public:
  GradientOps(GraphBuilder& builder, const std::map<std::string, OpId>& values) : builder_(builder), values_(values) {}

  // All ops that are made for it are named after `name`.
  OpId Make(const Scalar& node, const std::string& name) {
    const auto made = made_.find(node.key());
    if (made != made_.end()) return made->second;
    const OpId id = MakeNew(node, name);
    made_.emplace(node.key(), id);
    return id;
  }

 private:
  OpId MakeNew(const Scalar& node, const std::string& name) {
    const std::vector<Scalar>& of = node.operands();
    if (node.Is(Primitive::kVariable)) return values_.at(node.variable());
    if (node.Is(Primitive::kNumber))
      return builder_.Add(OpKind::kConstant, {}, {{attribute::kValue, node.number()}}, name);
    if (node.Is(Primitive::kCall)) return MakeCall(node, name);
    if (node.Is(Primitive::kMultiply)) {
      for (const size_t number : {0, 1}) {
        if (!of[number].Is(Primitive::kNumber)) continue;
        return builder_.Add(OpKind::kScale, {Make(of[1 - number], name)}, {{attribute::kFactor, of[number].number()}},
                            name);
      }
    }
    if (node.Is(Primitive::kPow) && of[1].Is(Primitive::kNumber)) {
      return builder_.Add(OpKind::kPower, {Make(of[0], name)}, {{attribute::kExponent, of[1].number()}}, name);
    }
    std::vector<OpId> inputs;
    for (const Scalar& operand : of) inputs.push_back(Make(operand, name));
    return builder_.Add(KindOf(node.primitive()), std::move(inputs), {}, name);
  }

  // A function that gradients call belongs to an op; the numbers among its arguments become the op's attributes.
  OpId MakeCall(const Scalar& call, const std::string& name) {
    const ScalarFunction& function = call.function();
    const std::optional<OpKind> kind = ParseOpKind(function.name);
    CLEAVE_CHECK(kind.has_value()) << "no op has the function `" << function.name << "`";
    std::vector<OpId> inputs;
    Attributes attributes;
    for (size_t i = 0; i < call.operands().size(); ++i) {
      const Scalar& argument = call.operands()[i];
      if (i < DefinitionOf(*kind).element->inputs) {
        inputs.push_back(Make(argument, name));
      } else {
        attributes.Set(Attribute<double>{function.parameters[i].c_str()}, argument.number());
      }
    }
    return builder_.Add(*kind, std::move(inputs), std::move(attributes), name);
  }

  static OpKind KindOf(Primitive primitive) {
    switch (primitive) {
      case Primitive::kAdd:
        return OpKind::kAdd;
      case Primitive::kSubtract:
        return OpKind::kSub;
      case Primitive::kMultiply:
        return OpKind::kMul;
      case Primitive::kDivide:
        return OpKind::kDiv;
      case Primitive::kNegate:
        return OpKind::kNeg;
      case Primitive::kEqual:
        return OpKind::kEqual;
      case Primitive::kNotEqual:
        return OpKind::kNotEqual;
      case Primitive::kLess:
        return OpKind::kLess;
      case Primitive::kLessEqual:
        return OpKind::kLessEqual;
      case Primitive::kGreater:
        return OpKind::kGreater;
      case Primitive::kGreaterEqual:
        return OpKind::kGreaterEqual;
      case Primitive::kSelect:
        return OpKind::kWhere;
      case Primitive::kMaximum:
        return OpKind::kMaximum;
      case Primitive::kMinimum:
        return OpKind::kMinimum;
      case Primitive::kAbs:
        return OpKind::kAbs;
      case Primitive::kExp:
        return OpKind::kExp;
      case Primitive::kLog:
        return OpKind::kLog;
      case Primitive::kSqrt:
        return OpKind::kSqrt;
      case Primitive::kSin:
        return OpKind::kSin;
      case Primitive::kCos:
        return OpKind::kCos;
      case Primitive::kTanh:
        return OpKind::kTanh;
      case Primitive::kErf:
        return OpKind::kErf;
      case Primitive::kPow:
        return OpKind::kPow;
      case Primitive::kVariable:
      case Primitive::kNumber:
      case Primitive::kQuotient:
      case Primitive::kRemainder:
      case Primitive::kPowerOfTwo:
      case Primitive::kToInt32:
      case Primitive::kLogOnePlus:
      case Primitive::kCall:
        break;
    }
    CLEAVE_CHECK(false) << "a gradient in which a primitive stands that is no op: state one that calls a function";
  }

  GraphBuilder& builder_;
  const std::map<std::string, OpId>& values_;
  std::map<Scalar::Key, OpId> made_;
};

}  // namespace

Gradients ElementGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpDefinition& definition = DefinitionOf(op);
  const ElementFunction& element = *definition.element;
  const std::vector<std::string>& parameters = element.function.parameters;
  std::map<std::string, OpId> values = {{Dy().variable(), dy}, {Result().variable(), op.id}};
  std::map<std::string, Scalar> numbers;
  const std::vector<double> known = element.NumbersOf(op.attributes, op.type.elements());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i < element.inputs) {
      values.emplace(parameters[i], op.inputs[i]);
    } else {
      numbers.emplace(parameters[i], known[i - element.inputs]);
    }
  }
  std::vector<std::optional<Scalar>> gradients = GradientsOf(element.function);
  gradients.resize(element.inputs);
  for (std::optional<Scalar>& gradient : gradients) {
    if (gradient.has_value()) gradient = Substitute(*gradient, numbers);
  }
  GradientOps ops(builder, values);
  Gradients made;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::string name = GradientName(op, definition.signature[i].name);
    made.push_back(gradients[i].has_value() ? std::make_optional(ops.Make(*gradients[i], name)) : std::nullopt);
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i].has_value()) continue;
    made[i] = SumToType(builder, *made[i], builder.type(op.inputs[i]), GradientName(op, definition.signature[i].name));
  }
  return made;
}

}  // namespace cleave::ir
