#include "frontend/evaluate/pieces.h"

#include "frontend/evaluate/calls.h"

namespace cleave::frontend {

Pieces::Pieces(const FunctionTable& functions, const CustomOps& custom_ops, PathNumbers& numbers, Reporter& reporter,
               Sightings* sightings, Interpreter& interpreter)
    : functions(functions),
      custom_ops(custom_ops),
      numbers(numbers),
      reporter(reporter),
      ops(reporter),
      context{interpreter, ops, reporter, demands, functions, sightings},
      budget(ops, reporter),
      pins(ops.graph(), reporter),
      regions(ops, pins, reporter),
      vmap({.call = [this](const CallSite& element) { return EvaluateCall(element, *this); },
            .move_notes =
                [this](const std::vector<ir::Op>& removed, const ir::Vectorized& batched) {
                  ops.MoveToBatched(batched);
                  sources.MoveToBatched(batched);
                  custom_calls.MoveToBatched(batched);
                  pins.MoveToBatched(removed, batched);
                }},
           budget) {}

}  // namespace cleave::frontend
