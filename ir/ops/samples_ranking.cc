#include "ir/ops/sample_maker.h"

namespace cleave {
namespace {

void Argmaxes(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
  maker.Add({{{a, b}, Fill::kDistinct}});
  maker.Add({{{a, b, c}, Fill::kDistinct}}, {{"axis", int64_t{1}}});
  maker.Add({{{a}, Fill::kDistinct}}, {{"axis", int64_t{0}}});
}

void FirstEquals(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
  maker.Add({{{a, b}, Fill::kDistinct}, {{a, 1}, Fill::kDistinct}});
  maker.Add({{{a, b, c}, Fill::kDistinct}, {{a, 1, c}, Fill::kDistinct}}, {{"axis", int64_t{1}}});
}

void TopKs(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, 5}, Fill::kDistinct}}, {{"k", int64_t{2}}});
  maker.Add({{{a, b, 4}, Fill::kDistinct}}, {{"k", int64_t{4}}});
  maker.Add({{{7}, Fill::kDistinct}}, {{"k", int64_t{1}}});
}

void Candidates(Maker& maker) {
  const int64_t a = maker.Size(), b = maker.Size();
  maker.Add({{{a, 7}, Fill::kDistinct}}, {{"k", int64_t{2}}, {"pieces", int64_t{3}}, {"elements", int64_t{7}}});
  maker.Add({{{a, b, 5}, Fill::kDistinct}}, {{"k", int64_t{1}}, {"pieces", int64_t{4}}, {"elements", int64_t{5}}});
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
  forms["argmax"] = Argmaxes;
  forms["first_equal"] = FirstEquals;
  forms["top_k"] = TopKs;
  forms["top_k_indices"] = TopKs;
  forms["top_k_candidates"] = Candidates;
  forms["top_k_candidate_indices"] = Candidates;
  forms["top_k_merge"] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 6}, Fill::kDistinct}, {{a, 6}, Fill::kLabels}}, {{"k", int64_t{3}}});
  };
  forms["top_k_gradient"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 2}}, {{a, 2}, Fill::kLabels}}, {{"elements", int64_t{5}}});
    maker.Add({{{a, b, 3}}, {{a, b, 3}, Fill::kLabels}}, {{"elements", int64_t{3}}});
  };
  forms["share_of_equal"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a}, Fill::kLabels}, {{a}, Fill::kLabels}});
    maker.Add({{{a, b}, Fill::kLabels}, {{a, b}, Fill::kLabels}, {{a}, Fill::kMask}});
  };
  forms["label_loss"] = [](Maker& maker) {
    LabelLosses(maker, {});
    const int64_t a = maker.Size();
    maker.Add({{{a, 3}}, {{a}, Fill::kLabels}, {{a, 1}}, {{a}, Fill::kMask}});
  };
  forms["label_loss_gradient"] = [](Maker& maker) { LabelLosses(maker, {{{}}}); };
}

}  // namespace cleave
