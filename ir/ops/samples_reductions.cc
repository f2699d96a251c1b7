#include "ir/ops/sample_maker.h"

namespace cleave {
namespace {

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

void Regressions(Maker& maker, const Values& attributes = {}) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, b}}, {{a, b}}}, attributes);
  maker.Add({{{a, b}}, {{a, b}}, {{a}, Fill::kMask}}, attributes);
  maker.Add({{{}}, {{}}}, attributes);
}

}  // namespace

void AddReductionSamples(Forms& forms) {
  forms["reduce_sum"] = [](Maker& maker) { Reductions(maker, Fill::kSigned); };
  forms["reduce_mean"] = forms["reduce_sum"];
  forms["reduce_max"] = [](Maker& maker) { Reductions(maker, Fill::kDistinct); };
  forms["reduce_min"] = forms["reduce_max"];
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
  for (const char* op : {"mse", "mae", "bce_with_logits"}) {
    forms[op] = [](Maker& maker) { Regressions(maker); };
  }
  forms["huber"] = [](Maker& maker) {
    Regressions(maker);
    Regressions(maker, {{"delta", 1.7}});
  };
  forms["cross_entropy_gradient"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 3}}, {{a}, Fill::kLabels}, {{}}});
    maker.Add({{{a, b, 4}}, {{a, b}, Fill::kLabels}, {{}}});
  };
}

}  // namespace cleave
