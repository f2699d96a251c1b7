// Checks that the model's inputs can be read from its data: that they have one batch and fit the fields of the source.
#ifndef CLEAVE_FRONTEND_INPUTS_INPUTS_H_
#define CLEAVE_FRONTEND_INPUTS_INPUTS_H_

#include <map>
#include <string>

#include "frontend/report/report.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"

namespace cleave::frontend {

// Where a model says what its data is.
struct DataPlaces {
  Span model;                         // Its name.
  Span data;                          // The setting; nowhere if there is none.
  std::map<std::string, Span> files;  // Of `npy`, by the input that a file is for.
};

// `inputs`: the model's inputs in program order, each with the place of its declaration. A source's fields go to the
// inputs of the same names if every input has the name of a field, else to the inputs in order; files of `npy` go to
// inputs by name only.
void CheckInputs(const ir::Graph& graph, const std::map<ir::OpId, Span>& inputs, const ir::DataSource& data,
                 const DataPlaces& places, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_INPUTS_INPUTS_H_
