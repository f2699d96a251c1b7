#include "tools/import/tensors.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cleave::tools {
namespace {

// "`h.0.attn.c_attn.weight` f32[8, 24]", of each tensor of which one here is made.
std::string SourcesText(const Move& move) {
  std::vector<std::string> texts;
  for (const WeightTensor* const tensor : move.sources) {
    texts.push_back(absl::StrCat("`", ShownName(tensor->name), "`, which is ", ShapeText(tensor->shape)));
  }
  return absl::StrJoin(texts, " and ");
}

}  // namespace

void CheckTensors(const ir::Graph& graph, const Transfer& transfer, Diagnostics& diagnostics) {
  std::map<std::string, const Move*> moves;
  for (const Move& move : transfer.moves) moves[move.targets[0].name] = &move;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kParameter) continue;
    const std::vector<int64_t> shape(op.type.shape.begin(), op.type.shape.end());
    const auto found = moves.find(op.name);
    if (found == moves.end()) {
      diagnostics.Add(Error(Code::kE0617, absl::StrCat("the weights lack `", op.name, "`, ", ShapeText(shape),
                                                       ", which config.json asks for")));
      continue;
    }
    if (found->second->shape != shape) {
      diagnostics.Add(
          Error(Code::kE0617, absl::StrCat("the shape of ", SourcesText(*found->second), ", contradicts config.json"))
              .Note(absl::StrCat("by config.json `", op.name, "` is ", ShapeText(shape), ", and it would be ",
                                 ShapeText(found->second->shape))));
    }
    moves.erase(found);
  }
  for (const auto& [name, move] : moves) {
    diagnostics.Add(Error(Code::kE0617, absl::StrCat("the weights have ", SourcesText(*move),
                                                     ", for which the model that config.json describes has no place")));
  }
}

}  // namespace cleave::tools
