// How one tensor lies on a mesh: for each dimension the ordered mesh axes that cut it, and the axes over which it is
// partial.
//
// A dimension of d elements cut N ways gives piece i the elements from floor(i*d/N) up to floor((i+1)*d/N): the pieces
// of inner axes together are exactly the piece of the outer ones. Axes in neither list hold replicas.
#ifndef CLEAVE_IR_SHARDING_LAYOUT_LAYOUT_H_
#define CLEAVE_IR_SHARDING_LAYOUT_LAYOUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/units/units.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/piece/piece.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// Dimension `dimension` is held in windows: its axes cut the window's outer dimension, and a rank holds what the owner
// of its piece of the outer dimension reads. Windows of neighbours may overlap. Only inputs of ops are held in windows,
// never their results.
struct DimensionWindow {
  int dimension = 0;
  Window window;

  bool operator==(const DimensionWindow&) const = default;
};

// The ranks of `axis` hold parts; their `reduction` is the value.
struct PartialAxis {
  AxisId axis;
  Reduction reduction = Reduction::kSum;

  bool operator==(const PartialAxis&) const = default;
};

struct Layout {
  std::vector<AxisList> dimensions;           // For each dimension the axes that cut it, major first.
  std::vector<PartialAxis> partial;           // Ordered by axis.
  std::vector<DimensionWindow> windows = {};  // Ordered by dimension; only for dimensions that are cut.

  static Layout Replicated(int rank) { return Layout{.dimensions = std::vector<AxisList>(rank), .partial = {}}; }

  // The same axes, with each dimension held by pieces.
  Layout WithoutWindows() const { return Layout{.dimensions = dimensions, .partial = partial}; }
  // Null where `dimension` is held by pieces.
  const Window* WindowOf(size_t dimension) const;

  bool is_partial() const { return !partial.empty(); }
  AxisList PartialAxes() const;

  bool operator==(const Layout&) const = default;
  // An arbitrary but fixed order, for ordered containers.
  bool operator<(const Layout& other) const;
};

// Checks that axes exist in the mesh and none is used twice, that there is one entry per dimension of the tensor, and
// that windows are in order.
absl::Status VerifyLayout(const Layout& layout, const Mesh& mesh, int rank);

// For each dimension the elements that `rank` holds.
std::vector<Piece> SliceOf(const Layout& layout, const Mesh& mesh, const Shape& shape, int rank);
Shape LocalShape(const Layout& layout, const Mesh& mesh, const Shape& shape, int rank);

// For each dimension the largest piece over all ranks.
Shape LargestLocalShape(const Layout& layout, const Mesh& mesh, const Shape& shape);
Bytes LargestLocalBytes(const Layout& layout, const Mesh& mesh, const TensorType& type);

// Number of pieces of each dimension: (4, 2).
std::vector<int64_t> CutCounts(const Layout& layout, const Mesh& mesh);

// "[m0 m1, -] partial(m2: sum) windows(0: 28 from 14, 2/1, -1..1)"; "-" for a dimension that is not cut.
std::string LayoutText(const Layout& layout, const Mesh& mesh);
absl::StatusOr<Layout> ParseLayout(absl::string_view text, const Mesh& mesh);

// MindSpore's form. `device_matrix` is row-major over the mesh, the leftmost entry most significant. `tensor_map` holds
// for each dimension the device dimension that cuts it, counted from the right (0 = last), or -1 for one that is not
// cut.
struct DeviceMatrixForm {
  std::vector<int64_t> device_matrix;
  std::vector<int64_t> tensor_map;

  bool operator==(const DeviceMatrixForm&) const = default;
};

// Axes of the mesh that cut a dimension together become one device dimension. An error where the form cannot express
// the layout: axes of one dimension that are not neighbours in the mesh or not in mesh order, or a layout that is
// partial or has windows.
absl::StatusOr<DeviceMatrixForm> ToDeviceMatrix(const Layout& layout, const Mesh& mesh);

// The layout on `mesh` that means the same. An error where the device matrix does not factor into the mesh.
absl::StatusOr<Layout> FromDeviceMatrix(const DeviceMatrixForm& form, const Mesh& mesh);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_LAYOUT_LAYOUT_H_
