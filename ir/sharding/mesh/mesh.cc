#include "ir/sharding/mesh/mesh.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"

namespace cleave::ir {
namespace {

constexpr int64_t kMostRanks = int64_t{1} << 20;

bool IsName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char character) {
    return absl::ascii_isalnum(character) || character == '_' || character == '.';
  });
}

}  // namespace

absl::StatusOr<Mesh> Mesh::Create(std::vector<MeshAxis> axes) {
  std::set<std::string> names;
  int64_t ranks = 1;
  for (const MeshAxis& axis : axes) {
    if (!IsName(axis.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("`", axis.name, "` is no name for a mesh axis: letters, digits, `_` and `.` are allowed"));
    }
    if (!names.insert(axis.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two mesh axes are named `", axis.name, "`"));
    }
    if (axis.size < 1) {
      return absl::InvalidArgumentError(absl::StrCat("mesh axis `", axis.name, "` has size ", axis.size));
    }
    if (!std::isfinite(axis.weight) || axis.weight < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the link of mesh axis `", axis.name, "` has weight ", axis.weight));
    }
    if (axis.size > kMostRanks || ranks * axis.size > kMostRanks) {
      return absl::InvalidArgumentError(absl::StrCat("the mesh has more than ", kMostRanks, " ranks"));
    }
    ranks *= axis.size;
  }
  Mesh mesh;
  mesh.axes_ = std::move(axes);
  mesh.strides_.assign(mesh.axes_.size(), 1);
  for (size_t i = mesh.axes_.size(); i-- > 1;) mesh.strides_[i - 1] = mesh.strides_[i] * mesh.axes_[i].size;
  mesh.rank_count_ = static_cast<int>(ranks);
  return mesh;
}

Mesh Mesh::OfDevices(int64_t devices) {
  CLEAVE_CHECK(devices >= 1) << devices << " devices";
  std::vector<MeshAxis> axes;
  for (int64_t prime : PrimeFactors(devices)) {
    axes.push_back({.name = absl::StrCat("m", axes.size()), .size = prime});
  }
  absl::StatusOr<Mesh> mesh = Create(std::move(axes));
  CLEAVE_CHECK(mesh.ok()) << mesh.status().ToString();
  return *std::move(mesh);
}

AxisList Mesh::AxisIds() const {
  AxisList ids;
  for (int i = 0; i < axis_count(); ++i) ids.push_back(AxisId(i));
  return ids;
}

std::optional<AxisId> Mesh::Find(absl::string_view name) const {
  for (AxisId id : AxisIds()) {
    if (axis(id).name == name) return id;
  }
  return std::nullopt;
}

int64_t Mesh::Size(absl::Span<const AxisId> axes) const {
  int64_t size = 1;
  for (AxisId id : axes) size *= axis(id).size;
  return size;
}

std::vector<int> Mesh::Coordinates(int rank) const {
  CLEAVE_CHECK(rank >= 0 && rank < rank_count_) << "rank " << rank << " of " << rank_count_;
  std::vector<int> coordinates(axes_.size());
  for (size_t i = axes_.size(); i-- > 0;) {
    coordinates[i] = static_cast<int>(rank % axes_[i].size);
    rank = static_cast<int>(rank / axes_[i].size);
  }
  return coordinates;
}

int Mesh::Rank(absl::Span<const int> coordinates) const {
  CLEAVE_CHECK(coordinates.size() == axes_.size()) << coordinates.size() << " coordinates for " << ToString();
  int64_t rank = 0;
  for (size_t i = 0; i < axes_.size(); ++i) rank = rank * axes_[i].size + coordinates[i];
  return static_cast<int>(rank);
}

int64_t Mesh::Index(int rank, absl::Span<const AxisId> axes) const {
  CLEAVE_CHECK(rank >= 0 && rank < rank_count_) << "rank " << rank << " of " << rank_count_;
  int64_t index = 0;
  for (AxisId id : axes) {
    const int64_t size = axis(id).size;
    index = index * size + rank / strides_[static_cast<size_t>(id.value())] % size;
  }
  return index;
}

std::vector<int> Mesh::Group(int rank, absl::Span<const AxisId> axes) const {
  std::vector<int> coordinates = Coordinates(rank);
  std::vector<int> members;
  const int64_t size = Size(axes);
  for (int64_t index = 0; index < size; ++index) {
    int64_t rest = index;
    for (size_t i = axes.size(); i-- > 0;) {
      coordinates[static_cast<size_t>(axes[i].value())] = static_cast<int>(rest % axis(axes[i]).size);
      rest /= axis(axes[i]).size;
    }
    members.push_back(Rank(coordinates));
  }
  return members;
}

std::string Mesh::ToString() const {
  return absl::StrJoin(axes_, ", ",
                       [](std::string* out, const MeshAxis& axis) { absl::StrAppend(out, axis.name, "=", axis.size); });
}

std::vector<int64_t> PrimeFactors(int64_t n) {
  CLEAVE_CHECK(n >= 1) << "no prime factors of " << n;
  std::vector<int64_t> primes;
  for (int64_t divisor = 2; divisor * divisor <= n; ++divisor) {
    for (; n % divisor == 0; n /= divisor) primes.push_back(divisor);
  }
  if (n > 1) primes.push_back(n);
  std::reverse(primes.begin(), primes.end());
  return primes;
}

}  // namespace cleave::ir
