#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
namespace {

void MatmulForms(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size(), i = maker.Size(), k = maker.Size(), j = maker.Size();
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      const Attributes attributes = {{attribute::kTransposeA, ta}, {attribute::kTransposeB, tb}};
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

void EinsumForms(Maker& maker) {
  const int64_t a = maker.Size(), i = maker.Size(), k = maker.Size(), j = maker.Size();
  const auto add = [&](const char* equation, std::vector<InputForm> inputs) {
    maker.Add(inputs, {{attribute::kEquation, std::string(equation)}});
  };
  add("bik,bkj->bij", {{{a, i, k}}, {{a, k, j}}});
  add("i b k, k j b -> b j i", {{{i, a, k}}, {{k, j, a}}});
  add("i k, k -> i", {{{i, k}}, {{k}}});
  add("rows, columns -> columns rows", {{{i}}, {{j}}});
  add("i, i, i k -> k", {{{i}}, {{i}}, {{i, k}}});
  add("i k -> ", {{{i, k}}});
  add("i j -> j i", {{{i, j}}});
  add("rows k, -> rows", {{{i, k}}, {{}}});
  add("k i k, i j -> j k", {{{k, i, k}}, {{i, j}}});
  add("i i -> ", {{{i, i}}});
  add("i, k -> i i", {{{i}}, {{k}}});
}

}  // namespace

void AddProductSamples(Forms& forms) {
  forms[OpKind::kEinsum] = EinsumForms;
  forms[OpKind::kMatmul] = MatmulForms;
  forms[OpKind::kGroupedMatmul] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), k = maker.Size(), j = maker.Size();
    maker.Add({{{a, k}}, {{3, k, j}}, {{a}, Fill::kLabels}});
    maker.Add({{{a, b, k}}, {{2, j, k}}, {{a, b}, Fill::kLabels}}, {{attribute::kTransposeB, true}});
  };
  forms[OpKind::kGroupedMatmulSum] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), i = maker.Size(), j = maker.Size();
    maker.Add({{{a, i}}, {{a, j}}, {{a}, Fill::kLabels}}, {{attribute::kSize, 3}});
    maker.Add({{{a, b, i}}, {{a, b, j}}, {{a, b}, Fill::kLabels}}, {{attribute::kSize, 2}});
  };
  forms[OpKind::kScaledMatmul] = [](Maker& maker) {
    const int64_t a = maker.Size(), i = maker.Size(), k = maker.Size(), j = maker.Size();
    const InputForm unit = {{}, Fill::kPositive};
    const Attributes result = {{attribute::kResult, DType::kF32}};
    maker.Add({{{a, i, k}, Fill::kFactors}, {{k, j}, Fill::kFactors}, unit, unit}, result);
    Attributes turned = result;
    turned.Set(attribute::kTransposeA, true);
    turned.Set(attribute::kTransposeB, true);
    maker.Add({{{k, i}, Fill::kFactors}, {{j, k}, Fill::kFactors}, unit, unit}, turned);
  };
  forms[OpKind::kScaledMatmulSum] = [](Maker& maker) {
    const int64_t a = maker.Size(), k = maker.Size(), i = maker.Size(), j = maker.Size();
    const InputForm unit = {{}, Fill::kPositive};
    const Attributes result = {{attribute::kResult, DType::kF32}};
    maker.Add({{{a, k, i}, Fill::kFactors}, {{a, k, j}, Fill::kFactors}, unit, unit}, result);
  };
  forms[OpKind::kMatmulSum] = [](Maker& maker) {
    const int64_t a = maker.Size(), k = maker.Size(), i = maker.Size(), j = maker.Size();
    maker.Add({{{k, i}}, {{k, j}}});
    maker.Add({{{a, k, i}}, {{a, k, j}}});
    maker.Add({{{2, a, k, i}}, {{2, a, k, j}}});
  };
}

}  // namespace cleave::ir
