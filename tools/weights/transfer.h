// Weights that go from here into another program's names and order of values, and back.
//
//   runtime::Result<Transfer> transfer =
//       PlanTransfer(source.path(), source.tensors(), &mapping, {.direction = Direction::kExport});
//   if (!transfer.ok()) return transfer.error();
//   if (auto error = RunTransfer(source, transfer.value(), "gpt2.safetensors", {.type = WeightType::kBf16})) return
//   *error; std::cout << TransferText(transfer.value(), WeightType::kBf16);
#ifndef CLEAVE_TOOLS_WEIGHTS_TRANSFER_H_
#define CLEAVE_TOOLS_WEIGHTS_TRANSFER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "tools/weights/mapping.h"
#include "tools/weights/output.h"
#include "tools/weights/source.h"

namespace cleave::tools {

enum class Direction { kExport, kImport };

struct TransferOptions {
  Direction direction = Direction::kExport;
  int64_t heads = 0;        // Of attention, for lines that say `qkv`; 0: unknown.
  int64_t vocabulary = 0;   // Of an export: how many rows lines that say `vocabulary` keep; 0: all.
  bool has_states = false;  // Whether the optimizer's states go along.
};

// Tensors that are read, rearranged and written together: one here, and one or several in the other program.
struct Move {
  std::vector<const WeightTensor*> sources;
  std::vector<OutputTensor> targets;
  const MappingLine* line = nullptr;   // Null: the values stay as they are.
  const WeightTensor* copy = nullptr;  // Must have the values of the source.
  std::vector<int64_t> shape;          // Of the tensor in this project.
};

struct LeftOut {
  const WeightTensor* tensor;
  std::string reason;
};

// The tensors and the mapping outlive it.
struct Transfer {
  TransferOptions options;
  std::string mapping_name;
  std::vector<Move> moves;
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;
  std::vector<std::string> missing;            // "`ln_f.weight` (line 7)", also of single layers.
  size_t unused_lines = 0;                     // Of the mapping: without any tensor, but for those that are optional.
  std::vector<const WeightTensor*> unmatched;  // Tensors that no line of the mapping describes: they keep their names.
};

// What is missing in the file at `path`, and what no line describes, a line for each; empty for a complete transfer.
std::string IncompleteText(const std::string& path, const Transfer& transfer);

// `path`: where the tensors are, for messages. `mapping`: null to keep all names. Errors (kInput) name the line of the
// mapping, the tensor, and what does not fit.
runtime::Result<Transfer> PlanTransfer(const std::string& path, const std::vector<WeightTensor>& tensors,
                                       const Mapping* mapping, const TransferOptions& options);

// Has the values of one tensor at a time in memory, and another time where they are rearranged. REQUIRES: the tensors
// are those of `source`.
std::optional<runtime::Error> RunTransfer(const WeightSource& source, const Transfer& transfer,
                                          const std::string& target, const OutputOptions& options);

// A table: a line for each tensor that is written or left out, then notes and the sum.
std::string TransferText(const Transfer& transfer, WeightType type);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_TRANSFER_H_
