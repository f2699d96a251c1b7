#include "ir/ops/samples.h"

#include <algorithm>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/ops/inference.h"

namespace cleave {
namespace {

using Values = std::map<std::string, AttributeValue>;
using Ints = std::vector<int64_t>;

// What the elements of an input are made of.
enum class Fill {
  kSigned,    // Magnitudes in [0.3, 2], either sign.
  kPositive,  // [0.3, 2]
  kDistinct,  // No two within 0.01 of each other.
  kLabels,    // i32 in [0, 3).
  kMask,      // 0 or 1.
};

struct InputForm {
  Shape shape;
  Fill fill = Fill::kSigned;
};

Tensor Filled(const InputForm& form, Random& random) {
  Tensor tensor = Zeros(form.shape);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    double& value = tensor.values[i];
    switch (form.fill) {
      case Fill::kSigned:
        value = std::uniform_real_distribution<double>(0.3, 2)(random) * (random() % 2 == 0 ? 1 : -1);
        break;
      case Fill::kPositive:
        value = std::uniform_real_distribution<double>(0.3, 2)(random);
        break;
      case Fill::kDistinct:
        value = 0.02 * static_cast<double>(i);
        break;
      case Fill::kLabels:
        value = static_cast<double>(RandomInt(random, 0, 2));
        break;
      case Fill::kMask:
        value = static_cast<double>(random() % 2);
        break;
    }
  }
  if (form.fill == Fill::kDistinct) std::shuffle(tensor.values.begin(), tensor.values.end(), random);
  return tensor;
}

class Maker {
 public:
  Maker(const OpDefinition& op, Random& random) : op_(op), random_(random) {}

  void Add(const std::vector<InputForm>& inputs, Values attributes = {}) {
    Sample sample{.op = &op_,
                  .attributes = {.values = std::move(attributes)},
                  .types = {},
                  .inputs = {},
                  .output = {},
                  .rule = {}};
    for (const InputForm& form : inputs) {
      const DType dtype = form.fill == Fill::kLabels ? DType::kI32 : DType::kF32;
      sample.types.push_back({dtype, form.shape});
      sample.inputs.push_back(Filled(form, random_));
    }
    const auto error = CompleteAttributes(op_, inputs.size(), sample.attributes);
    CLEAVE_CHECK(!error.has_value()) << op_.name << ": " << error->message;
    const InferResult result = InferChecked(op_, sample.types, sample.attributes);
    const OpError* refused = std::get_if<OpError>(&result);
    CLEAVE_CHECK(refused == nullptr) << op_.name << ": " << refused->message;
    sample.output = std::get<TensorType>(result);
    sample.rule = op_.rule(sample.types, sample.output, sample.attributes);
    samples.push_back(std::move(sample));
  }

  int64_t Size() { return RandomInt(random_, 2, 5); }

  std::vector<Sample> samples;

 private:
  const OpDefinition& op_;
  Random& random_;
};

void Unary(Maker& maker, Fill fill, const Values& attributes = {}) {
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

void MatmulForms(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size(), i = maker.Size(), k = maker.Size(), j = maker.Size();
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      const Values attributes = {{"transpose_a", ta}, {"transpose_b", tb}};
      auto front = [](Shape leading, int64_t row, int64_t column, bool transpose) {
        leading.push_back(transpose ? column : row);
        leading.push_back(transpose ? row : column);
        return leading;
      };
      for (const Shape& leading : {Shape{}, Shape{a}, Shape{a, b}}) {
        maker.Add({{front(leading, i, k, ta)}, {front({}, k, j, tb)}}, attributes);
        if (!leading.empty()) maker.Add({{front(leading, i, k, ta)}, {front(leading, k, j, tb)}}, attributes);
      }
    }
  }
}

void Reductions(Maker& maker, Fill fill) {
  const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
  for (bool keep : {false, true}) {
    maker.Add({{{a, b}, fill}}, {{"keep_dims", keep}});
    maker.Add({{{a, b, c}, fill}}, {{"axes", Ints{1}}, {"keep_dims", keep}});
    maker.Add({{{a, b, c}, fill}}, {{"axes", Ints{-1, 0}}, {"keep_dims", keep}});
  }
}

void RowOps(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, 4}}});
  maker.Add({{{a, b, 3}}});
  maker.Add({{{5}}});
}

void RowGradients(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, 4}}, {{a, 4}}});
  maker.Add({{{a, b, 3}}, {{a, b, 3}}});
}

void Classifications(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, 3}}, {{a}, Fill::kLabels}});
  maker.Add({{{a, b, 4}}, {{a, b}, Fill::kLabels}});
  maker.Add({{{a, 3}}, {{a}, Fill::kLabels}, {{a}, Fill::kMask}});
  maker.Add({{{a, b, 4}}, {{a, b}, Fill::kLabels}, {{a}, Fill::kMask}});
}

void Regressions(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, b}}, {{a, b}}});
  maker.Add({{{a, b}}, {{a, b}}, {{a}, Fill::kMask}});
  maker.Add({{{}}, {{}}});
}

void RegressionGradientForms(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, b}}, {{a, b}}, {{}}});
}

using Form = std::function<void(Maker&)>;

Form SignedUnary() {
  return [](Maker& maker) { Unary(maker, Fill::kSigned); };
}
Form PositiveUnary() {
  return [](Maker& maker) { Unary(maker, Fill::kPositive); };
}
Form SignedBinary() {
  return [](Maker& maker) { Binary(maker, Fill::kSigned); };
}

void AddElementwise(std::map<std::string, Form>& forms) {
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

void AddReductions(std::map<std::string, Form>& forms) {
  forms["reduce_sum"] = [](Maker& maker) { Reductions(maker, Fill::kSigned); };
  forms["reduce_mean"] = forms["reduce_sum"];
  forms["reduce_max"] = [](Maker& maker) { Reductions(maker, Fill::kDistinct); };
  forms["softmax"] = RowOps;
  forms["log_softmax"] = RowOps;
  forms["softmax_gradient"] = RowGradients;
  forms["log_softmax_gradient"] = RowGradients;
  forms["layer_norm"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 4}}, {{4}}, {{4}}});
    maker.Add({{{a, b, 3}}, {{3}}, {{3}}}, {{"epsilon", 0.1}});
  };
  forms["layer_norm_gradient_input"] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 4}}, {{a, 4}}, {{4}}}, {{"epsilon", 0.1}});
    maker.Add({{{a, 2, 4}}, {{a, 2, 4}}, {{4}}}, {{"epsilon", 0.1}});
  };
  forms["layer_norm_gradient_scale"] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 4}}, {{a, 4}}}, {{"epsilon", 0.1}});
    maker.Add({{{a, 2, 4}}, {{a, 2, 4}}}, {{"epsilon", 0.1}});
  };
  forms["cross_entropy"] = Classifications;
  forms["accuracy"] = Classifications;
  forms["mse"] = Regressions;
  forms["mae"] = Regressions;
  forms["cross_entropy_gradient"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 3}}, {{a}, Fill::kLabels}, {{}}});
    maker.Add({{{a, b, 4}}, {{a, b}, Fill::kLabels}, {{}}});
  };
}

void AddMovements(std::map<std::string, Form>& forms) {
  forms["reshape"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, b, c}}}, {{"shape", Ints{a, b * c}}});
    maker.Add({{{a * b, c}}}, {{"shape", Ints{a, 1, -1}}});
    maker.Add({{{6, 4}}}, {{"shape", Ints{2, 12}}});
    maker.Add({{{a, 2, 3, c}}}, {{"shape", Ints{a, 3, 2, c}}});
    maker.Add({{{a, 4, 6}}}, {{"shape", Ints{a, 6, 4}}});
    maker.Add({{{1, 1}}}, {{"shape", Ints{}}});
    maker.Add({{{a, b}, Fill::kLabels}}, {{"shape", Ints{a * b}}});
  };
  forms["flatten"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, 1, b, c}}});
    maker.Add({{{a, b, c}}}, {{"start", int64_t{0}}});
    maker.Add({{{a}}});
  };
  forms["transpose"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, b}}});
    maker.Add({{{a, b, c}}}, {{"permutation", Ints{1, 2, 0}}});
    maker.Add({{{a, b, c, 2}, Fill::kLabels}}, {{"permutation", Ints{0, 2, 1, 3}}});
  };
  forms["slice"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, b, 5}}}, {{"begin", Ints{0, 0, 1}}, {"end", Ints{a, b, 4}}});
    maker.Add({{{4, b}}}, {{"begin", Ints{3, 0}}, {"end", Ints{4, b}}});
  };
  forms["pad"] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 2}}}, {{"begin", Ints{0, 1}}, {"shape", Ints{a, 5}}});
  };
  forms["concat"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 2}}, {{a, 1}}, {{a, 3}}}, {{"axis", int64_t{1}}});
    maker.Add({{{2, a, b}}, {{2, a, b}}}, {{"axis", int64_t{-3}}});
    maker.Add({{{a, b}}}, {{"axis", int64_t{0}}});
  };
  forms["embedding"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), e = maker.Size();
    maker.Add({{{a}, Fill::kLabels}, {{3, e}}});
    maker.Add({{{a, b}, Fill::kLabels}, {{2, e}}});
  };
  forms["embedding_gradient"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), e = maker.Size();
    maker.Add({{{a, e}}, {{a}, Fill::kLabels}}, {{"rows", int64_t{3}}});
    maker.Add({{{a, b, e}}, {{a, b}, Fill::kLabels}}, {{"rows", int64_t{2}}});
  };
  forms["one_hot"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, b}, Fill::kLabels}}, {{"depth", int64_t{3}}});
    maker.Add({{{a}, Fill::kLabels}}, {{"depth", int64_t{2}}});
  };
}

void AddProductsAndSources(std::map<std::string, Form>& forms) {
  forms["matmul"] = MatmulForms;
  forms["matmul_sum"] = [](Maker& maker) {
    const int64_t a = maker.Size(), k = maker.Size(), i = maker.Size(), j = maker.Size();
    maker.Add({{{k, i}}, {{k, j}}});
    maker.Add({{{a, k, i}}, {{a, k, j}}});
    maker.Add({{{2, a, k, i}}, {{2, a, k, j}}});
  };
  forms["constant"] = [](Maker& maker) {
    maker.Add({}, {{"value", 2.5}});
    maker.Add({}, {{"value", 3.0}, {"shape", Ints{maker.Size(), 2}}, {"dtype", std::string("i32")}});
  };
  forms["step_scalar"] = [](Maker& maker) {
    maker.Add({}, {{"form", std::string("learning_rate")}, {"rate", 0.1}});
    maker.Add({}, {{"form", std::string("bias_correction")}, {"beta", 0.9}});
  };
  forms["input"] = [](Maker& maker) {
    maker.Add({}, {{"shape", Ints{maker.Size(), 3}}, {"dtype", std::string("i32")}, {"data", std::string("x")}});
  };
  forms["parameter"] = [](Maker& maker) { maker.Add({}, {{"shape", Ints{maker.Size(), 3}}}); };
  forms["state"] = forms["parameter"];
}

}  // namespace

std::string Sample::Text() const {
  std::string text = absl::StrCat(op->name, " ", rule.ToString(), ":");
  for (const TensorType& type : types) absl::StrAppend(&text, " ", type.ToString());
  return absl::StrCat(text, " -> ", output.ToString());
}

std::vector<Sample> SamplesOf(const std::string& op, Random& random) {
  std::map<std::string, Form> forms;
  AddElementwise(forms);
  AddReductions(forms);
  AddMovements(forms);
  AddProductsAndSources(forms);
  const auto form = forms.find(op);
  if (form == forms.end()) return {};
  Maker maker(*FindOp(op), random);
  form->second(maker);
  return std::move(maker.samples);
}

int64_t RandomInt(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Tensor RandomTensor(const Shape& shape, double low, double high, Random& random) {
  Tensor tensor = Zeros(shape);
  std::uniform_real_distribution<double> distribution(low, high);
  for (double& value : tensor.values) value = distribution(random);
  return tensor;
}

Tensor Evaluate(const Sample& sample, const std::vector<Tensor>& inputs, const Shape& output_shape,
                const std::vector<FactorRange>& ranges) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  Tensor output = Zeros(output_shape);
  sample.op->evaluate(
      Evaluation{.attributes = sample.attributes, .inputs = pointers, .ranges = ranges, .output = output});
  return output;
}

Tensor EvaluateWhole(const Sample& sample, const std::vector<Tensor>& inputs) {
  return Evaluate(sample, inputs, sample.output.shape, WholeRanges(sample.rule));
}

}  // namespace cleave
