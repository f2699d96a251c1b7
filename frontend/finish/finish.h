// The last pass over an expanded model: removes ops that nothing needs, and gives ops that only metrics, or only
// updates of states, need the phase of these.
#ifndef CLEAVE_FRONTEND_FINISH_FINISH_H_
#define CLEAVE_FRONTEND_FINISH_FINISH_H_

#include "frontend/evaluate/expansion.h"
#include "frontend/report/report.h"

namespace cleave::frontend {

// Keeps the loss, metrics, updates, what is looked at, pinned ops, all that they read, and every input. Ids are
// renumbered in order, in pins too. Warns of parameters that the loss does not depend on.
Expansion Tidy(Expansion expansion, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_FINISH_FINISH_H_
