// Integer ids that cannot be mixed up, and vectors indexed by them.
//
//   using OpId = StrongId<struct OpIdTag>;
//   IdVector<OpId, Strategy> strategies(graph.size());
//   strategies[op.id] = ...;
#ifndef CLEAVE_BASE_STRONG_ID_STRONG_ID_H_
#define CLEAVE_BASE_STRONG_ID_STRONG_ID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace cleave {

// An index into a store of things of one kind; ordered by value.
template <typename Tag>
class StrongId {
 public:
  constexpr StrongId() = default;  // Id 0.
  constexpr explicit StrongId(int64_t value) : value_(static_cast<int32_t>(value)) {}

  constexpr int32_t value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, StrongId id) {
    return H::combine(std::move(state), id.value_);
  }

 private:
  int32_t value_ = 0;
};

// A std::vector whose index is a strong id.
template <typename Id, typename T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(size_t size) : items_(size) {}
  IdVector(size_t size, const T& value) : items_(size, value) {}
  IdVector(std::initializer_list<T> items) : items_(items) {}

  T& operator[](Id id) { return items_[static_cast<size_t>(id.value())]; }
  const T& operator[](Id id) const { return items_[static_cast<size_t>(id.value())]; }
  bool contains(Id id) const { return id.value() >= 0 && static_cast<size_t>(id.value()) < items_.size(); }

  // Appends and returns the id of the new item.
  Id push_back(T item) {
    items_.push_back(std::move(item));
    return Id(static_cast<int64_t>(items_.size()) - 1);
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void resize(size_t size) { items_.resize(size); }
  void reserve(size_t size) { items_.reserve(size); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }

  bool operator==(const IdVector&) const = default;

 private:
  std::vector<T> items_;
};

}  // namespace cleave

#endif  // CLEAVE_BASE_STRONG_ID_STRONG_ID_H_
