// Private to tools/data: data.json, which says what a folder of arrays was made of and holds.
#ifndef CLEAVE_TOOLS_DATA_FACTS_H_
#define CLEAVE_TOOLS_DATA_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"

namespace cleave::tools {

struct DataFacts {
  std::string digest;  // Of the files, the tokenizer and the options.
  std::string tokenizer, tokenizer_digest;
  int64_t seq = 0;
  // Of the arrays beside the file.
  int64_t rows = 0, samples = 0, tokens = 0, learned = 0;
  int64_t pairs = 0;  // Rows that are pairs of samples: all or none.
  // Of all that was read: also what is in the folder `test`.
  int64_t test_rows = 0;
  int64_t skipped = 0;    // Lines that are no sample.
  int64_t truncated = 0;  // Samples that were longer than a row, and what became of them.
  int64_t dropped = 0;
  int64_t split = 0;
  int64_t unlearned = 0;    // Samples, or parts of them, without anything learned, which are left out.
  int64_t passed_over = 0;  // Texts of special tokens within messages.
};

constexpr char kFactsFile[] = "data.json";

// Writes FOLDER/data.json.
std::optional<Diagnostic> WriteFacts(const std::string& folder, const DataFacts& facts);

// E0636 where there is none, or it is not as it was written.
std::optional<Diagnostic> ReadFacts(const std::string& folder, DataFacts& facts);

// Lines of text: rows, tokens, shares.
std::string FactsText(const DataFacts& facts);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_FACTS_H_
