// Several small collectives over one group become one call.
//
// Only all_reduces, reduce_scatters and all_gathers of one kind, group, reduction and element type are merged, and only
// as many as `bucket_bytes` allows: packing needs memory of that size, and a reduction that waits for all others
// overlaps with nothing. A single tensor may be larger. What may be merged, and where the merged step stands:
//
//   gradients       a reduction that the backward pass or its end asks for and only the update reads. Buckets fill in
//                   the order in which the backward pass makes the gradients. A full one is reduced as soon as its last
//                   member is there; what is left waits for the start of the update, unless the plan asks for it in
//                   the backward pass. Whole gradients that are to be scattered only for the update are kept until
//                   then.
//   update          any other that the update asks for: new parameters that are gathered, norms. When the last member
//                   is there.
//   parameters      an all_gather of a parameter outside of the update: where the first member stands, so that the
//                   tensors of a layer, or of several small ones, come together.
//   everything else of one phase: where the last member stands, as long as nothing before that reads one of them.
//
// The loss and the metrics are reduced on their own: they are read at another time.
#ifndef CLEAVE_IR_PARTITION_MERGE_H_
#define CLEAVE_IR_PARTITION_MERGE_H_

#include "base/units/units.h"
#include "ir/program/program.h"

namespace cleave {

// `bucket_bytes` as CollectiveBytes counts them; 0: no limit. Takes a sound program of one transfer per collective,
// leaves a sound one that computes the same.
void MergeCollectives(Program& program, Bytes bucket_bytes);

}  // namespace cleave

#endif  // CLEAVE_IR_PARTITION_MERGE_H_
