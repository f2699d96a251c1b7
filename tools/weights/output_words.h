// Options of command lines that say which type written weights have, and how large their files are.
#ifndef CLEAVE_TOOLS_WEIGHTS_OUTPUT_WORDS_H_
#define CLEAVE_TOOLS_WEIGHTS_OUTPUT_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "tools/command_line/parse.h"
#include "tools/weights/output.h"

namespace cleave::tools {

// As they are typed; empty where they are not.
struct OutputWords {
  std::string type, shard_size;
};

// Adds `--dtype` and `--shard-size`. `scope`: what the descriptions begin with. The defaults are for the help.
void AddOutputWords(CLI::App& app, OutputWords& words, const std::string& scope, const std::string& default_type,
                    const std::string& default_size);

// "bf16"; nullopt where it is none of the three.
std::optional<WeightType> WeightTypeNamed(absl::string_view name);
const char* WeightTypeName(WeightType type);

// "5GB" is 5 * 10^9 bytes; nullopt unless a number and KB, MB, GB or TB make 1 to 2^62 bytes.
std::optional<int64_t> BytesOfSize(absl::string_view text);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_OUTPUT_WORDS_H_
