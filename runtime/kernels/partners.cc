#include "runtime/kernels/partners.h"

namespace cleave::runtime {
namespace {

// The number of the rank's piece in every dimension.
std::vector<int64_t> PieceOfRank(const Mesh& mesh, int64_t rank, const AxisLists& axes) {
  std::vector<int64_t> piece;
  for (const std::vector<int>& dimension : axes) piece.push_back(IndexOnAxes(mesh, rank, dimension));
  return piece;
}

}  // namespace

Partners FindPartners(const Mesh& mesh, int64_t rank, const std::vector<int>& group_axes, const AxisLists& from,
                      const AxisLists& to) {
  int64_t members = 1;
  for (const int axis : group_axes) members *= mesh[static_cast<size_t>(axis)].size;
  std::vector<std::vector<int64_t>> held;
  std::vector<std::vector<int64_t>> needed;
  for (int64_t member = 0; member < members; ++member) {
    const int64_t member_rank = RankAt(mesh, rank, group_axes, member);
    held.push_back(PieceOfRank(mesh, member_rank, from));
    needed.push_back(PieceOfRank(mesh, member_rank, to));
  }
  // Every rank pairs the members in the same order, so the answers fit together.
  const size_t mine = static_cast<size_t>(IndexOnAxes(mesh, rank, group_axes));
  std::vector<bool> gives(held.size(), false);
  for (size_t member = 0; member < held.size(); ++member) gives[member] = held[member] == needed[member];
  Partners partners;
  for (size_t member = 0; member < needed.size(); ++member) {
    size_t origin = member;
    if (held[member] != needed[member]) {
      origin = 0;
      while (origin < held.size() && (gives[origin] || held[origin] != needed[member])) ++origin;
      if (origin == held.size()) continue;
      gives[origin] = true;
    }
    if (member == mine) partners.origin = static_cast<int>(origin);
    if (origin == mine) partners.destination = static_cast<int>(member);
  }
  return partners;
}

}  // namespace cleave::runtime
