#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
void AddMovementSamples(Forms& forms) {
  forms[OpKind::kReshape] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, b, c}}}, {{attribute::kShape, Ints{a, b * c}}});
    maker.Add({{{a * b, c}}}, {{attribute::kShape, Ints{a, 1, -1}}});
    maker.Add({{{6, 4}}}, {{attribute::kShape, Ints{2, 12}}});
    maker.Add({{{a, 2, 3, c}}}, {{attribute::kShape, Ints{a, 3, 2, c}}});
    maker.Add({{{a, 4, 6}}}, {{attribute::kShape, Ints{a, 6, 4}}});
    maker.Add({{{1, 1}}}, {{attribute::kShape, Ints{}}});
    maker.Add({{{a, b}, Fill::kLabels}}, {{attribute::kShape, Ints{a * b}}});
  };
  forms[OpKind::kFlatten] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, 1, b, c}}});
    maker.Add({{{a, b, c}}}, {{attribute::kStart, 0}});
    maker.Add({{{a}}});
  };
  forms[OpKind::kIdentity] = [](Maker& maker) {
    Unary(maker, Fill::kSigned);
    Unary(maker, Fill::kLabels);
  };
  forms[OpKind::kStopGradient] = [](Maker& maker) {
    Unary(maker, Fill::kSigned);
    Unary(maker, Fill::kLabels);
  };
  forms[OpKind::kTranspose] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, b}}});
    maker.Add({{{a, b, c}}}, {{attribute::kPermutation, Ints{1, 2, 0}}});
    maker.Add({{{a, b, c, 2}, Fill::kLabels}}, {{attribute::kPermutation, Ints{0, 2, 1, 3}}});
  };
  forms[OpKind::kSlice] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, b, 5}}}, {{attribute::kBegin, Ints{0, 0, 1}}, {attribute::kEnd, Ints{a, b, 4}}});
    maker.Add({{{4, b}}}, {{attribute::kBegin, Ints{3, 0}}, {attribute::kEnd, Ints{4, b}}});
    maker.Add({{{7, 6}}}, {{attribute::kBegin, Ints{2, 0}}, {attribute::kEnd, Ints{7, 3}}});
    maker.Add({{{6, b}, Fill::kLabels}}, {{attribute::kBegin, Ints{2, 0}}, {attribute::kEnd, Ints{4, b}}});
  };
  forms[OpKind::kPad] = [](Maker& maker) {
    const int64_t a = maker.Size();
    maker.Add({{{a, 2}}}, {{attribute::kBefore, Ints{0, 1}}, {attribute::kAfter, Ints{0, 2}}});
    maker.Add({{{4, a, 3}}}, {{attribute::kBefore, Ints{3, 0, 0}}, {attribute::kAfter, Ints{0, 0, 4}}});
    maker.Add({{{a}, Fill::kLabels}}, {{attribute::kBefore, Ints{0}}, {attribute::kAfter, Ints{0}}});
  };
  forms[OpKind::kConcat] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 2}}, {{a, 1}}, {{a, 3}}}, {{attribute::kAxis, 1}});
    maker.Add({{{2, a, b}}, {{2, a, b}}}, {{attribute::kAxis, -3}});
    maker.Add({{{a, b}}}, {{attribute::kAxis, 0}});
  };
  forms[OpKind::kCumsum] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
    maker.Add({{{a, b, c}}}, {{attribute::kAxis, 1}});
    maker.Add({{{a, b}}}, {{attribute::kAxis, -1}, {attribute::kReverse, true}});
    maker.Add({{{a}}}, {{attribute::kAxis, 0}});
  };
  for (const OpKind kind : {OpKind::kScan, OpKind::kScanGradientA, OpKind::kScanGradientB}) {
    forms[kind] = [kind](Maker& maker) {
      const int64_t a = maker.Size(), b = maker.Size(), c = maker.Size();
      const auto add = [&](const Shape& factor, const Shape& shape, const Attributes& attributes) {
        std::vector<InputForm> inputs = {{factor}, {shape}};
        if (kind == OpKind::kScanGradientA) inputs.push_back({shape});
        maker.Add(inputs, attributes);
      };
      add({a, b, c}, {a, b, c}, {{attribute::kAxis, 1}});
      add({b, 1}, {a, b, c}, {{attribute::kAxis, 1}, {attribute::kReverse, true}});
      add({a, 1}, {a, 7}, {{attribute::kAxis, -1}});
      add({}, {a}, {{attribute::kAxis, 0}, {attribute::kReverse, true}});
    };
  }
  forms[OpKind::kScanEnds] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    const Attributes of_seven = {{attribute::kAxis, 1}, {attribute::kPieces, 3}, {attribute::kElements, 7}};
    maker.Add({{{a, 7, 1}}, {{a, 7, b}}}, of_seven);
    maker.Add({{{a, 7}}}, of_seven);
    maker.Add({{{2, a}}, {{2, a}}},
              {{attribute::kAxis, 0}, {attribute::kPieces, 4}, {attribute::kElements, 2}, {attribute::kReverse, true}});
  };
  forms[OpKind::kScanPieces] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    const Attributes of_seven = {{attribute::kAxis, 1}, {attribute::kPieces, 3}, {attribute::kElements, 7}};
    maker.Add({{{a, 7, 1}}, {{a, 7, b}}, {{a, 3, b}}}, of_seven);
    maker.Add({{{2, a}}, {{2, a}}, {{4, a}}},
              {{attribute::kAxis, 0}, {attribute::kPieces, 4}, {attribute::kElements, 2}, {attribute::kReverse, true}});
  };
  forms[OpKind::kJoinPieces] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 3, 3, b}}}, {{attribute::kAxis, 1}, {attribute::kPieces, 3}, {attribute::kElements, 7}});
    maker.Add({{{4, 1, a}}}, {{attribute::kAxis, 0}, {attribute::kPieces, 4}, {attribute::kElements, 2}});
  };
  forms[OpKind::kRun] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 7}, Fill::kLabels}});
    maker.Add({{{2, b, 9}, Fill::kLabels}}, {{attribute::kReverse, true}});
    maker.Add({{{a}, Fill::kLabels}}, {{attribute::kReverse, true}});
  };
  forms[OpKind::kRope] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), pairs = maker.Size();
    maker.Add({{{b, 2 * pairs}}});
    maker.Add({{{a, b, 2 * pairs}}}, {{attribute::kTheta, 50.0}, {attribute::kInverse, true}});
    maker.Add({{{a, b, 2, 2}}}, {{attribute::kTheta, 50.0}, {attribute::kAxis, 1}});
    maker.Add({{{4 * a, b, 2}}}, {{attribute::kTheta, 50.0}, {attribute::kAxis, 0}, {attribute::kZigzag, 2}});
  };
  forms[OpKind::kZigzag] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 6, b}}}, {{attribute::kAxis, 1}, {attribute::kZigzag, 3}});
    maker.Add({{{4 * a}, Fill::kLabels}},
              {{attribute::kAxis, 0}, {attribute::kZigzag, 2}, {attribute::kInverse, true}});
  };
  forms[OpKind::kTurn] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, 6, b}}}, {{attribute::kAxis, 1}, {attribute::kPieces, 3}, {attribute::kTurn, 2}});
    maker.Add({{{4 * a}}}, {{attribute::kAxis, 0}, {attribute::kPieces, 2}, {attribute::kTurn, 1}});
  };
  forms[OpKind::kRopeAt] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size(), pairs = maker.Size();
    maker.Add({{{b, 2 * pairs}}, {{b}, Fill::kLabels}});
    maker.Add({{{a, 1, b, 2 * pairs}}, {{1}, Fill::kLabels}},
              {{attribute::kTheta, 50.0}, {attribute::kAxis, 1}, {attribute::kInverse, true}});
    maker.Add({{{a, 3, b, 2 * pairs}}, {{a, b}, Fill::kLabels}}, {{attribute::kBatch, 1}});
  };
  // With this key the op in a graph draws the same numbers as the op alone.
  forms[OpKind::kDropout] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, {{attribute::kRate, 0.5}, {attribute::kKey, "h1.dropout"}});
    Unary(maker, Fill::kSigned, {{attribute::kRate, 0.0}, {attribute::kKey, "h2.dropout"}});
  };
  forms[OpKind::kNormal] = [](Maker& maker) {
    Unary(maker, Fill::kSigned,
          {{attribute::kMean, -1.0}, {attribute::kDeviation, 0.5}, {attribute::kKey, "h1.normal"}});
    maker.Add({{{maker.Size(), 5}, Fill::kLabels}}, {{attribute::kKey, "h2.normal"}});
    Unary(maker, Fill::kSigned,
          {{attribute::kMean, 2.0}, {attribute::kDeviation, 0.0}, {attribute::kKey, "h3.normal"}});
  };
  forms[OpKind::kUniform] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, {{attribute::kLow, -1.5}, {attribute::kHigh, 0.5}, {attribute::kKey, "h1.uniform"}});
    maker.Add({{{maker.Size(), 5}, Fill::kLabels}}, {{attribute::kKey, "h2.uniform"}});
    Unary(maker, Fill::kSigned, {{attribute::kLow, 2.0}, {attribute::kHigh, 2.0}, {attribute::kKey, "h3.uniform"}});
  };
  forms[OpKind::kTotal] = [](Maker& maker) {
    Unary(maker, Fill::kSigned, {{attribute::kKey, "metric.total"}});
    maker.Add({{{}}}, {{attribute::kKey, "metric.total"}});
  };
  forms[OpKind::kWhileTraining] = [](Maker& maker) {
    const int64_t a = maker.Size(), b = maker.Size();
    maker.Add({{{a, b}}, {{a, b}}});
    maker.Add({{{}}, {{}}});
  };
}

}  // namespace cleave::ir
