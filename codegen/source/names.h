// The identifiers of a program's values.
//
// A value in the buffer of another takes the name of that value where it replaces it (a reshape, an all-reduce, an
// updated state), and that of the tensor in a part of which it lies. The result of a loop that writes over a dead input
// has a name of its own.
#ifndef CLEAVE_CODEGEN_SOURCE_NAMES_H_
#define CLEAVE_CODEGEN_SOURCE_NAMES_H_

#include <map>
#include <vector>

#include "codegen/cpp/cpp.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/program.h"

namespace cleave::codegen {

struct Names {
  IdVector<ir::ValueId, cpp::Expr> names;
  IdVector<ir::ValueId, ir::ValueId> named;  // The value whose name a value has; often itself.
  std::vector<ir::ValueId> declared;         // Values with a name and memory of their own, in program order.
  // Names in the function of a layer that is being written, by the value that has the name.
  std::map<ir::ValueId, cpp::Expr> in_layer = {};

  const cpp::Expr& operator[](ir::ValueId value) const {
    const auto found = in_layer.find(named[value]);
    return found == in_layer.end() ? names[value] : found->second;
  }
};

Names NameValues(const ir::Program& program, const ir::Fusion& fusion, const ir::Storage& storage,
                 Identifiers& identifiers);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_NAMES_H_
