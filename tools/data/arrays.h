// Private to tools/data: rows of samples as arrays in .npy files.
#ifndef CLEAVE_TOOLS_DATA_ARRAYS_H_
#define CLEAVE_TOOLS_DATA_ARRAYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "tools/data/facts.h"
#include "tools/data/sample_store.h"

namespace cleave::tools {

constexpr const char* kArrays[] = {"tokens", "labels", "documents", "positions"};

struct ArrayOptions {
  uint32_t seq = 0;
  int32_t padding = 0;  // The token of places without one.
  bool is_packed = true;
};

// Writes tokens.npy, labels.npy, documents.npy and positions.npy, of i32[rows, seq], into a folder that exists: of
// these samples, which share rows if they are packed. Places that no sample takes have the label kNoLabel and document
// 0; the documents of a row count from 1, the positions of a document from 0. Counts rows, samples, tokens and what is
// learned.
std::optional<Diagnostic> WriteArrays(const SampleStore& store, const std::vector<uint32_t>& samples,
                                      const std::string& folder, const ArrayOptions& options, DataFacts& facts);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_ARRAYS_H_
