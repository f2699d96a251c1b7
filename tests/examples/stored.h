// Files of commands and of what came of each:
//
//   $ cleave plan examples/lora/lora.model --devices 4
//   Lora: 4 ranks of cpu, sapp
//   ...
#ifndef CLEAVE_TESTS_EXAMPLES_STORED_H_
#define CLEAVE_TESTS_EXAMPLES_STORED_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cleave::tests {

struct Stored {
  std::vector<std::string> command;  // {"cleave", "plan", …}: words without quotes.
  std::string result;                // Lines.
};

// The models of examples/ that are not among `paths`; files that models import are none.
std::vector<std::string> ExamplesWithout(const std::set<std::string>& paths);

// Expects that a file has all models of examples/.
void ExpectAllExamples(const std::string& path);

// Calls `run` for each entry of a file, and `check` with what came of it and the entry. With FolderToBless() the file
// is written anew instead.
void CheckStored(const std::string& path, const std::function<std::string(const Stored&)>& run,
                 const std::function<void(const std::string& result, const Stored& stored)>& check);

}  // namespace cleave::tests

#endif  // CLEAVE_TESTS_EXAMPLES_STORED_H_
