// Disjoint sets of ids or numbers, each known by its smallest member.
//
//   DisjointSets<OpId> alike(graph.ops.size());    // Each op alone.
//   alike.Join(a, b);
//   alike.Of(a) == alike.Of(b)
#ifndef CLEAVE_BASE_DISJOINT_SETS_DISJOINT_SETS_H_
#define CLEAVE_BASE_DISJOINT_SETS_DISJOINT_SETS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace cleave {

template <typename Id>
class DisjointSets {
 public:
  explicit DisjointSets(size_t count) {
    above_.reserve(count);
    for (size_t i = 0; i < count; ++i) above_.push_back(Id(static_cast<int64_t>(i)));
  }

  // The smallest member of the set of `id`. Nearly constant time.
  Id Of(Id id) {
    while (Above(id) != id) id = Above(id) = Above(Above(id));
    return id;
  }

  // Makes one set of two.
  void Join(Id a, Id b) {
    a = Of(a);
    b = Of(b);
    if (b < a) std::swap(a, b);
    Above(b) = a;
  }

 private:
  Id& Above(Id id) {
    if constexpr (std::is_integral_v<Id>) {
      return above_[static_cast<size_t>(id)];
    } else {
      return above_[static_cast<size_t>(id.value())];
    }
  }

  std::vector<Id> above_;
};

}  // namespace cleave

#endif  // CLEAVE_BASE_DISJOINT_SETS_DISJOINT_SETS_H_
