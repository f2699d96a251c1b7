#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
namespace {

void Argmaxes(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
  maker.Add({{{a, b}, Fill::kDistinct}});
  maker.Add({{{a, b, c}, Fill::kDistinct}}, {{attribute::kAxis, 1}});
  maker.Add({{{a}, Fill::kDistinct}}, {{attribute::kAxis, 0}});
}

void FirstEquals(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
  maker.Add({{{a, b}, Fill::kDistinct}, {{a, 1}, Fill::kDistinct}});
  maker.Add({{{a, b, c}, Fill::kDistinct}, {{a, 1, c}, Fill::kDistinct}}, {{attribute::kAxis, 1}});
}

void TopKs(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, 5}, Fill::kDistinct}}, {{attribute::kK, 2}});
  maker.Add({{{a, b, 4}, Fill::kDistinct}}, {{attribute::kK, 4}});
  maker.Add({{{7}, Fill::kDistinct}}, {{attribute::kK, 1}});
}

void Candidates(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, 7}, Fill::kDistinct}}, {{attribute::kK, 2}, {attribute::kPieces, 3}, {attribute::kElements, 7}});
  maker.Add({{{a, b, 5}, Fill::kDistinct}}, {{attribute::kK, 1}, {attribute::kPieces, 4}, {attribute::kElements, 5}});
}

void LabelLosses(Maker& maker, const std::vector<InputForm>& more) {
  const int64_t a = maker.Size(), b = maker.Size();
  std::vector<InputForm> inputs = {{{a, 3}}, {{a}, Fill::kLabels}, {{a, 1}}};
  inputs.insert(inputs.end(), more.begin(), more.end());
  maker.Add(inputs);
  inputs = {{{a, b, 4}}, {{a, b}, Fill::kLabels}, {{a, b, 1}}};
  inputs.insert(inputs.end(), more.begin(), more.end());
  maker.Add(inputs);
}

}  // namespace

void AddRankingSamples(Forms& forms) {
  forms[OpKind::kArgmax] = Argmaxes;
  forms[OpKind::kFirstEqual] = FirstEquals;
  forms[OpKind::kTopK] = TopKs;
  forms[OpKind::kTopKIndices] = TopKs;
  forms[OpKind::kTopKCandidates] = Candidates;
  forms[OpKind::kTopKCandidateIndices] = Candidates;
  forms[OpKind::kTopKMerge] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 6}, Fill::kDistinct}, {{a, 6}, Fill::kLabels}}, {{attribute::kK, 3}});
  };
  forms[OpKind::kTopKGradient] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 2}}, {{a, 2}, Fill::kLabels}}, {{attribute::kElements, 5}});
    maker.Add({{{a, b, 3}}, {{a, b, 3}, Fill::kLabels}}, {{attribute::kElements, 3}});
  };
  forms[OpKind::kShareOfEqual] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a}, Fill::kLabels}, {{a}, Fill::kLabels}});
    maker.Add({{{a, b}, Fill::kLabels}, {{a, b}, Fill::kLabels}, {{a}, Fill::kMask}});
  };
  forms[OpKind::kLabelLoss] = [](Maker& maker) {
    LabelLosses(maker, {});
    const int64_t a = maker.Size();
    maker.Add({{{a, 3}}, {{a}, Fill::kLabels}, {{a, 1}}, {{a}, Fill::kMask}});
    maker.Add({{{a, 3}}, {{a}, Fill::kLabels}, {{a, 1}}}, {{attribute::kLabelSmoothing, 0.3}});
  };
  forms[OpKind::kLabelLossGradient] = [](Maker& maker) {
    LabelLosses(maker, {{{}}});
    const int64_t a = maker.Size();
    maker.Add({{{a, 3}}, {{a}, Fill::kLabels}, {{a, 1}}, {{}}}, {{attribute::kLabelSmoothing, 0.3}});
  };
}

}  // namespace cleave::ir
