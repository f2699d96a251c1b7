#include "tools/import/tensors.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"

namespace cleave::tools {
namespace {

constexpr size_t kMostNamed = 5;

// "`h.0.ln_1.weight`, which is [24]", of each tensor of which one here is made.
std::string SourcesText(const Move& move) {
  std::vector<std::string> texts;
  for (const WeightTensor* const tensor : move.sources) {
    texts.push_back(absl::StrCat("`", ShownName(tensor->name), "`, which is ", ShapeText(tensor->shape)));
  }
  return absl::StrJoin(texts, " and ");
}

// What a parameter would be called there.
std::string TheirName(const Mapping& mapping, const std::string& ours) {
  for (const MappingLine& line : mapping.lines) {
    const auto numbers = line.ours.has_value() ? line.ours->Match(ours) : std::nullopt;
    if (numbers.has_value()) return line.theirs[0].Fill(*numbers);
  }
  return ours;
}

}  // namespace

void AddTensorErrors(const std::string& what, const std::vector<std::string>& tensors, const std::string& help,
                     Diagnostics& diagnostics) {
  if (tensors.empty()) return;
  Diagnostic error = Error(Code::kE0617, absl::StrCat(what, Plural(static_cast<int64_t>(tensors.size()), "tensor")));
  for (size_t i = 0; i < std::min(tensors.size(), kMostNamed); ++i) error.notes.push_back(tensors[i]);
  if (tensors.size() > kMostNamed) error.notes.push_back(absl::StrCat("… and ", tensors.size() - kMostNamed, " more"));
  if (!help.empty()) error.help.push_back(help);
  diagnostics.Add(std::move(error));
}

void CheckTensors(const ir::Graph& graph, const Mapping& mapping, const Transfer& transfer, Diagnostics& diagnostics) {
  std::map<std::string, const Move*> moves;
  for (const Move& move : transfer.moves) moves[move.targets[0].name] = &move;
  std::vector<std::string> missing, wrong, unwanted;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kParameter) continue;
    const std::vector<int64_t> shape(op.type.shape.begin(), op.type.shape.end());
    const auto found = moves.find(op.name);
    if (found == moves.end()) {
      missing.push_back(
          absl::StrCat("`", TheirName(mapping, op.name), "`, of which `", op.name, "` ", ShapeText(shape), " is made"));
      continue;
    }
    const Move& move = *found->second;
    if (move.shape != shape) {
      wrong.push_back(absl::StrCat(SourcesText(move), ", becomes `", op.name, "` ", ShapeText(move.shape),
                                   ", which by config.json is ", ShapeText(shape)));
    }
    moves.erase(found);
  }
  for (const auto& [name, move] : moves) unwanted.push_back(SourcesText(*move));
  AddTensorErrors("config.json asks for other shapes of ", wrong, "", diagnostics);
  AddTensorErrors("the weights lack what config.json asks for: ", missing, "", diagnostics);
  AddTensorErrors("the weights have what the model of config.json has not: ", unwanted, "", diagnostics);
}

}  // namespace cleave::tools
