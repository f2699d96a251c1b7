// Redistribution by brute force, for tests: every layout, every move between two of them as redistribute.h defines it,
// and Dijkstra's algorithm, without regard to speed. Only the price of a move is shared with the planner.
//
//   Exhaustive exhaustive(mesh, type, {Reduction::kSum});
//   exhaustive.From(source).at(target).cost
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_EXHAUSTIVE_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_EXHAUSTIVE_H_

#include <map>
#include <string>
#include <vector>

#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

class Exhaustive {
 public:
  struct Distance {
    double cost = 0;
    int collectives = 0;  // The least number among the cheapest paths.
  };

  // `mesh` must outlive the object.
  Exhaustive(const Mesh& mesh, const TensorType& type, const std::vector<Reduction>& reductions);

  const std::vector<Layout>& layouts() const { return layouts_; }

  // For every layout that can be reached from `source` without going through `avoided`.
  std::map<Layout, Distance> From(const Layout& source, const Layout* avoided = nullptr) const;

 private:
  struct Edge {
    size_t to = 0;
    double price = 0;
    bool is_collective = false;
  };

  void AddMove(size_t from, Move move);
  void AddMovesOfReplicas(size_t from);
  void AddMovesOfSuffixes(size_t from);
  void AddReductions(size_t from, const AxisList& chosen);
  void AddPermutes(size_t from);

  const Mesh& mesh_;
  TensorType type_;
  std::vector<Layout> layouts_;
  std::map<Layout, size_t> index_;
  std::vector<std::vector<Edge>> edges_;
};

// Brute force may use axes that neither layout has, which the planner leaves idle. Only then may it be cheaper.
bool UsesEveryAxis(const Mesh& mesh, const Layout& source, const Layout& target);

// What is wrong with the planner's answer, compared with brute force; empty if nothing is. REQUIRES: UsesEveryAxis.
std::string Disagreement(RedistributionPlanner& planner, const TensorType& type, const Layout& source,
                         const Layout& target, const std::map<Layout, Exhaustive::Distance>& distances);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_EXHAUSTIVE_H_
