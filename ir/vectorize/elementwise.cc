#include <algorithm>

#include "ir/vectorize/rules.h"

namespace cleave {

std::optional<OpId> BatchSame(Lift& lift) { return lift.Main(lift.Inputs()); }

std::optional<OpId> BatchBroadcasting(Lift& lift) {
  int rank = 0;
  for (int i = 0; i < lift.input_count(); ++i) rank = std::max(rank, lift.rank(i));
  std::vector<OpId> inputs;
  for (int i = 0; i < lift.input_count(); ++i) inputs.push_back(lift.Aligned(i, rank));
  return lift.Main(inputs);
}

std::optional<OpId> BatchBiasAdd(Lift& lift) {
  if (!lift.mapped(1)) return lift.Main(lift.Inputs());
  return lift.Instead(OpKind::kAdd, {lift.value(0), lift.Aligned(1, lift.rank(0))});
}

std::optional<OpId> BatchBroadcastTo(Lift& lift) {
  Shape shape = lift.op().attributes.Get(attribute::kShape);
  const OpId x = lift.Aligned(0, static_cast<int>(shape.size()));
  shape.insert(shape.begin(), lift.size());
  return lift.Main({x}, {{attribute::kShape, shape}});
}

}  // namespace cleave
