#include "ir/program/alike_ranks.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "ir/sharding/layout/layout.h"

namespace cleave::ir {
namespace {

// Whether all ranks hold equally many elements of each dimension.
bool HasEqualPieces(const Value& value, const Mesh& mesh) {
  if (!value.layout.windows.empty()) return false;
  const std::vector<int64_t> pieces = CutCounts(value.layout, mesh);
  for (size_t d = 0; d < pieces.size(); ++d) {
    if (value.type.shape[d] % pieces[d] != 0) return false;
  }
  return true;
}

}  // namespace

std::vector<int> LowestAlikeRanks(const Program& program) {
  const Mesh mesh = RankMesh(program);
  const int ranks = mesh.rank_count();
  std::vector<int> lowest(static_cast<size_t>(ranks), 0);
  if (program.pipeline.has_value()) {
    std::map<int64_t, int> first;
    for (int rank = 0; rank < ranks; ++rank) {
      const int64_t stage = mesh.Index(rank, {program.pipeline->axis});
      lowest[static_cast<size_t>(rank)] = first.emplace(stage, rank).first->second;
    }
  }
  std::set<std::pair<Shape, std::string>> told_apart;
  for (const Value& value : program.values) {
    if (HasEqualPieces(value, program.mesh)) continue;
    if (!told_apart.emplace(value.type.shape, LayoutText(value.layout, program.mesh)).second) continue;
    std::map<std::pair<int, std::vector<Shape>>, int> first;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<Shape> shapes;
      for (int64_t moment = 0; moment < MicroBatches(program); ++moment) {
        shapes.push_back(LocalShape(value.layout, program.mesh, value.type.shape, AtMoment(program, rank, moment)));
      }
      int& own = lowest[static_cast<size_t>(rank)];
      own = first.emplace(std::pair(own, std::move(shapes)), rank).first->second;
    }
  }
  return lowest;
}

}  // namespace cleave::ir
