#include "ir/ops/sample_maker.h"

namespace cleave {

void AddIndexingSamples(Forms& forms) {
  forms["gather"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{3, a}}, {{b}, Fill::kLabels}});
    maker.Add({{{a, 2, b}}, {{c, 2}, Fill::kLabels}}, {{"axis", int64_t{1}}});
    maker.Add({{{a, 4}}, {{}, Fill::kLabels}}, {{"axis", int64_t{-1}}});
  };
  forms["scatter_add"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{b, a}}, {{b}, Fill::kLabels}}, {{"size", int64_t{3}}});
    maker.Add({{{a, c, 2, b}}, {{c, 2}, Fill::kLabels}}, {{"size", int64_t{2}}, {"axis", int64_t{1}}});
    maker.Add({{{a}}, {{}, Fill::kLabels}}, {{"size", int64_t{4}}, {"axis", int64_t{-1}}});
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

}  // namespace cleave
