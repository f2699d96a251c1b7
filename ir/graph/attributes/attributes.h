// The named constants of an op: values by name as the text forms print them, read and written through typed keys.
//
//   Attributes attributes = {{attribute::kAxis, 1}, {attribute::kDType, DType::kBf16}};
//   int64_t axis = attributes.Get(attribute::kAxis);
//
// A key has one name and one type, so a name that no op has, or a value of another type, does not compile. Only parsers
// and printers handle names and values without keys. The keys of existing arguments are in keys.h.
#ifndef CLEAVE_IR_GRAPH_ATTRIBUTES_ATTRIBUTES_H_
#define CLEAVE_IR_GRAPH_ATTRIBUTES_ATTRIBUTES_H_

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/tensor/types/types.h"

namespace cleave::ir {

using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

// The key of an attribute. T is one of AttributeValue's types, or DType, which is stored as its name.
template <typename T>
struct Attribute {
  const char* name;
};

// How a T is stored and loaded.
template <typename T>
struct AttributeStorage {
  using Stored = T;
  using Read = const T&;
  static Stored Store(T value) { return value; }
  static Read Load(const Stored& stored) { return stored; }
};

template <>
struct AttributeStorage<DType> {
  using Stored = std::string;
  using Read = DType;
  static Stored Store(DType value);
  static DType Load(const Stored& stored);  // REQUIRES: the name of a DType.
};

// A key with its value, for the initializer of Attributes.
struct AttributeSetting {
  template <typename T>
  AttributeSetting(Attribute<T> key, std::type_identity_t<T> value)
      : name(key.name), value(AttributeStorage<T>::Store(std::move(value))) {}

  std::string name;
  AttributeValue value;
};

// Ordered by name. An attribute with its default value is absent or present, but always the same for one kind of op:
// the builder of graphs (ir/graph/ops/builder.h) fills in the defaults. Copies share the values, because programs have
// many ops with the same ones; what is changed is no longer shared.
class Attributes {
 public:
  using Values = std::map<std::string, AttributeValue>;

  Attributes() = default;
  Attributes(std::initializer_list<AttributeSetting> settings);
  explicit Attributes(Values values);

  const Values& values() const { return values_ == nullptr ? NoValues() : *values_; }

  // REQUIRES: present, with the type of the key.
  template <typename T>
  typename AttributeStorage<T>::Read Get(Attribute<T> key) const {
    return AttributeStorage<T>::Load(std::get<typename AttributeStorage<T>::Stored>(ValueOf(key.name, IndexOf<T>())));
  }

  template <typename T>
  void Set(Attribute<T> key, std::type_identity_t<T> value) {
    SetNamed(key.name, AttributeStorage<T>::Store(std::move(value)));
  }
  void SetNamed(const std::string& name, AttributeValue value);

  template <typename T>
  void Erase(Attribute<T> key) {
    EraseNamed(key.name);
  }
  void EraseNamed(const std::string& name);

  template <typename T>
  bool Has(Attribute<T> key) const {
    return values().count(key.name) > 0;
  }

  // The value of a flag that not all ops have: false where it is absent.
  bool IsSet(Attribute<bool> key) const { return Has(key) && Get(key); }

  // Only the attributes of `keys`. REQUIRES: present.
  template <typename... T>
  Attributes Only(Attribute<T>... keys) const {
    Values only;
    (only.emplace(keys.name, ValueOf(keys.name, IndexOf<T>())), ...);
    return Attributes(std::move(only));
  }

  bool operator==(const Attributes& other) const { return values_ == other.values_ || values() == other.values(); }

 private:
  template <typename T>
  static size_t IndexOf() {
    return AttributeValue(std::in_place_type<typename AttributeStorage<T>::Stored>).index();
  }
  static const Values& NoValues();

  // CHECKs that `name` is present with the type of that index.
  const AttributeValue& ValueOf(const char* name, size_t index) const;

  std::shared_ptr<const Values> values_;  // Null where there are none.
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_ATTRIBUTES_ATTRIBUTES_H_
