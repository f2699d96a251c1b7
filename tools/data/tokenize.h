// Private to tools/data: `cleave data tokenize`.
#ifndef CLEAVE_TOOLS_DATA_TOKENIZE_H_
#define CLEAVE_TOOLS_DATA_TOKENIZE_H_

#include <optional>
#include <ostream>

#include "base/diagnostic/diagnostic.h"
#include "tools/data/options.h"

namespace cleave::tools {

// Writes the tokens of texts as numbers of 16 or 32 bits, whichever the vocabulary needs, into PREFIX_000000.bin … of a
// number of tokens each: what `tokens("PREFIX_*.bin", dtype = u16)` reads. Each document is the tokens that stand
// before every text, its own, and the one that ends it. A text of a special token in a document is no mark.
std::optional<Diagnostic> TokenizeTexts(const DataOptions& options, std::ostream& out);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_TOKENIZE_H_
