#include "ir/graph/attributes/attributes.h"

#include <optional>

#include "base/check/check.h"

namespace cleave::ir {

std::string AttributeStorage<DType>::Store(DType value) { return std::string(DTypeName(value)); }

DType AttributeStorage<DType>::Load(const std::string& stored) {
  const std::optional<DType> dtype = ParseDType(stored);
  CLEAVE_CHECK(dtype.has_value()) << "`" << stored << "` is no element type";
  return *dtype;
}

Attributes::Attributes(std::initializer_list<AttributeSetting> settings) {
  for (const AttributeSetting& setting : settings) values[setting.name] = setting.value;
}

const AttributeValue& Attributes::ValueOf(const char* name, size_t index) const {
  const auto found = values.find(name);
  CLEAVE_CHECK(found != values.end()) << "no attribute " << name;
  CLEAVE_CHECK(found->second.index() == index) << "attribute " << name << " has another type";
  return found->second;
}

}  // namespace cleave::ir
