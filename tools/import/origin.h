// What stands in a folder of Hugging Face besides the weights: config.json, and the files of the tokenizer and of
// generation. An import keeps them as they are, in the folder `hugging_face` of what it writes; an export gives them
// back.
#ifndef CLEAVE_TOOLS_IMPORT_ORIGIN_H_
#define CLEAVE_TOOLS_IMPORT_ORIGIN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"

namespace cleave::tools {

inline constexpr char kOriginFolder[] = "hugging_face";

// Names of the files that are kept, config.json first.
const std::vector<std::string>& OriginNames();

struct OriginFile {
  std::string name, text;
};

// Those that the folder has, in the order of OriginNames. Anything under these names but a readable file of at most 256
// MiB is E0614.
std::optional<std::vector<OriginFile>> ReadOrigin(const std::string& folder, Diagnostics& diagnostics);

// Null where there is none.
const OriginFile* FindFile(const std::vector<OriginFile>& files, absl::string_view name);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_IMPORT_ORIGIN_H_
