#include "ir/ops/sample_maker.h"

namespace cleave {
void AddMovementSamples(Forms& forms) {
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
  forms["identity"] = [](Maker& maker) {
    Unary(maker, Fill::kSigned);
    Unary(maker, Fill::kLabels);
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
    maker.Add({{{7, 6}}}, {{"begin", Ints{2, 0}}, {"end", Ints{7, 3}}});
    maker.Add({{{6, b}, Fill::kLabels}}, {{"begin", Ints{2, 0}}, {"end", Ints{4, b}}});
  };
  forms["pad"] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 2}}}, {{"before", Ints{0, 1}}, {"after", Ints{0, 2}}});
    maker.Add({{{4, a, 3}}}, {{"before", Ints{3, 0, 0}}, {"after", Ints{0, 0, 4}}});
    maker.Add({{{a}, Fill::kLabels}}, {{"before", Ints{0}}, {"after", Ints{0}}});
  };
  forms["concat"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 2}}, {{a, 1}}, {{a, 3}}}, {{"axis", int64_t{1}}});
    maker.Add({{{2, a, b}}, {{2, a, b}}}, {{"axis", int64_t{-3}}});
    maker.Add({{{a, b}}}, {{"axis", int64_t{0}}});
  };
  forms["cumsum"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, b, c}}}, {{"axis", int64_t{1}}});
    maker.Add({{{a, b}}}, {{"axis", int64_t{-1}}, {"reverse", true}});
    maker.Add({{{a}}}, {{"axis", int64_t{0}}});
  };
  forms["rope"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), pairs = maker.Size();
    maker.Add({{{b, 2 * pairs}}});
    maker.Add({{{a, b, 2 * pairs}}}, {{"theta", 50.0}, {"inverse", true}});
    maker.Add({{{a, b, 2, 2}}}, {{"theta", 50.0}, {"axis", int64_t{1}}});
  };
  // The key makes the op of a graph draw as the op alone does.
  forms["dropout"] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, {{"rate", 0.5}, {"key", std::string("h1.dropout")}});
    Unary(maker, Fill::kSigned, {{"rate", 0.0}, {"key", std::string("h2.dropout")}});
  };
}

}  // namespace cleave
