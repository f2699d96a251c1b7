// The pieces of one expansion. Each owns its part of the state, and only expressions, calls and statements, which bring
// the pieces together, see all of them.
#ifndef CLEAVE_FRONTEND_EVALUATE_PIECES_H_
#define CLEAVE_FRONTEND_EVALUATE_PIECES_H_

#include <optional>
#include <vector>

#include "frontend/custom_ops/custom_ops.h"
#include "frontend/evaluate/custom_call.h"
#include "frontend/evaluate/frame/budget.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/layers.h"
#include "frontend/evaluate/loss_and_metrics.h"
#include "frontend/evaluate/ops/op_writer.h"
#include "frontend/evaluate/path_numbers.h"
#include "frontend/evaluate/pins/pin_recorder.h"
#include "frontend/evaluate/pins/regions.h"
#include "frontend/evaluate/ranks/manual_model.h"
#include "frontend/evaluate/ranks/messages.h"
#include "frontend/evaluate/sample_mask.h"
#include "frontend/evaluate/sources.h"
#include "frontend/evaluate/updates.h"
#include "frontend/evaluate/vmap/vmap.h"
#include "frontend/functions/functions.h"
#include "frontend/report/report.h"

namespace cleave::frontend {

struct Pieces {
  Pieces(const FunctionTable& functions, const CustomOps& custom_ops, PathNumbers& numbers, Reporter& reporter,
         Sightings* sightings, Interpreter& interpreter);
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  const FunctionTable& functions;
  const CustomOps& custom_ops;
  PathNumbers& numbers;  // Of statements whose paths others have.
  Reporter& reporter;
  OpWriter ops;                                       // The graph.
  Demands demands;                                    // Of the numbers that flags change.
  const Context context;                              // The view that the pieces below have of the others.
  Budget budget;                                      // How much may still be expanded.
  PinRecorder pins;                                   // Pins and priorities.
  Regions regions;                                    // `#[region]`.
  Sources sources;                                    // Inputs and parameters.
  Layers layers;                                      // Functions and layers that are values.
  LossAndMetrics loss_and_metrics;                    // Loss and metrics.
  Updates updates;                                    // Of states.
  SampleMask mask;                                    // Of metrics.
  CustomCalls custom_calls;                           // Calls of the file's own ops.
  ManualModel model;                                  // Whether the model is manual.
  Messages messages;                                  // `send` and `recv`.
  Vmap vmap;                                          // Mapped calls.
  std::optional<OptimizedParameter> optimizing = {};  // Where an optimizer is expanded, and no model.
  bool generates = false;                             // Whether the program generates: the value of `generating`.
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_PIECES_H_
