// Files of commands and of what came of each:
//
//   $ cleave plan examples/lora/lora.model --devices 4
//   Lora: 4 ranks of cpu, sapp
//   ...
#ifndef CLEAVE_TESTS_EXAMPLES_STORED_H_
#define CLEAVE_TESTS_EXAMPLES_STORED_H_

#include <string>
#include <vector>

namespace cleave::tests {

struct Stored {
  std::vector<std::string> command;  // {"cleave", "plan", …}: words without quotes.
  std::string result;                // Lines.
};

std::vector<Stored> ReadStored(const std::string& path);
std::string StoredText(const std::vector<Stored>& all);

// The models of examples/ that are none of `all`; files that models import are no models.
std::vector<std::string> ModelsWithout(const std::vector<Stored>& all);

}  // namespace cleave::tests

#endif  // CLEAVE_TESTS_EXAMPLES_STORED_H_
