// Finds for which value of one given number, others fixed, a second plan would cost less than the first.
//
// With fixed strategies a price is linear in the gradient weight, and piecewise smooth in the speed of a link, because
// redistributions are chosen anew. Only ops and values in which the plans differ are considered.
#ifndef CLEAVE_SEARCH_EXPLAIN_WHAT_IF_H_
#define CLEAVE_SEARCH_EXPLAIN_WHAT_IF_H_

#include <optional>
#include <string>
#include <vector>

#include "search/model/cluster/cluster.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// Link speeds: weights of a mesh, and under the price `time` also the links of a cluster.
struct Links {
  ir::Mesh mesh;
  std::optional<Cluster> cluster = std::nullopt;
};

class WhatIf {
 public:
  // `assignment` has the first plan, with `changes` the second; it is left unchanged, and outlives this. `cluster`:
  // nullopt where prices are bytes.
  WhatIf(Assignment& assignment, const std::vector<Change>& changes, std::optional<Cluster> cluster = std::nullopt);

  // The cost of the second plan minus that of the first.
  double Difference(const Links& links, double gradient_weight) const;
  double Now() const { return Difference(links_, gradient_weight_); }

  // Changes of one given number that make the second plan cost less: "with a gradient_weight below 0.031 (now 0.1)".
  // Each is checked by pricing both plans on both sides of the number. Empty where there is none, or the second plan
  // does not cost more now.
  std::vector<std::string> Conditions() const;

 private:
  // The moves of one value.
  struct Demanded {
    ir::Layout layout;
    double weight = 1;         // Without the gradient weight.
    bool is_gradient = false;  // Times the gradient weight.

    bool operator==(const Demanded&) const = default;
  };
  struct Moves {
    ir::OpId value;
    ir::Layout produced;
    std::vector<Demanded> demands;

    bool operator==(const Moves&) const = default;
  };
  struct Side {
    std::vector<Moves> moves;                           // One entry per value that differs.
    std::vector<std::vector<ir::Strategy>> strategies;  // Per group of `groups_` those of its members.
  };

  Moves MovesOf(const Assignment& assignment, ir::OpId value) const;
  double CostOf(const Side& side, const Links& links, double gradient_weight) const;
  std::vector<std::string> GradientConditions() const;
  std::vector<std::string> LinkConditions() const;

  const GraphFacts& facts_;
  Links links_;
  decltype(Prices::kernels) kernels_;
  double gradient_weight_;
  double local_ = 0;                           // Difference of Prices::local.
  std::vector<std::vector<ir::OpId>> groups_;  // Of distributed forms in which the plans differ.
  Side first_, second_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_WHAT_IF_H_
