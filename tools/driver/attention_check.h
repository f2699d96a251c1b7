// Attention that did not become one op takes memory and time for its matrix of scores: said where it happens.
#ifndef CLEAVE_TOOLS_DRIVER_ATTENTION_CHECK_H_
#define CLEAVE_TOOLS_DRIVER_ATTENTION_CHECK_H_

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"
#include "ir/sharding/pins/pins.h"
#include "ir/transforms/join_attention/join_attention.h"
#include "search/model/cluster/cluster.h"

namespace cleave::tools {

// Adds W0620 for each line of the model `file` whose attention keeps large scores. `joined`: the forward graph that
// JoinAttention returned, with these options and pins. Bytes are those of the whole batch, times those of one `device`.
void CheckAttention(const ir::Graph& joined, const ir::JoinAttentionOptions& options, const ir::Pins& pins,
                    ir::Precision precision, const search::Cluster& device, FileId file, const SourceSet& sources,
                    Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_ATTENTION_CHECK_H_
