// Sources of the small graphs that tests build.
#ifndef CLEAVE_IR_TESTING_SOURCES_H_
#define CLEAVE_IR_TESTING_SOURCES_H_

#include <string>

#include "ir/graph/graph.h"
#include "ir/graph/ops/builder.h"

namespace cleave::ir {

// An input whose data has its name.
OpId AddInput(GraphBuilder& builder, const std::string& name, const Shape& shape, DType dtype = DType::kF32);

// A parameter; `initial` are the attributes that say what its values are before the first step.
OpId AddParameter(GraphBuilder& builder, const std::string& name, const Shape& shape, Attributes initial = {});

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_SOURCES_H_
