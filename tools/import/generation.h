// How a model continues texts, as generation_config.json of its folder says: as flags of a program that generates.
#ifndef CLEAVE_TOOLS_IMPORT_GENERATION_H_
#define CLEAVE_TOOLS_IMPORT_GENERATION_H_

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "tools/import/origin.h"

namespace cleave::tools {

struct Generation {
  // Temperature and what follows, then the tokens that end a text: {"--temperature", "0.6", "--end", "</s>"}.
  std::vector<std::string> flags;
  std::vector<std::string> not_done;  // "`repetition_penalty` 1.1": what it asks for besides, which programs cannot do.
};

// Without flags where the folder has no generation_config.json. Tokens have the names of tokenizer.json, and without it
// are numbers. Files that are no objects of JSON, and values of the wrong kind are E0614.
std::optional<Generation> ReadGeneration(const std::vector<OriginFile>& files, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_IMPORT_GENERATION_H_
