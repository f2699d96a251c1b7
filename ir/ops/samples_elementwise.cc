#include "ir/ops/sample_maker.h"

namespace cleave {
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

// Of an elementwise op of which nothing is said below: attributes take their defaults.
Form UsualForm(const OpDefinition& op) {
  if (op.element->inputs == 1) return SignedUnary();
  return op.callable ? SignedBinary() : UnaryGradient;
}

}  // namespace

void Unary(Maker& maker, Fill fill, const Values& attributes) {
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
    if (op->element.has_value()) forms[op->name] = UsualForm(*op);
  }
  forms["assert_finite"] = SignedUnary();
  for (const char* op : {"log", "sqrt", "rsqrt"}) forms[op] = PositiveUnary();
  // Labels are often equal, signed values never.
  for (const char* op : {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}) {
    forms[op] = [](Maker& maker) {
      Binary(maker, Fill::kLabels);
      Binary(maker, Fill::kSigned);
    };
  }
  forms["pow"] = [](Maker& maker) { Binary(maker, Fill::kPositive); };
  forms["power"] = [](Maker& maker) {
    for (const double exponent : {0.0, 1.0, 2.0, 3.0, -1.0}) {
      Unary(maker, Fill::kSigned, {{"exponent", exponent}});
    }
    Unary(maker, Fill::kPositive, {{"exponent", -0.5}});
  };
  forms["clamp"] = [](Maker& maker) { Unary(maker, Fill::kSigned, {{"low", -0.7}, {"high", 1.1}}); };
  forms["leaky_relu"] = [](Maker& maker) {
    Unary(maker, Fill::kSigned);
    Unary(maker, Fill::kSigned, {{"slope", -0.5}});
  };
  forms["leaky_relu_gradient"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, b}}, {{a, b}}}, {{"slope", 0.2}});
  };
  forms["where"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, b}, Fill::kMask}, {{a, b}}, {{a, b}}});
    maker.Add({{{a, 1}, Fill::kMask}, {{b}}, {{}}});
    maker.Add({{{c}, Fill::kMask}, {{a, b, 1}}, {{b, c}}});
    maker.Add({{{a, b}, Fill::kMask}, {{a, b}, Fill::kLabels}, {{b}, Fill::kLabels}});
  };
  forms["scale"] = [](Maker& maker) { Unary(maker, Fill::kSigned, {{"factor", -1.5}}); };
  forms["cast"] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, {{"dtype", std::string("f32")}});
    Unary(maker, Fill::kSigned, {{"dtype", std::string("i32")}});
    Unary(maker, Fill::kLabels, {{"dtype", std::string("f32")}});
  };
  forms["print"] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, {{"local", true}});
    Unary(maker, Fill::kLabels);
  };
  forms["bias_add"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, c}}, {{c}}});
    maker.Add({{{a, b, c}}, {{c}}});
    maker.Add({{{c}}, {{c}}});
  };
  forms["broadcast_to"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{}}}, {{"shape", Ints{a, b}}});
    maker.Add({{{b}}}, {{"shape", Ints{a, b}}});
    maker.Add({{{a, 1}}}, {{"shape", Ints{3, a, b}}});
  };
  forms["causal_mask"] = [](Maker& maker) {
    const int64_t a = maker.Size(), s = maker.Size(), t = maker.Size();
    maker.Add({{{s, t}}}, {{"fill", -7.0}});
    maker.Add({{{a, s, t}}}, {{"fill", 0.0}});
    maker.Add({{{2, a, s, s}}});
  };
  forms["mse_gradient"] = RegressionGradientForms;
  forms["mae_gradient"] = RegressionGradientForms;
}

}  // namespace cleave
