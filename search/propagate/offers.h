// The offers that an op gets from its decided neighbours: layouts of the tensors that it shares with them, as cuts of
// its rule.
//
//   for (const Offer& offer : offers.To(op, group)) ... TakeOffer(assignment, op, strategy, offer, group)
//
// Neighbours are the makers of what an op reads, the readers of its value, and, if several ops read a parameter, also
// those ops: the parameter has one storage layout, so it is best if all read it in the same layout.
#ifndef CLEAVE_SEARCH_PROPAGATE_OFFERS_H_
#define CLEAVE_SEARCH_PROPAGATE_OFFERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "search/assignment/assignment.h"

namespace cleave::search {

// Mesh axes that every pin uses in the same way, in mesh order: they are propagated together.
using AxisGroup = std::vector<ir::AxisId>;

struct Offer {
  int slot = -1;  // An input of the op that is asked, or -1 for its value.
  ir::Layout layout;
  ir::OpId from;  // The neighbour.
};

bool CutsBy(const ir::Layout& layout, const AxisGroup& group);
bool CutsBy(const ir::Strategy& strategy, const AxisGroup& group);
// How many axes of `group` cut a factor.
int AxesUsed(const ir::Strategy& strategy, const AxisGroup& group);
ir::Strategy WithoutGroup(ir::Strategy strategy, const AxisGroup& group);

// `strategy` with those axes of `group` that it does not use placed as `offer` has them, as far as the rule allows.
ir::Strategy TakeOffer(const Assignment& assignment, ir::OpId op, ir::Strategy strategy, const Offer& offer,
                       const AxisGroup& group);

class Offers {
 public:
  // `assignment` outlives this.
  explicit Offers(const Assignment& assignment);

  // Sets whether the pin on `op` makes offers yet. At the start it does.
  void SetActive(ir::OpId op, bool active) { active_[op] = active ? 1 : 0; }

  // Of decided neighbours, the layouts that `group` cuts: those of inputs first, in their order, then those of readers.
  std::vector<Offer> To(ir::OpId op, const AxisGroup& group) const;

  // The ops to which `op` offers something, in the order of ids: products and light ops that no pin fixes.
  std::vector<ir::OpId> Neighbours(ir::OpId op) const;

 private:
  struct Source {
    ir::Layout layout;
    ir::OpId from;
  };
  std::optional<Source> SourceOf(ir::OpId value) const;
  void AddFromInput(ir::OpId op, int input, std::vector<Offer>& offers) const;
  void AddReaders(ir::OpId value, std::vector<ir::OpId>& ops) const;

  const Assignment& assignment_;
  const GraphFacts& facts_;
  // The layout of a pinned input, or of a light op that is made from one without parameters.
  IdVector<ir::OpId, std::optional<Source>> sources_;
  IdVector<ir::OpId, uint8_t> active_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PROPAGATE_OFFERS_H_
