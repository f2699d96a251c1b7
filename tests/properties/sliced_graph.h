// Random graphs of attention whose queries, keys and values are slices, and whose results are parts of a concatenation:
// along any dimension, in front of reshapes and behind them, slices of slices, ones that overlap, that leave something
// out, that several ops read, and tensors of which something else is made too.
#ifndef CLEAVE_TESTS_PROPERTIES_SLICED_GRAPH_H_
#define CLEAVE_TESTS_PROPERTIES_SLICED_GRAPH_H_

#include "ir/graph/graph.h"
#include "ir/graph/ops/samples.h"

namespace cleave::tests::properties {

// With a loss; for CaseOptions::forward.
ir::Graph SlicedGraph(ir::Random& random);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_SLICED_GRAPH_H_
