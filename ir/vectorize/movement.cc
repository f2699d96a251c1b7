#include <numeric>

#include "ir/vectorize/rules.h"

namespace cleave {
namespace {

int64_t Shifted(int64_t axis) { return axis < 0 ? axis : axis + 1; }

std::vector<int64_t> Before(int64_t first, std::vector<int64_t> rest) {
  rest.insert(rest.begin(), first);
  return rest;
}

}  // namespace

std::optional<OpId> BatchReshape(Lift& lift) {
  const Shape shape = Before(lift.size(), lift.op().type.shape);
  return lift.op().kind == OpKind::kReshape
             ? lift.Main(lift.Inputs(), {{attribute::kShape, shape}})
             : lift.Instead(OpKind::kReshape, lift.Inputs(), {{attribute::kShape, shape}});
}

std::optional<OpId> BatchTranspose(Lift& lift) {
  std::vector<int64_t> permutation = lift.op().attributes.Get(attribute::kPermutation);
  if (permutation.empty()) {
    permutation.resize(static_cast<size_t>(lift.rank(0)));
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  for (int64_t& dimension : permutation) dimension = Shifted(dimension);
  return lift.Main(lift.Inputs(), {{attribute::kPermutation, Before(0, permutation)}});
}

std::optional<OpId> BatchSlice(Lift& lift) {
  return lift.Main(lift.Inputs(), {{attribute::kBegin, Before(0, lift.op().attributes.Get(attribute::kBegin))},
                                   {attribute::kEnd, Before(lift.size(), lift.op().attributes.Get(attribute::kEnd))}});
}

std::optional<OpId> BatchPad(Lift& lift) {
  return lift.Main(lift.Inputs(), {{attribute::kBefore, Before(0, lift.op().attributes.Get(attribute::kBefore))},
                                   {attribute::kAfter, Before(0, lift.op().attributes.Get(attribute::kAfter))}});
}

std::optional<OpId> BatchConcat(Lift& lift) {
  std::vector<OpId> inputs;
  for (int i = 0; i < lift.input_count(); ++i) inputs.push_back(lift.Whole(i));
  return lift.Main(inputs, {{attribute::kAxis, Shifted(lift.op().attributes.Get(attribute::kAxis))}});
}

std::optional<OpId> BatchEmbedding(Lift& lift) {
  if (!lift.mapped(1)) return lift.Main(lift.Inputs());
  if (lift.mapped(0)) return std::nullopt;
  return lift.Instead(OpKind::kGather, {lift.value(1), lift.value(0)}, {{attribute::kAxis, 1}});
}

std::optional<OpId> BatchGather(Lift& lift) {
  const int64_t axis = lift.op().attributes.Get(attribute::kAxis);
  if (!lift.mapped(1)) return lift.Main(lift.Inputs(), {{attribute::kAxis, Shifted(axis)}});
  if (lift.mapped(0)) return std::nullopt;
  // The elements' dimension stands where the indices do, and moves to the front.
  const int64_t place = axis < 0 ? axis + lift.rank(0) : axis;
  const OpId gathered = lift.Main(lift.Inputs(), {{attribute::kAxis, place}});
  if (place == 0) return gathered;
  std::vector<int64_t> permutation(lift.shape(gathered).size());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + place);
  return lift.Step(OpKind::kTranspose, {gathered}, {{attribute::kPermutation, Before(place, permutation)}});
}

std::optional<OpId> BatchAllToAll(Lift& lift) {
  Attributes attributes = lift.op().attributes;
  attributes.Set(attribute::kSplitAxis, Shifted(lift.op().attributes.Get(attribute::kSplitAxis)));
  attributes.Set(attribute::kConcatAxis, Shifted(lift.op().attributes.Get(attribute::kConcatAxis)));
  return lift.Main(lift.Inputs(), attributes);
}

}  // namespace cleave
