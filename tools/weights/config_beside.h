// The config.json that lies beside weights of Hugging Face's: what their model is.
#ifndef CLEAVE_TOOLS_WEIGHTS_CONFIG_BESIDE_H_
#define CLEAVE_TOOLS_WEIGHTS_CONFIG_BESIDE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/json/json.h"

namespace cleave::tools {

// Names that the number of heads of attention has in a config.json.
inline constexpr const char* kHeadFields[] = {"num_attention_heads", "n_head", "num_heads", "n_heads"};

// That in the folder of the file at `path`, or in the folder at `path`; null where there is none that can be read.
runtime::Json ConfigBeside(const std::string& path);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_CONFIG_BESIDE_H_
