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

// Which samples a row has.
enum class RowKind {
  kPacked,  // As many as fit.
  kSingle,
  kPair,  // Two that follow each other, in arrays of their own.
};

// tokens, labels, documents and positions; of pairs chosen, chosen_labels, rejected and rejected_labels.
const std::vector<std::string>& ArrayNames(bool of_pairs);

struct ArrayOptions {
  uint32_t seq = 0;
  int32_t padding = 0;  // The token of places without one.
  RowKind kind = RowKind::kPacked;
};

// Writes the arrays as .npy files, of i32[rows, seq], into a folder that exists: of these samples. Places that no
// sample takes have the label kNoLabel and document 0; the documents of a row count from 1, the positions of a document
// from 0. Counts rows, samples, tokens and what is learned.
std::optional<Diagnostic> WriteArrays(const SampleStore& store, const std::vector<uint32_t>& samples,
                                      const std::string& folder, const ArrayOptions& options, DataFacts& facts);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_ARRAYS_H_
