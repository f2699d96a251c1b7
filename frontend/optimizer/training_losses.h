// Which loss trains which parameters.
#ifndef CLEAVE_FRONTEND_OPTIMIZER_TRAINING_LOSSES_H_
#define CLEAVE_FRONTEND_OPTIMIZER_TRAINING_LOSSES_H_

#include <map>
#include <optional>
#include <vector>

#include "frontend/evaluate/expansion.h"
#include "frontend/evaluate/trainer.h"
#include "frontend/report/report.h"
#include "ir/graph/graph.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::frontend {

struct TrainingLosses {
  std::vector<ir::TrainingLoss> losses;  // As `ir::Updates` has them: none where the loss of the model is the only one.
  std::vector<ir::OpId> trained;         // The parameters that have a gradient, in program order.
  // Of parameters that are not trained in every step, and of states of the model that have the same turns.
  std::map<ir::OpId, Turns> turns = {};
};

// Reports a loss that trains nothing, and a parameter that two losses train; then there is no result. Warns of a
// parameter on which losses depend, and which none trains.
std::optional<TrainingLosses> FindTrainingLosses(const Expansion& model, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_TRAINING_LOSSES_H_
