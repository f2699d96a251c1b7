#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
namespace {

void Reductions(Maker& maker, Fill fill) {
  const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
  for (bool keep : {false, true}) {
    maker.Add({{{a, b}, fill}}, {{attribute::kKeepDims, keep}});
    maker.Add({{{a, b, c}, fill}}, {{attribute::kAxes, Ints{1}}, {attribute::kKeepDims, keep}});
    maker.Add({{{a, b, c}, fill}}, {{attribute::kAxes, Ints{-1, 0}}, {attribute::kKeepDims, keep}});
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

void Regressions(Maker& maker, const Attributes& attributes = {}) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, b}}, {{a, b}}}, attributes);
  maker.Add({{{a, b}}, {{a, b}}, {{a}, Fill::kMask}}, attributes);
  maker.Add({{{}}, {{}}}, attributes);
}

}  // namespace

void AddReductionSamples(Forms& forms) {
  forms[OpKind::kReduceSum] = [](Maker& maker) { Reductions(maker, Fill::kSigned); };
  forms[OpKind::kReduceMean] = forms[OpKind::kReduceSum];
  forms[OpKind::kReduceMax] = [](Maker& maker) { Reductions(maker, Fill::kDistinct); };
  forms[OpKind::kReduceMaxAbs] = [](Maker& maker) { Reductions(maker, Fill::kSigned); };
  forms[OpKind::kReduceMin] = forms[OpKind::kReduceMax];
  forms[OpKind::kSoftmax] = RowOps;
  forms[OpKind::kLogSoftmax] = RowOps;
  forms[OpKind::kSoftmaxGradient] = RowGradients;
  forms[OpKind::kLogSoftmaxGradient] = RowGradients;
  forms[OpKind::kLayerNorm] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 4}}, {{4}}, {{4}}});
    maker.Add({{{a, b, 3}}, {{3}}, {{3}}}, {{attribute::kEpsilon, 0.1}});
    maker.Add({{{a, 4}}, {{4}}}, {{attribute::kEpsilon, 0.1}});
  };
  forms[OpKind::kRmsNorm] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 4}}, {{4}}});
    maker.Add({{{a, b, 3}}, {{3}}}, {{attribute::kEpsilon, 0.1}});
  };
  forms[OpKind::kLayerNormGradientInput] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 4}}, {{a, 4}}, {{4}}}, {{attribute::kEpsilon, 0.1}});
    maker.Add({{{a, 2, 4}}, {{a, 2, 4}}, {{4}}}, {{attribute::kEpsilon, 0.1}});
    maker.Add({{{a, 4}}, {{a, 4}}, {{4}}}, {{attribute::kEpsilon, 0.1}, {attribute::kCentered, false}});
  };
  forms[OpKind::kLayerNormGradientScale] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 4}}, {{a, 4}}}, {{attribute::kEpsilon, 0.1}});
    maker.Add({{{a, 2, 4}}, {{a, 2, 4}}}, {{attribute::kEpsilon, 0.1}});
    maker.Add({{{a, 2, 4}}, {{a, 2, 4}}}, {{attribute::kEpsilon, 0.1}, {attribute::kCentered, false}});
  };
  forms[OpKind::kCrossEntropy] = [](Maker& maker) {
    Classifications(maker);
    const int64_t a = maker.Size();
    const Attributes smoothed = {{attribute::kLabelSmoothing, 0.3}, {attribute::kZLoss, 0.1}};
    maker.Add({{{a, 4}}, {{a}, Fill::kLabels}}, smoothed);
    maker.Add({{{a, 2, 3}}, {{a, 2}, Fill::kLabels}, {{a}, Fill::kMask}}, smoothed);
  };
  forms[OpKind::kAccuracy] = Classifications;
  for (const OpKind op : {OpKind::kMse, OpKind::kMae, OpKind::kBceWithLogits}) {
    forms[op] = [](Maker& maker) { Regressions(maker); };
  }
  forms[OpKind::kHuber] = [](Maker& maker) {
    Regressions(maker);
    Regressions(maker, {{attribute::kDelta, 1.7}});
  };
  forms[OpKind::kCrossEntropyGradient] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 3}}, {{a}, Fill::kLabels}, {{}}});
    maker.Add({{{a, b, 4}}, {{a, b}, Fill::kLabels}, {{}}});
    maker.Add({{{a, 3}}, {{a}, Fill::kLabels}, {{}}}, {{attribute::kLabelSmoothing, 0.3}, {attribute::kZLoss, 0.1}});
  };
}

}  // namespace cleave::ir
