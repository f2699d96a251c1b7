// Checks that the model's inputs can be read from its data: that they have one batch and fit the fields of the source.
#ifndef CLEAVE_FRONTEND_INPUTS_INPUTS_H_
#define CLEAVE_FRONTEND_INPUTS_INPUTS_H_

#include <map>
#include <set>
#include <string>

#include "frontend/report/report.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"

namespace cleave::frontend {

// `inputs`: the model's inputs in program order, each with the place of its declaration. A source's fields go to the
// inputs of the same names if every input has the name of a field, else to the inputs in order; files of `npy` go to
// inputs by name only, and are not asked for where nothing that is wanted reads the input (`unread`). `model`: the
// place of its name; `npy_places`: where the files of `npy` are named, by input.
void CheckInputs(const ir::Graph& graph, Span model, const std::map<ir::OpId, Span>& inputs,
                 const std::set<ir::OpId>& unread, const ir::DataSource& data,
                 const std::map<std::string, Span>& npy_places, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_INPUTS_INPUTS_H_
