// MindSpore's way to write a layout: a device matrix and a tensor map.

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/sharding/layout/layout.h"

namespace cleave::ir {

absl::StatusOr<DeviceMatrixForm> ToDeviceMatrix(const Layout& layout, const Mesh& mesh) {
  if (layout.is_partial() || !layout.windows.empty()) {
    return absl::InvalidArgumentError("a device matrix and a tensor map cannot say that a tensor is partial");
  }
  // For each run of axes that cuts a dimension: its first axis, and how long it is.
  std::map<AxisId, std::pair<size_t, size_t>> runs;  // First axis -> (dimension, length)
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    const AxisList& axes = layout.dimensions[d];
    for (size_t i = 1; i < axes.size(); ++i) {
      if (axes[i].value() != axes[i - 1].value() + 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            "dimension ", d, " is cut by mesh axes that are not neighbours in mesh order: ", LayoutText(layout, mesh)));
      }
    }
    if (!axes.empty()) runs[axes.front()] = {d, axes.size()};
  }
  DeviceMatrixForm form;
  form.tensor_map.assign(layout.dimensions.size(), -1);
  std::map<size_t, int64_t> from_left;  // Dimension of the tensor -> of the device matrix, counted from the left.
  for (int64_t axis = 0; axis < mesh.axis_count();) {
    const auto run = runs.find(AxisId(axis));
    int64_t size = 1;
    const size_t length = run == runs.end() ? 1 : run->second.second;
    for (size_t i = 0; i < length; ++i) size *= mesh.axis(AxisId(axis++)).size;
    if (run != runs.end()) from_left[run->second.first] = static_cast<int64_t>(form.device_matrix.size());
    form.device_matrix.push_back(size);
  }
  for (const auto& [dimension, left] : from_left) {
    form.tensor_map[dimension] = static_cast<int64_t>(form.device_matrix.size()) - 1 - left;
  }
  return form;
}

absl::StatusOr<Layout> FromDeviceMatrix(const DeviceMatrixForm& form, const Mesh& mesh) {
  const auto mismatch = [&] {
    return absl::InvalidArgumentError(absl::StrCat("device matrix [", absl::StrJoin(form.device_matrix, ", "),
                                                   "] is no grouping of the mesh (", mesh.ToString(), ")"));
  };
  // The mesh axes of each device dimension, from the left.
  std::vector<AxisList> axes_of(form.device_matrix.size());
  int next = 0;
  for (size_t i = 0; i < form.device_matrix.size(); ++i) {
    for (int64_t covered = 1; covered != form.device_matrix[i];) {
      if (next == mesh.axis_count() || covered > form.device_matrix[i]) return mismatch();
      covered *= mesh.axis(AxisId(next)).size;
      axes_of[i].push_back(AxisId(next++));
    }
  }
  for (; next < mesh.axis_count(); ++next) {
    if (mesh.axis(AxisId(next)).size != 1) return mismatch();
  }
  const int64_t count = static_cast<int64_t>(form.device_matrix.size());
  Layout layout = Layout::Replicated(static_cast<int>(form.tensor_map.size()));
  for (size_t d = 0; d < form.tensor_map.size(); ++d) {
    const int64_t from_right = form.tensor_map[d];
    if (from_right == -1) continue;
    if (from_right < 0 || from_right >= count) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor map entry ", from_right, " for a device matrix of ", count, " dimensions"));
    }
    layout.dimensions[d] = axes_of[static_cast<size_t>(count - 1 - from_right)];
  }
  if (absl::Status valid = VerifyLayout(layout, mesh, static_cast<int>(form.tensor_map.size())); !valid.ok())
    return valid;
  return layout;
}

}  // namespace cleave::ir
