// Compares two plans of one graph when one given number changes: where would the second cost less than the first?
//
// With the strategies of all ops fixed, a price is linear in the gradient weight; in the speed of a link it is
// piecewise smooth, because redistributions are chosen anew. Only the ops and values that the two plans treat
// differently are considered, so the size of the rest of the graph does not matter.
#ifndef CLEAVE_SEARCH_EXPLAIN_WHAT_IF_H_
#define CLEAVE_SEARCH_EXPLAIN_WHAT_IF_H_

#include <optional>
#include <string>
#include <vector>

#include "search/model/cluster/cluster.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// The links: as weights of the mesh, and under the price `time` as those of a cluster too.
struct Links {
  ir::Mesh mesh;
  std::optional<Cluster> cluster = std::nullopt;
};

class WhatIf {
 public:
  // `assignment` holds the first plan, and with `changes` the second; it is left as it was, and outlives this.
  // `cluster`: the one whose seconds its prices are, nullopt where they are bytes.
  WhatIf(Assignment& assignment, const std::vector<Change>& changes, std::optional<Cluster> cluster = std::nullopt);

  // By how much the second costs more.
  double Difference(const Links& links, double gradient_weight) const;
  double Now() const { return Difference(links_, gradient_weight_); }

  // Changes of one given number, while the others stay as they are, that make the second plan cost less: "with a
  // gradient_weight below 0.031 (now 0.1)". Each was checked by computing both plans on both sides of the number. Empty
  // where there is none, and where the second plan does not cost more now.
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
  double gradient_weight_;
  double local_ = 0;                           // By how much the ops of the second plan cost more by themselves.
  std::vector<std::vector<ir::OpId>> groups_;  // Of distributed forms in which the plans differ.
  Side first_, second_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_WHAT_IF_H_
