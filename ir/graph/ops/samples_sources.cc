#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
void AddSourceSamples(Forms& forms) {
  forms[OpKind::kConstant] = [](Maker& maker) {
    maker.Add({}, {{attribute::kValue, 2.5}});
    maker.Add({},
              {{attribute::kValue, 3.0}, {attribute::kShape, Ints{maker.Size(), 2}}, {attribute::kDType, DType::kI32}});
  };
  forms[OpKind::kStepScalar] = [](Maker& maker) {
    maker.Add({}, {{attribute::kFormula, "0.1"}});
    maker.Add({}, {{attribute::kFormula, "div(1.0, sub(1.0, pow(0.9, step)))"}});
  };
  forms[OpKind::kInput] = [](Maker& maker) {
    maker.Add({},
              {{attribute::kShape, Ints{maker.Size(), 3}}, {attribute::kDType, DType::kI32}, {attribute::kData, "x"}});
  };
  forms[OpKind::kParameter] = [](Maker& maker) { maker.Add({}, {{attribute::kShape, Ints{maker.Size(), 3}}}); };
  forms[OpKind::kState] = forms[OpKind::kParameter];
}

}  // namespace cleave::ir
