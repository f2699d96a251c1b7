// Private to tools/data: `cleave data chat`.
#ifndef CLEAVE_TOOLS_DATA_CHAT_H_
#define CLEAVE_TOOLS_DATA_CHAT_H_

#include <ostream>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "tools/data/options.h"

namespace cleave::tools {

// Makes a folder of arrays of files of conversations. What is wrong comes into `diagnostics`, with places in `sources`.
void MakeChatData(const DataOptions& options, SourceSet& sources, Diagnostics& diagnostics, std::ostream& out);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_CHAT_H_
