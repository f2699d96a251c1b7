#include "ir/ops/sample_maker.h"

namespace cleave {
namespace {

Values OfGroup(int64_t size, Values attributes = {}) {
  attributes["group"] = std::string("world");
  attributes["size"] = size;
  return attributes;
}

void AddGroupSamples(Forms& forms) {
  forms["all_reduce"] = [](Maker& maker) {
    for (const char* reduction : {"sum", "max", "min", "prod"}) {
      Unary(maker, Fill::kSigned, OfGroup(4, {{"reduction", std::string(reduction)}}));
    }
  };
  forms["all_gather"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a}}}, OfGroup(4, {{"axis", int64_t{0}}}));
    maker.Add({{{a, b, 3}, Fill::kLabels}}, OfGroup(2, {{"axis", int64_t{1}}}));
  };
  forms["reduce_scatter"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{4 * a}}}, OfGroup(4, {{"axis", int64_t{0}}}));
    maker.Add({{{a, b, 6}}}, OfGroup(3, {{"axis", int64_t{2}}}));
  };
  forms["broadcast"] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, OfGroup(4, {{"root", int64_t{3}}}));
    Unary(maker, Fill::kLabels, OfGroup(2));
  };
  forms["all_to_all"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{4 * a, b}}}, OfGroup(4, {{"split_axis", int64_t{0}}, {"concat_axis", int64_t{1}}}));
    maker.Add({{{a, 2 * b}}}, OfGroup(2, {{"split_axis", int64_t{1}}, {"concat_axis", int64_t{1}}}));
  };
}

}  // namespace

void AddManualSamples(Forms& forms) {
  AddGroupSamples(forms);
  forms["neighbor_exchange"] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a + b}}}, {{"primitive", std::string("neighbor_exchange")},
                            {"send_sizes", Ints{a, b}},
                            {"receive_sizes", Ints{b, a}},
                            {"send_ranks", Ints{1, -1, -1, 0}},
                            {"receive_ranks", Ints{1, -1, -1, 0}}});
  };
  forms["rank_slice"] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 6}}}, {{"axis", int64_t{1}}, {"size", int64_t{3}}, {"starts", Ints{2, 0}}});
    maker.Add({{{4}}}, {{"axis", int64_t{0}}, {"size", int64_t{4}}, {"starts", Ints{0, 0}}});
  };
  forms["rank_pad"] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{2, a}}}, {{"axis", int64_t{0}}, {"size", int64_t{5}}, {"starts", Ints{2, 3, 0}}});
    maker.Add({{{4}}}, {{"axis", int64_t{0}}, {"size", int64_t{4}}, {"starts", Ints{0, 0}}});
  };
  forms["rank_value"] = [](Maker& maker) { maker.Add({}, {{"values", std::vector<double>{0.5, -2}}}); };
}

}  // namespace cleave
