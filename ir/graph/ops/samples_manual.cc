#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
namespace {

Attributes OfGroup(int64_t size, Attributes attributes = {}) {
  attributes.Set(attribute::kGroup, std::string("world"));
  attributes.Set(attribute::kSize, size);
  return attributes;
}

void AddGroupSamples(Forms& forms) {
  forms[OpKind::kAllReduce] = [](Maker& maker) {
    for (const char* reduction : {"sum", "max", "min", "prod"}) {
      Unary(maker, Fill::kSigned, OfGroup(4, {{attribute::kReduction, std::string(reduction)}}));
    }
  };
  forms[OpKind::kAllGather] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a}}}, OfGroup(4, {{attribute::kAxis, 0}}));
    maker.Add({{{a, b, 3}, Fill::kLabels}}, OfGroup(2, {{attribute::kAxis, 1}}));
  };
  forms[OpKind::kReduceScatter] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{4 * a}}}, OfGroup(4, {{attribute::kAxis, 0}}));
    maker.Add({{{a, b, 6}}}, OfGroup(3, {{attribute::kAxis, 2}}));
  };
  forms[OpKind::kBroadcast] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, OfGroup(4, {{attribute::kRoot, 3}}));
    Unary(maker, Fill::kLabels, OfGroup(2));
  };
  forms[OpKind::kAllToAll] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{4 * a, b}}}, OfGroup(4, {{attribute::kSplitAxis, 0}, {attribute::kConcatAxis, 1}}));
    maker.Add({{{a, 2 * b}}}, OfGroup(2, {{attribute::kSplitAxis, 1}, {attribute::kConcatAxis, 1}}));
  };
}

}  // namespace

void AddManualSamples(Forms& forms) {
  AddGroupSamples(forms);
  forms[OpKind::kNeighborExchange] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a + b}}}, {{attribute::kPrimitive, "neighbor_exchange"},
                            {attribute::kSendSizes, Ints{a, b}},
                            {attribute::kReceiveSizes, Ints{b, a}},
                            {attribute::kSendRanks, Ints{1, -1, -1, 0}},
                            {attribute::kReceiveRanks, Ints{1, -1, -1, 0}}});
  };
  forms[OpKind::kRankSlice] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 6}}}, {{attribute::kAxis, 1}, {attribute::kSize, 3}, {attribute::kStarts, Ints{2, 0}}});
    maker.Add({{{4}}}, {{attribute::kAxis, 0}, {attribute::kSize, 4}, {attribute::kStarts, Ints{0, 0}}});
  };
  forms[OpKind::kRankPad] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{2, a}}}, {{attribute::kAxis, 0}, {attribute::kSize, 5}, {attribute::kStarts, Ints{2, 3, 0}}});
    maker.Add({{{4}}}, {{attribute::kAxis, 0}, {attribute::kSize, 4}, {attribute::kStarts, Ints{0, 0}}});
  };
  forms[OpKind::kRankValue] = [](Maker& maker) { maker.Add({}, {{attribute::kValues, std::vector<double>{0.5, -2}}}); };
}

}  // namespace cleave::ir
