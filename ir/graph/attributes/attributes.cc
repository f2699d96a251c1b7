#include "ir/graph/attributes/attributes.h"

#include <optional>
#include <utility>

#include "base/check/check.h"

namespace cleave::ir {

std::string AttributeStorage<DType>::Store(DType value) { return std::string(DTypeName(value)); }

DType AttributeStorage<DType>::Load(const std::string& stored) {
  const std::optional<DType> dtype = ParseDType(stored);
  CLEAVE_CHECK(dtype.has_value()) << "`" << stored << "` is no element type";
  return *dtype;
}

Attributes::Attributes(std::initializer_list<AttributeSetting> settings) {
  Values values;
  for (const AttributeSetting& setting : settings) values[setting.name] = setting.value;
  *this = Attributes(std::move(values));
}

Attributes::Attributes(Values values)
    : values_(values.empty() ? nullptr : std::make_shared<const Values>(std::move(values))) {}

void Attributes::SetNamed(const std::string& name, AttributeValue value) {
  Values changed = values();
  changed[name] = std::move(value);
  *this = Attributes(std::move(changed));
}

void Attributes::EraseNamed(const std::string& name) {
  Values changed = values();
  changed.erase(name);
  *this = Attributes(std::move(changed));
}

const Attributes::Values& Attributes::NoValues() {
  static const Values* const none = new Values();
  return *none;
}

const AttributeValue& Attributes::ValueOf(const char* name, size_t index) const {
  const auto found = values().find(name);
  CLEAVE_CHECK(found != values().end()) << "no attribute " << name;
  CLEAVE_CHECK(found->second.index() == index) << "attribute " << name << " has another type";
  return found->second;
}

}  // namespace cleave::ir
