// Holds a plan to what its model expects of it.
//
//   KeepsContract(*module.contract, explained, model.file, report.sources, report.diagnostics);
#ifndef CLEAVE_TOOLS_CONTRACT_CONTRACT_H_
#define CLEAVE_TOOLS_CONTRACT_CONTRACT_H_

#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "frontend/contract/contract.h"
#include "search/explain/explain.h"

namespace cleave::tools {

// Reports each expectation that the plan breaks: E0801 for figures and E0802 for layouts, at the lines of `model` that
// cause it, and E0803 for one that names what the plan does not have.
void CheckContract(const frontend::Contract& contract, const search::Explained& explained, FileId model,
                   const SourceSet& sources, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CONTRACT_CONTRACT_H_
