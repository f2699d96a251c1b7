// The last check of a manual model: finds values that must be equal on all ranks and are not, values that are equal but
// are reduced, and samples that no rank reads.
#ifndef CLEAVE_FRONTEND_VARIANCE_VARIANCE_H_
#define CLEAVE_FRONTEND_VARIANCE_VARIANCE_H_

#include "frontend/evaluate/expansion.h"
#include "frontend/report/report.h"

namespace cleave::frontend {

// Reports a loss or a metric that varies (E0706), an all_reduce that counts one value several times (W0701) and samples
// that no rank reads (W0702). REQUIRES: expansion.graph.is_manual(), and nothing in it is missing because of a mistake.
void CheckVariance(const Expansion& expansion, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_VARIANCE_VARIANCE_H_
