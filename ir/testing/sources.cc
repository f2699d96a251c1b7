#include "ir/testing/sources.h"

namespace cleave {

OpId AddInput(GraphBuilder& builder, const std::string& name, const Shape& shape, DType dtype) {
  return builder.Add("input", {}, {{"shape", shape}, {"dtype", std::string(DTypeName(dtype))}, {"data", name}}, name);
}

OpId AddParameter(GraphBuilder& builder, const std::string& name, const Shape& shape) {
  return builder.Add("parameter", {}, {{"shape", shape}}, name);
}

}  // namespace cleave
