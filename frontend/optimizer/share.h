// What an optimizer's function has made for each parameter by itself becomes one graph of updates.
#ifndef CLEAVE_FRONTEND_OPTIMIZER_SHARE_H_
#define CLEAVE_FRONTEND_OPTIMIZER_SHARE_H_

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::frontend {

// The ops that belong to one parameter: those from `first` on, up to the next part.
struct PartOfUpdates {
  int first = 0;
  std::string parameter;
  int line = 0;  // Of the model, where the parameter stands.
};

// The same ops, where scalars that depend on the step alone, or on nothing, are made once for all parameters, and the
// value that a parameter or a state gets is called `<its name>.new`. A state gets a value of its own, also where that
// is another state or a gradient. `places`: where the ops have gone. REQUIRES: the parts are in the order of the ops.
ir::Updates ShareScalars(const ir::Graph& expanded, const std::vector<PartOfUpdates>& parts,
                         IdVector<ir::OpId, ir::OpId>& places);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_SHARE_H_
