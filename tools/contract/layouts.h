// Private to tools/contract: the layouts of a contract.
#ifndef CLEAVE_TOOLS_CONTRACT_LAYOUTS_H_
#define CLEAVE_TOOLS_CONTRACT_LAYOUTS_H_

#include "tools/contract/contract.h"

namespace cleave::tools {

void CheckLayout(const frontend::ExpectedLayout& expected, const search::Explained& explained, FileId model,
                 const SourceSet& sources, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CONTRACT_LAYOUTS_H_
