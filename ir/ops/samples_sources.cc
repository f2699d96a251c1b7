#include "ir/ops/sample_maker.h"

namespace cleave {
void AddSourceSamples(Forms& forms) {
  forms["constant"] = [](Maker& maker) {
    maker.Add({}, {{"value", 2.5}});
    maker.Add({}, {{"value", 3.0}, {"shape", Ints{maker.Size(), 2}}, {"dtype", std::string("i32")}});
  };
  forms["step_scalar"] = [](Maker& maker) {
    maker.Add({}, {{"form", std::string("learning_rate")}, {"rate", 0.1}});
    maker.Add({}, {{"form", std::string("bias_correction")}, {"beta", 0.9}});
  };
  forms["input"] = [](Maker& maker) {
    maker.Add({}, {{"shape", Ints{maker.Size(), 3}}, {"dtype", std::string("i32")}, {"data", std::string("x")}});
  };
  forms["parameter"] = [](Maker& maker) { maker.Add({}, {{"shape", Ints{maker.Size(), 3}}}); };
  forms["state"] = forms["parameter"];
}

}  // namespace cleave
