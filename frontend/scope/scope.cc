#include "frontend/scope/scope.h"

#include <utility>

namespace cleave::frontend {

std::vector<Binding> Scope::Pop() {
  std::vector<Binding> bindings = std::move(blocks_.back());
  blocks_.pop_back();
  return bindings;
}

Binding* Scope::Find(const std::string& name) {
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    for (Binding& binding : *block) {
      if (binding.name == name) return &binding;
    }
  }
  return nullptr;
}

const Binding* Scope::Find(const std::string& name) const { return const_cast<Scope*>(this)->Find(name); }

const Binding* Scope::FindInBlock(const std::string& name) const {
  for (const Binding& binding : blocks_.back()) {
    if (binding.name == name) return &binding;
  }
  return nullptr;
}

std::vector<Value> Scope::ValuesAround() const {
  std::vector<Value> values;
  for (size_t block = 0; block + 1 < blocks_.size(); ++block) {
    for (const Binding& binding : blocks_[block]) values.push_back(binding.value);
  }
  return values;
}

std::vector<std::string> Scope::Names() const {
  std::vector<std::string> names;
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    for (const Binding& binding : *block) names.push_back(binding.name);
  }
  return names;
}

}  // namespace cleave::frontend
