// Adapters (ir/transforms/adapt) out of a checkpoint and into one: as PEFT of Hugging Face keeps them, or added to the
// weights that they change.
//
//   adapter_config.json, adapter_model.safetensors      base_model.model.MODULE.lora_A.weight [rank, in],
//                                                       .lora_B.weight [out, rank], .lora_magnitude_vector [out]
//
// A tensor of PEFT belongs to the weight MODULE.weight, whose name and order of rows a mapping says. Where a weight
// here is several there, one after another, they share A, and B has the rows of all.
#ifndef CLEAVE_TOOLS_WEIGHTS_ADAPTERS_H_
#define CLEAVE_TOOLS_WEIGHTS_ADAPTERS_H_

#include <cstdint>
#include <string>

#include "runtime/error/error.h"
#include "tools/weights/mapping.h"
#include "tools/weights/source.h"

namespace cleave::tools {

struct AdapterTransfer {
  const Mapping* mapping = nullptr;  // Null to keep all names.
  int64_t heads = 0;                 // Of attention, for lines that say `qkv`; 0: unknown.
  bool replaced = false;             // Files that exist.
};

// Whether `path` is a folder in which PEFT has saved an adapter.
bool IsPeftFolder(const std::string& path);

// All of these return what is printed. Errors name the tensor, the field of adapter_config.json or the line.

// Writes the adapters of a checkpoint into `folder`, which is made where it is not there.
runtime::Result<std::string> ExportAdapters(const WeightSource& source, const std::string& folder,
                                            const AdapterTransfer& transfer);

// Writes the adapters of PEFT's folder as tensors of this project into `target`, behind those of `base`, the weights
// that they change. Without a base these alone: null, but not where there are magnitudes.
runtime::Result<std::string> ImportAdapters(const std::string& folder, const WeightSource* base,
                                            const std::string& target, const AdapterTransfer& transfer);

// Writes the parameters of a checkpoint without adapters: weights that have one as products with both see them.
runtime::Result<std::string> MergeAdapters(const WeightSource& source, const std::string& target, bool replaced);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_ADAPTERS_H_
