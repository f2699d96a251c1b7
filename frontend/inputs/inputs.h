// Whether the model's inputs can be read from its data: one batch, and the fields that the source offers.
#ifndef CLEAVE_FRONTEND_INPUTS_INPUTS_H_
#define CLEAVE_FRONTEND_INPUTS_INPUTS_H_

#include <map>
#include <string>

#include "frontend/report/report.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"

namespace cleave::frontend {

// `inputs`: the model's inputs in program order, each where it is declared. A source's fields go to the inputs of their
// names when every input has a field's name, else to the inputs in order; files of `npy` only by name. `npy_places`:
// where the user's file names them.
void CheckInputs(const ir::Graph& graph, const std::map<ir::OpId, Span>& inputs, const ir::DataSource& data,
                 const std::map<std::string, Span>& npy_places, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_INPUTS_INPUTS_H_
