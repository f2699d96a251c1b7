#include "ir/testing/sources.h"

namespace cleave::ir {

OpId AddInput(GraphBuilder& builder, const std::string& name, const Shape& shape, DType dtype) {
  return builder.Add(OpKind::kInput, {},
                     {{attribute::kShape, shape}, {attribute::kDType, dtype}, {attribute::kData, name}}, name);
}

OpId AddParameter(GraphBuilder& builder, const std::string& name, const Shape& shape) {
  return builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, name);
}

}  // namespace cleave::ir
