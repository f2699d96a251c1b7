// Checks that mesh axes exist and that each is used once, for layouts and strategies.
//
//   AxisUse use(mesh);
//   CLEAVE_RETURN_IF_ERROR(use.Add(axis));
#ifndef CLEAVE_IR_SHARDING_MESH_AXIS_USE_H_
#define CLEAVE_IR_SHARDING_MESH_AXIS_USE_H_

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {

class AxisUse {
 public:
  // `mesh` must outlive the object.
  explicit AxisUse(const Mesh& mesh) : mesh_(mesh), used_(static_cast<size_t>(mesh.axis_count()), false) {}

  // An InvalidArgument error where the mesh has no such axis or it was added before.
  absl::Status Add(AxisId axis);

 private:
  const Mesh& mesh_;
  absl::InlinedVector<bool, 32> used_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_MESH_AXIS_USE_H_
