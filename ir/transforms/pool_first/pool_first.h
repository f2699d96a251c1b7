// The largest of increased numbers is the largest of the numbers, increased: a bias and a relu in front of a `max_pool`
// move behind it, where there are fewer elements, forward and backward.
//
//   conv1.conv2d, conv1.add, conv1.relu, conv1.max_pool  ->  conv1.conv2d, conv1.max_pool, conv1.add, conv1.relu
//
// Values are the same, because rounding keeps the order of numbers. So are gradients, which go to the first of the
// largest elements: where a relu makes all of them 0 they are 0. Only where rounding a sum makes elements equal that
// were not may another one of them get the gradient.
#ifndef CLEAVE_IR_TRANSFORMS_POOL_FIRST_POOL_FIRST_H_
#define CLEAVE_IR_TRANSFORMS_POOL_FIRST_POOL_FIRST_H_

#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::ir {

// An op stays where it is if something else reads its value, or if it is pinned. The ops that move share out the places
// in the graph that they had, so what read the pooling reads the last of them. Linear in ops.
Graph PoolFirst(Graph forward, const Pins& pins);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_POOL_FIRST_POOL_FIRST_H_
