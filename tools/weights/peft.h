// The folders in which PEFT of Hugging Face keeps an adapter. Inside of tools/weights only.
//
//   adapter_config.json, adapter_model.safetensors      base_model.model.MODULE.lora_A.weight [rank, in],
//                                                       .lora_B.weight [out, rank], .lora_magnitude_vector [out]
#ifndef CLEAVE_TOOLS_WEIGHTS_PEFT_H_
#define CLEAVE_TOOLS_WEIGHTS_PEFT_H_

#include <map>
#include <string>
#include <vector>

#include "ir/graph/training/adapters.h"
#include "runtime/error/error.h"
#include "tools/weights/adapter_tensors.h"
#include "tools/weights/source.h"

namespace cleave::tools {

inline constexpr char kPeftConfigFile[] = "adapter_config.json";
inline constexpr char kPeftTensorFile[] = "adapter_model.safetensors";
inline constexpr char kPeftRoot[] = "base_model.model.";
inline constexpr char kPeftA[] = ".lora_A.weight";
inline constexpr char kPeftB[] = ".lora_B.weight";
inline constexpr char kPeftMagnitude[] = ".lora_magnitude_vector";

// What adapter_config.json says.
struct PeftConfig {
  ir::AdapterForm form;
  bool is_in_first = false;  // `fan_in_fan_out`
};

// A field of the file either becomes a part of the form, or must have the one value that adapters have here, or changes
// nothing.
runtime::Result<PeftConfig> ReadConfig(const std::string& path);
// `targets`: the names of modules, or the ends of these.
std::string ConfigText(const PeftConfig& config, const std::vector<std::string>& targets);

// What PEFT has of a module.
struct PeftModule {
  Matrix a, b;
  std::vector<float> magnitude;
};

// By the names of modules. Each has both matrices, of the rank of the form, and a magnitude where the form has.
runtime::Result<std::map<std::string, PeftModule>> ReadModules(const WeightSource& source, const ir::AdapterForm& form);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_PEFT_H_
