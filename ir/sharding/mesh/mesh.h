// The device mesh: a list of axes, outermost (slowest link) first; ranks are numbered row-major over them.
//
//   Mesh mesh = *Mesh::Create({{.name = "m0", .size = 2}, {.name = "m1", .size = 2}, {.name = "m2", .size = 2}});
//   mesh.Coordinates(5) == {1, 0, 1}
//   mesh.Group(5, {AxisId(2)}) == {4, 5}
#ifndef CLEAVE_IR_SHARDING_MESH_MESH_H_
#define CLEAVE_IR_SHARDING_MESH_MESH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/strong_id/strong_id.h"

namespace cleave::ir {

using AxisId = StrongId<struct AxisIdTag>;
using AxisList = absl::InlinedVector<AxisId, 8>;  // Without an allocation for most: plans have very many of them.

struct MeshAxis {
  std::string name;           // "m0", or "dp" for a named axis of prime size, "dp.0", "dp.1" for its prime sub-axes.
  int64_t size = 1;           // >= 1; 1 only where the proof has shortened an axis.
  std::string link = "host";  // The link class that it crosses.
  double weight = 1;          // Relative price of a byte on that link; 1 for the most expensive link.

  bool operator==(const MeshAxis&) const = default;
};

// A valid mesh: names unique and not empty, sizes at least 1, at most 2^20 ranks. No axes: one rank.
class Mesh {
 public:
  Mesh() = default;  // One rank.
  static absl::StatusOr<Mesh> Create(std::vector<MeshAxis> axes);

  // Axes m0, m1, … of prime size, larger primes first: 12 -> 3, 2, 2. REQUIRES: devices >= 1.
  static Mesh OfDevices(int64_t devices);

  const std::vector<MeshAxis>& axes() const { return axes_; }
  const MeshAxis& axis(AxisId id) const { return axes_[static_cast<size_t>(id.value())]; }
  int rank_count() const { return rank_count_; }
  int axis_count() const { return static_cast<int>(axes_.size()); }
  AxisList AxisIds() const;
  std::optional<AxisId> Find(absl::string_view name) const;

  // Product of the sizes of the given axes; 1 if there are none.
  int64_t Size(absl::Span<const AxisId> axes) const;

  std::vector<int> Coordinates(int rank) const;
  int Rank(absl::Span<const int> coordinates) const;

  // Row-major index of the rank's coordinates on `axes`, in the given order.
  int64_t Index(int rank, absl::Span<const AxisId> axes) const;

  // The ranks that differ from `rank` only on `axes`, ordered by Index(…, axes); includes `rank`.
  std::vector<int> Group(int rank, absl::Span<const AxisId> axes) const;

  std::string ToString() const;  // "m0=2, m1=2, m2=2"

  bool operator==(const Mesh&) const = default;

 private:
  std::vector<MeshAxis> axes_;
  std::vector<int64_t> strides_;  // Per axis the distance of ranks whose coordinate there differs by one.
  int rank_count_ = 1;
};

// The prime factors of n, largest first; empty for 1.
std::vector<int64_t> PrimeFactors(int64_t n);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_MESH_MESH_H_
