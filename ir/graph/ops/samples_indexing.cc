#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {

void AddIndexingSamples(Forms& forms) {
  forms[OpKind::kGather] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{3, a}}, {{b}, Fill::kLabels}});
    maker.Add({{{a, 2, b}}, {{c, 2}, Fill::kLabels}}, {{attribute::kAxis, 1}});
    maker.Add({{{a, 4}}, {{}, Fill::kLabels}}, {{attribute::kAxis, -1}});
    maker.Add({{{a, 3, b}}, {{a, c}, Fill::kLabels}}, {{attribute::kAxis, 1}, {attribute::kBatch, 1}});
    maker.Add({{{a, 2, b, 3}}, {{a, 2}, Fill::kLabels}}, {{attribute::kAxis, -1}, {attribute::kBatch, 2}});
    maker.Add({{{3, a}, Fill::kLabels}, {{b}, Fill::kLabels}});
  };
  forms[OpKind::kScatter] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{3, a}}, {{b, a}}, {{b}, Fill::kLabels}});
    maker.Add({{{a, c, 4, b}}, {{a, c, 1, b}}, {{1}, Fill::kLabels}}, {{attribute::kAxis, -2}});
    maker.Add({{{a, c, 4, b}}, {{a, c, 2, b}}, {{a, 2}, Fill::kLabels}},
              {{attribute::kAxis, -2}, {attribute::kBatch, 1}});
  };
  forms[OpKind::kScatterAdd] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{b, a}}, {{b}, Fill::kLabels}}, {{attribute::kSize, 3}});
    maker.Add({{{a, c, 2, b}}, {{c, 2}, Fill::kLabels}}, {{attribute::kSize, 2}, {attribute::kAxis, 1}});
    maker.Add({{{a}}, {{}, Fill::kLabels}}, {{attribute::kSize, 4}, {attribute::kAxis, -1}});
    maker.Add({{{a, c, b}}, {{a, c}, Fill::kLabels}},
              {{attribute::kSize, 3}, {attribute::kAxis, 1}, {attribute::kBatch, 1}});
    maker.Add({{{a, 2, b}}, {{a, 2}, Fill::kLabels}},
              {{attribute::kSize, 3}, {attribute::kAxis, -1}, {attribute::kBatch, 2}});
  };
  forms[OpKind::kSegmentArgmax] = forms[OpKind::kSegmentMax] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{c, a}, Fill::kDistinct}, {{c}, Fill::kLabels}}, {{attribute::kSize, 4}, {attribute::kFill, -9.0}});
    maker.Add({{{a, c, 2}, Fill::kDistinct}, {{c}, Fill::kLabels}},
              {{attribute::kSize, 2}, {attribute::kAxis, -2}, {attribute::kFill, -9.0}});
    maker.Add({{{a, 2, b, c}, Fill::kDistinct}, {{a, b}, Fill::kLabels}},
              {{attribute::kSize, 3}, {attribute::kAxis, 2}, {attribute::kBatch, 1}, {attribute::kFill, -9.0}});
  };
  forms[OpKind::kSegmentFirst] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{c, a}, Fill::kMask}, {{3, a}, Fill::kMask}, {{c}, Fill::kLabels}});
    maker.Add({{{a, 2, b, c}, Fill::kMask}, {{a, 2, 3, c}, Fill::kMask}, {{a, b}, Fill::kLabels}},
              {{attribute::kAxis, 2}, {attribute::kBatch, 1}});
  };
  forms[OpKind::kSegmentMaxGradient] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{3, a}}, {{3, a}, Fill::kLabels}, {{c}, Fill::kLabels}});
    maker.Add({{{a, 2, 3, c}}, {{a, 2, 3, c}, Fill::kLabels}, {{a, b}, Fill::kLabels}},
              {{attribute::kAxis, 2}, {attribute::kBatch, 1}});
  };
  forms[OpKind::kEmbedding] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), e = maker.Size();
    maker.Add({{{a}, Fill::kLabels}, {{3, e}}});
    maker.Add({{{a, b}, Fill::kLabels}, {{2, e}}});
  };
  forms[OpKind::kEmbeddingGradient] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), e = maker.Size();
    maker.Add({{{a, e}}, {{a}, Fill::kLabels}}, {{attribute::kRows, 3}});
    maker.Add({{{a, b, e}}, {{a, b}, Fill::kLabels}}, {{attribute::kRows, 2}});
  };
  forms[OpKind::kDistinct] = [](Maker& maker) {
    maker.Add({{{maker.Size()}, Fill::kLabels}}, {{attribute::kRows, 3}});
  };
  forms[OpKind::kSumEqual] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a}}, {{a}, Fill::kLabels}, {{a}, Fill::kLabels}});
    maker.Add({{{a, b, c}}, {{a}, Fill::kLabels}, {{a}, Fill::kLabels}});
  };
  forms[OpKind::kGroupBy] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{7}, Fill::kLabels}}, {{attribute::kGroups, 3}, {attribute::kCapacity, 2}});
    maker.Add({{{a, b, c}, Fill::kLabels}}, {{attribute::kGroups, 2}, {attribute::kCapacity, 3}});
  };
  forms[OpKind::kOneHot] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, b}, Fill::kLabels}}, {{attribute::kDepth, 3}});
    maker.Add({{{a}, Fill::kLabels}}, {{attribute::kDepth, 2}});
  };
}

}  // namespace cleave::ir
