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
  return lift.op().kind == "reshape" ? lift.Main(lift.Inputs(), {{"shape", shape}})
                                     : lift.Instead("reshape", lift.Inputs(), {{"shape", shape}});
}

std::optional<OpId> BatchTranspose(Lift& lift) {
  std::vector<int64_t> permutation = lift.op().attributes.GetInts("permutation");
  if (permutation.empty()) {
    permutation.resize(static_cast<size_t>(lift.rank(0)));
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  for (int64_t& dimension : permutation) dimension = Shifted(dimension);
  return lift.Main(lift.Inputs(), {{"permutation", Before(0, permutation)}});
}

std::optional<OpId> BatchSlice(Lift& lift) {
  return lift.Main(lift.Inputs(), {{"begin", Before(0, lift.op().attributes.GetInts("begin"))},
                                   {"end", Before(lift.size(), lift.op().attributes.GetInts("end"))}});
}

std::optional<OpId> BatchPad(Lift& lift) {
  return lift.Main(lift.Inputs(), {{"before", Before(0, lift.op().attributes.GetInts("before"))},
                                   {"after", Before(0, lift.op().attributes.GetInts("after"))}});
}

std::optional<OpId> BatchConcat(Lift& lift) {
  std::vector<OpId> inputs;
  for (int i = 0; i < lift.input_count(); ++i) inputs.push_back(lift.Whole(i));
  return lift.Main(inputs, {{"axis", Shifted(lift.op().attributes.GetInt("axis"))}});
}

std::optional<OpId> BatchEmbedding(Lift& lift) {
  if (!lift.mapped(1)) return lift.Main(lift.Inputs());
  if (lift.mapped(0)) return std::nullopt;
  return lift.Instead("gather", {lift.value(1), lift.value(0)}, {{"axis", int64_t{1}}});
}

std::optional<OpId> BatchGather(Lift& lift) {
  const int64_t axis = lift.op().attributes.GetInt("axis");
  if (!lift.mapped(1)) return lift.Main(lift.Inputs(), {{"axis", Shifted(axis)}});
  if (lift.mapped(0)) return std::nullopt;
  // The elements' dimension stands where the indices do, and moves to the front.
  const int64_t place = axis < 0 ? axis + lift.rank(0) : axis;
  const OpId gathered = lift.Main(lift.Inputs(), {{"axis", place}});
  if (place == 0) return gathered;
  std::vector<int64_t> permutation(lift.shape(gathered).size());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + place);
  return lift.Step("transpose", {gathered}, {{"permutation", Before(place, permutation)}});
}

std::optional<OpId> BatchAllToAll(Lift& lift) {
  Lift::Values attributes = lift.op().attributes.values;
  attributes["split_axis"] = Shifted(lift.op().attributes.GetInt("split_axis"));
  attributes["concat_axis"] = Shifted(lift.op().attributes.GetInt("concat_axis"));
  return lift.Main(lift.Inputs(), attributes);
}

}  // namespace cleave
