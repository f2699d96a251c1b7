// Files with the C++ bodies of ops. Inside of frontend/custom_ops only.
#ifndef CLEAVE_FRONTEND_CUSTOM_OPS_BODY_H_
#define CLEAVE_FRONTEND_CUSTOM_OPS_BODY_H_

#include <list>
#include <string>

#include "absl/strings/string_view.h"
#include "base/source/source.h"
#include "frontend/custom_ops/custom_ops.h"

namespace cleave::frontend {

// The file that `path` names, read once; null after a mistake, which has been reported at `place`: `what` names what
// the file is for.
const BodyFile* LoadBody(const std::string& folder, const std::string& path, Span place, const std::string& what,
                         std::list<BodyFile>& files, Reporter& reporter);

// Whether the C++ text, comments apart, holds `void name(`.
bool DefinesFunction(absl::string_view text, absl::string_view name);

// "inline void soft_cap(View<const float> x, float cap, View<float> y)": the function that a body must define.
std::string ForwardDeclaration(const CustomOp& op);
// The same for `name`, the gradient by tensor `argument`.
std::string BackwardDeclaration(const CustomOp& op, const std::string& name, const std::string& argument);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_CUSTOM_OPS_BODY_H_
