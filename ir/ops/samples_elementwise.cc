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
  for (const char* op : {"neg", "exp", "tanh", "sigmoid", "relu", "gelu", "abs", "square", "sign", "assert_finite"}) {
    forms[op] = SignedUnary();
  }
  for (const char* op : {"log", "sqrt", "rsqrt"}) forms[op] = PositiveUnary();
  for (const char* op : {"add", "sub", "mul", "div", "equal"}) forms[op] = SignedBinary();
  for (const char* op : {"relu_gradient", "tanh_gradient", "sigmoid_gradient", "gelu_gradient"}) {
    forms[op] = UnaryGradient;
  }
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
