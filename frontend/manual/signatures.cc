// The signatures of the primitives, as messages show them.
#include "frontend/manual/primitives.h"

namespace cleave::frontend {
namespace {

const FormalArgument kTensor{"x", "x: tensor", true};
const FormalArgument kGroup{"group", "group: group = all ranks", false};
const FormalArgument kAxis{"axis", "axis: int = 0", false};
const FormalArgument kTag{"tag", "tag: int = 0", false};

}  // namespace

Signature SignatureOf(Primitive primitive) {
  switch (primitive) {
    case Primitive::kAllReduce:
      return {.callee = "all_reduce",
              .arguments = {kTensor, {"reduction", "reduction: sum, max, min, prod or mean = sum", false}, kGroup}};
    case Primitive::kAllGather:
      return {.callee = "all_gather", .arguments = {kTensor, kAxis, kGroup}};
    case Primitive::kReduceScatter:
      return {.callee = "reduce_scatter", .arguments = {kTensor, kAxis, kGroup}};
    case Primitive::kBroadcast:
      return {.callee = "broadcast", .arguments = {kTensor, {"root", "root: int = 0", false}, kGroup}};
    case Primitive::kAllToAll:
      return {.callee = "all_to_all",
              .arguments = {kTensor, {"split", "split: int", true}, {"concat", "concat: int", true}, kGroup}};
    case Primitive::kNeighborExchange:
      return {.callee = "neighbor_exchange",
              .arguments = {{"x", "x: (tensor, …)", true},
                            {"send", "send: (rank, …)", true},
                            {"receive", "receive: (rank, …)", true},
                            {"shapes", "shapes: ((int, …), …) = those of x", false}}};
    case Primitive::kNeighborExchangeV2:
      return {.callee = "neighbor_exchange_v2",
              .arguments = {
                  kTensor,
                  {"send", "send: (rank, … 8 of them)", true},
                  {"receive", "receive: (rank, … 8 of them)", true},
                  {"lengths", "lengths: (int, int, int, int)", true},
                  {"receive_lengths", "receive_lengths: (int, int, int, int) = what the neighbours send", false}}};
    case Primitive::kSend:
      return {.callee = "send", .arguments = {kTensor, {"to", "to: rank", true}, kTag}};
    case Primitive::kReceive:
      return {.callee = "recv",
              .arguments = {{"like", "like: (int, …) or tensor", true},
                            {"from", "from: rank", true},
                            kTag,
                            {"dtype", "dtype: element type = f32", false}}};
    case Primitive::kGroup:
      return {.callee = "group", .arguments = {{"axes", "axes: string, …", true}}, .has_rest = true};
    case Primitive::kSize:
      return {.callee = "size", .arguments = {{"group", "group: group", true}}};
    case Primitive::kIndex:
      return {.callee = "index", .arguments = {{"group", "group: group", true}}};
  }
  return {};
}

}  // namespace cleave::frontend
