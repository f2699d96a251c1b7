#include "ir/testing/sources.h"

#include <utility>

namespace cleave::ir {

OpId AddInput(GraphBuilder& builder, const std::string& name, const Shape& shape, DType dtype) {
  return builder.Add(OpKind::kInput, {},
                     {{attribute::kShape, shape}, {attribute::kDType, dtype}, {attribute::kData, name}}, name);
}

OpId AddParameter(GraphBuilder& builder, const std::string& name, const Shape& shape, Attributes initial) {
  initial.Set(attribute::kShape, shape);
  return builder.Add(OpKind::kParameter, {}, std::move(initial), name);
}

}  // namespace cleave::ir
