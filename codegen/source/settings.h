// The training settings of the model file, as the `main` of program.cc.
#ifndef CLEAVE_CODEGEN_SOURCE_SETTINGS_H_
#define CLEAVE_CODEGEN_SOURCE_SETTINGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

// `type` is the struct of the model.
absl::Status EmitMain(const Emission& emission, const std::string& type, SourceWriter& writer);

// The initializer of a step scalar's local constant in Update: "static_cast<float>(scalars.learning_rate)".
std::string StepScalarText(const ir::Attributes& attributes, const ir::Training& training);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_SETTINGS_H_
