#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
namespace {

void RegressionGradientForms(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, b}}, {{a, b}}, {{}}});
}

Form SignedUnary() {
  return [](Maker& maker) { Unary(maker, Fill::kSigned); };
}
Form PositiveUnary() {
  return [](Maker& maker) { Unary(maker, Fill::kPositive); };
}
Form SignedBinary() {
  return [](Maker& maker) { Binary(maker, Fill::kSigned); };
}

// For elementwise ops without an entry below: attributes have their defaults.
Form UsualForm(const OpDefinition& op) {
  if (op.element->inputs == 1) return SignedUnary();
  return op.callable ? SignedBinary() : UnaryGradient;
}

}  // namespace

void Unary(Maker& maker, Fill fill, const Attributes& attributes) {
  maker.Add({{{maker.Size(), maker.Size()}, fill}}, attributes);
  maker.Add({{{}, fill}}, attributes);
  maker.Add({{{maker.Size(), 1, maker.Size()}, fill}}, attributes);
}

void Binary(Maker& maker, Fill fill) {
  const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
  maker.Add({{{a, b}, fill}, {{a, b}, fill}});
  maker.Add({{{a, b, c}, fill}, {{b, 1}, fill}});
  maker.Add({{{c}, fill}, {{a, 1, c}, fill}});
  maker.Add({{{a, b}, fill}, {{}, fill}});
  maker.Add({{{1, b}, fill}, {{a, 1}, fill}});
}

void UnaryGradient(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, b}}, {{a, b}}});
  maker.Add({{{}}, {{}}});
}

void AddElementwiseSamples(Forms& forms) {
  for (const OpDefinition* op : AllOps()) {
    if (op->element.has_value()) forms[op->kind] = UsualForm(*op);
  }
  for (const OpKind op : {OpKind::kLog, OpKind::kSqrt, OpKind::kRsqrt}) forms[op] = PositiveUnary();
  // Labels are often equal, signed values never.
  for (const OpKind op : {OpKind::kEqual, OpKind::kNotEqual, OpKind::kLess, OpKind::kLessEqual, OpKind::kGreater,
                          OpKind::kGreaterEqual}) {
    forms[op] = [](Maker& maker) {
      Binary(maker, Fill::kLabels);
      Binary(maker, Fill::kSigned);
    };
  }
  for (const OpKind op : {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kMaximum, OpKind::kMinimum}) {
    forms[op] = [](Maker& maker) {
      Binary(maker, Fill::kSigned);
      Binary(maker, Fill::kLabels);
    };
  }
  for (const OpKind op : {OpKind::kQuotient, OpKind::kRemainder}) {
    forms[op] = [](Maker& maker) { Binary(maker, Fill::kLabels); };
  }
  forms[OpKind::kMeanByLogs] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, b}}, {{a, 1}}, {{a, b}}, {{a, 1}}});
  };
  forms[OpKind::kPow] = [](Maker& maker) { Binary(maker, Fill::kPositive); };
  forms[OpKind::kPower] = [](Maker& maker) {
    for (const double exponent : {0.0, 1.0, 2.0, 3.0, -1.0}) {
      Unary(maker, Fill::kSigned, {{attribute::kExponent, exponent}});
    }
    Unary(maker, Fill::kPositive, {{attribute::kExponent, -0.5}});
  };
  forms[OpKind::kClamp] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, {{attribute::kLow, -0.7}, {attribute::kHigh, 1.1}});
  };
  forms[OpKind::kCelu] = [](Maker& maker) {
    Unary(maker, Fill::kSigned);
    Unary(maker, Fill::kSigned, {{Attribute<double>{"alpha"}, 0.3}});
  };
  forms[OpKind::kLeakyRelu] = [](Maker& maker) {
    Unary(maker, Fill::kSigned);
    Unary(maker, Fill::kSigned, {{attribute::kSlope, -0.5}});
  };
  forms[OpKind::kLeakyReluGradient] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, b}}, {{a, b}}}, {{attribute::kSlope, 0.2}});
  };
  forms[OpKind::kWhere] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, b}, Fill::kMask}, {{a, b}}, {{a, b}}});
    maker.Add({{{a, 1}, Fill::kMask}, {{b}}, {{}}});
    maker.Add({{{c}, Fill::kMask}, {{a, b, 1}}, {{b, c}}});
    maker.Add({{{a, b}, Fill::kMask}, {{a, b}, Fill::kLabels}, {{b}, Fill::kLabels}});
  };
  for (const OpKind op :
       {OpKind::kReluGradient, OpKind::kTanhGradient, OpKind::kSigmoidGradient, OpKind::kGeluGradient}) {
    forms[op] = UnaryGradient;
  }
  forms[OpKind::kScale] = [](Maker& maker) { Unary(maker, Fill::kSigned, {{attribute::kFactor, -1.5}}); };
  forms[OpKind::kCast] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, {{attribute::kDType, DType::kF32}});
    Unary(maker, Fill::kSigned, {{attribute::kDType, DType::kI32}});
    Unary(maker, Fill::kLabels, {{attribute::kDType, DType::kF32}});
  };
  forms[OpKind::kDequantize] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, b}, Fill::kNumbers}, {{a, 1}}});
    maker.Add({{{a, b, c}, Fill::kNumbers}, {{a, b, 1}}});
  };
  forms[OpKind::kF8Unit] = [](Maker& maker) {
    for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2})
      Unary(maker, Fill::kPositive, {{attribute::kDType, dtype}});
  };
  forms[OpKind::kQuantize] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2}) {
      maker.Add({{{a, b}}, {{}, Fill::kPositive}}, {{attribute::kDType, dtype}});
    }
  };
  forms[OpKind::kBiasAdd] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, c}}, {{c}}});
    maker.Add({{{a, b, c}}, {{c}}});
    maker.Add({{{c}}, {{c}}});
  };
  forms[OpKind::kBroadcastTo] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{}}}, {{attribute::kShape, Ints{a, b}}});
    maker.Add({{{b}}}, {{attribute::kShape, Ints{a, b}}});
    maker.Add({{{a, 1}}}, {{attribute::kShape, Ints{3, a, b}}});
  };
  forms[OpKind::kCausalMask] = [](Maker& maker) {
    const int64_t a = maker.Size(), s = maker.Size(), t = maker.Size();
    maker.Add({{{s, t}}}, {{attribute::kFill, -7.0}});
    maker.Add({{{a, s, t}}}, {{attribute::kFill, 0.0}});
    maker.Add({{{2, a, s, s}}}, {{attribute::kWindow, 2}});
  };
  forms[OpKind::kRangeMask] = [](Maker& maker) {
    const int64_t a = maker.Size(), h = maker.Size(), s = maker.Size(), t = maker.Size();
    maker.Add({{{h, s, t}}, {{s}, Fill::kLabels}, {{s}, Fill::kLabels}}, {{attribute::kFill, -7.0}});
    maker.Add({{{a, h, s, t}}, {{a, s}, Fill::kLabels}, {{a, s}, Fill::kLabels}}, {{attribute::kFill, 0.0}});
    maker.Add({{{2, a, h, s, t}}, {{2, a, s}, Fill::kLabels}, {{2, a, s}, Fill::kLabels}}, {{attribute::kFill, -2.0}});
  };
  forms[OpKind::kMseGradient] = RegressionGradientForms;
  forms[OpKind::kMaeGradient] = RegressionGradientForms;
}

}  // namespace cleave::ir
