// Compares two plans of one graph when one given number changes: where would the second cost less than the first?
//
// With the strategies of all ops fixed, the price `bytes` is linear in the gradient weight; in the weight of a link it
// is piecewise linear, because redistributions are chosen anew. Only the values that the two plans treat differently
// are considered, so the size of the rest of the graph does not matter.
#ifndef CLEAVE_SEARCH_EXPLAIN_WHAT_IF_H_
#define CLEAVE_SEARCH_EXPLAIN_WHAT_IF_H_

#include <string>
#include <vector>

#include "search/assignment/assignment.h"

namespace cleave::search {

class WhatIf {
 public:
  // `assignment` holds the first plan, and with `changes` the second; it is left as it was, and outlives this.
  WhatIf(Assignment& assignment, const std::vector<Change>& changes);

  // By how much the second costs more.
  double Difference(const ir::Mesh& mesh, double gradient_weight) const;

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
  double CostOf(const Side& side, const ir::Mesh& mesh, double gradient_weight) const;
  std::vector<std::string> GradientConditions() const;
  std::vector<std::string> LinkConditions() const;

  const GraphFacts& facts_;
  ir::Mesh mesh_;
  double gradient_weight_;
  std::vector<std::vector<ir::OpId>> groups_;  // Of distributed forms in which the plans differ.
  Side first_, second_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_WHAT_IF_H_
