// The keys of the attributes that existing ops have: one word means the same, with one type, in every op that has it.
// An attribute of one op alone may have its key beside that op.
#ifndef CLEAVE_IR_GRAPH_ATTRIBUTES_KEYS_H_
#define CLEAVE_IR_GRAPH_ATTRIBUTES_KEYS_H_

#include "ir/graph/attributes/attributes.h"

namespace cleave::ir::attribute {

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

// Dimensions and their sizes. Axes are counted from the front, or from the last dimension where negative.
inline constexpr Attribute<int64_t> kAxis{"axis"};
inline constexpr Attribute<Ints> kAxes{"axes"};  // Empty: all.
inline constexpr Attribute<bool> kKeepDims{"keep_dims"};
inline constexpr Attribute<Ints> kPermutation{"permutation"};  // Empty: dimensions in reverse order.
inline constexpr Attribute<Ints> kShape{"shape"};
inline constexpr Attribute<int64_t> kStart{"start"};  // The first dimension that flatten joins.
inline constexpr Attribute<Ints> kBegin{"begin"};     // Of slice, for each dimension.
inline constexpr Attribute<Ints> kEnd{"end"};
inline constexpr Attribute<Ints> kBefore{"before"};  // Elements that pad adds, for each dimension.
inline constexpr Attribute<Ints> kAfter{"after"};
inline constexpr Attribute<int64_t> kDepth{"depth"};   // Classes of one_hot.
inline constexpr Attribute<int64_t> kRows{"rows"};     // Of the table whose gradient is made.
inline constexpr Attribute<bool> kByRows{"by_rows"};   // The gradient is applied by rows (ir/graph/row_updates).
inline constexpr Attribute<int64_t> kSize{"size"};     // Elements of one dimension; ranks of a group.
inline constexpr Attribute<int64_t> kBatch{"batch"};   // Leading dimensions, each of whose elements is by itself.
inline constexpr Attribute<Ints> kShared{"shared"};    // Inputs of a model's own op without the dimensions of `batch`.
inline constexpr Attribute<bool> kReverse{"reverse"};  // A running sum from the end.

// Types. `result` is internal: a product of bf16 that stays in f32 has it, and what is stored in 16 bits.
inline constexpr Attribute<DType> kDType{"dtype"};
inline constexpr Attribute<DType> kResult{"result"};

// Products, convolutions and pooling. Pairs are for rows and columns.
inline constexpr Attribute<bool> kTransposeA{"transpose_a"};
inline constexpr Attribute<bool> kTransposeB{"transpose_b"};
inline constexpr Attribute<std::string> kEquation{"equation"};
inline constexpr Attribute<Ints> kKernel{"kernel"};
inline constexpr Attribute<Ints> kStride{"stride"};
inline constexpr Attribute<Ints> kPadding{"padding"};
inline constexpr Attribute<Ints> kOutputPadding{"output_padding"};
inline constexpr Attribute<Ints> kDilation{"dilation"};
inline constexpr Attribute<int64_t> kGroups{"groups"};  // Of channels; of elements or rows.
inline constexpr Attribute<Ints> kImageSize{"size"};    // Rows and columns of the images whose gradient is made.

// Attention. `heads_inside`: for query, key, value and result whether their heads are inside of their rows, 1 or 0.
inline constexpr Attribute<bool> kCausal{"causal"};
inline constexpr Attribute<int64_t> kWindow{"window"};  // The most keys that a query sees, with its own; 0: all.
inline constexpr Attribute<double> kCap{"cap"};         // Between which and its negative scores stay; 0: anywhere.
inline constexpr Attribute<bool> kRanges{"ranges"};     // The last two inputs say which keys each query sees.
inline constexpr Attribute<bool> kBiased{"biased"};     // An input before these is added to scores, by distance.
inline constexpr Attribute<Ints> kHeadsInside{"heads_inside"};
// In how many pairs of chunks the rows of a sequence lie in zigzag order (ir/graph/ops/zigzag.h); 0: in their own
// order.
inline constexpr Attribute<int64_t> kZigzag{"zigzag"};
// Attention whose keys are cut as its queries are, into pieces that go round (ir/graph/ops/ring.h). Of one round of it,
// and of `turn`: by how many of the `pieces` they have moved.
inline constexpr Attribute<bool> kRing{"ring"};
inline constexpr Attribute<int64_t> kTurn{"turn"};

// Numbers in formulas.
inline constexpr Attribute<double> kValue{"value"};
inline constexpr Attribute<double> kFactor{"factor"};
inline constexpr Attribute<double> kExponent{"exponent"};
inline constexpr Attribute<double> kSlope{"slope"};
inline constexpr Attribute<double> kLow{"low"};
inline constexpr Attribute<double> kHigh{"high"};
inline constexpr Attribute<double> kFill{"fill"};
inline constexpr Attribute<double> kDelta{"delta"};
inline constexpr Attribute<double> kEpsilon{"epsilon"};
inline constexpr Attribute<bool> kCentered{"centered"};  // Of a norm: the mean of a row is subtracted.
inline constexpr Attribute<double> kTheta{"theta"};
inline constexpr Attribute<bool> kInverse{"inverse"};

// Of cross_entropy: the share of each label's weight that all classes get alike.
inline constexpr Attribute<double> kLabelSmoothing{"label_smoothing"};
// The weight of the square of the logarithm of each row's sum of exponentials, and in how many runs of rows it is
// computed (ir/graph/sliced_losses).
inline constexpr Attribute<double> kZLoss{"z_loss"};
inline constexpr Attribute<int64_t> kParts{"parts"};

// Randomness: the share of elements that dropout drops, what normal values lie around, and the key of draws.
inline constexpr Attribute<double> kRate{"rate"};
inline constexpr Attribute<double> kMean{"mean"};
inline constexpr Attribute<double> kDeviation{"deviation"};
inline constexpr Attribute<std::string> kKey{"key"};

// Of group_by: the places that each group has.
inline constexpr Attribute<int64_t> kCapacity{"capacity"};

// The largest elements of rows: how many there are, and the row that the candidates come from.
inline constexpr Attribute<int64_t> kK{"k"};
inline constexpr Attribute<int64_t> kPieces{"pieces"};
inline constexpr Attribute<int64_t> kElements{"elements"};

// Sources: the field of the data set, the first values of a parameter, whether each rank of a manual model has its own,
// and whether an optimizer changes it.
inline constexpr Attribute<std::string> kData{"data"};
inline constexpr Attribute<std::string> kInit{"init"};
inline constexpr Attribute<double> kFirst{"first"};
inline constexpr Attribute<double> kSecond{"second"};
inline constexpr Attribute<std::string> kFile{"file"};
inline constexpr Attribute<bool> kPerStep{"per_step"};  // Of an input with a file: it has a record for each step.
inline constexpr Attribute<bool> kLocal{"local"};
inline constexpr Attribute<bool> kTrained{"trained"};
inline constexpr Attribute<std::string> kStores{"stores"};  // The matrix of which it has the numbers or the scales.
inline constexpr Attribute<bool> kInParams{"in_params"};    // Nothing changes it, and `params` of the training has it.

// A number that changes from step to step.
inline constexpr Attribute<std::string> kFormula{"formula"};  // A ScalarText in `step`.

// The ranks of manual models: a group by the names of its axes, and tables with an entry for each rank.
inline constexpr Attribute<std::string> kGroup{"group"};
inline constexpr Attribute<std::string> kReduction{"reduction"};
inline constexpr Attribute<int64_t> kRoot{"root"};
inline constexpr Attribute<int64_t> kSplitAxis{"split_axis"};
inline constexpr Attribute<int64_t> kConcatAxis{"concat_axis"};
inline constexpr Attribute<std::string> kPrimitive{"primitive"};
inline constexpr Attribute<Ints> kSendSizes{"send_sizes"};
inline constexpr Attribute<Ints> kReceiveSizes{"receive_sizes"};
inline constexpr Attribute<Ints> kSendRanks{"send_ranks"};
inline constexpr Attribute<Ints> kReceiveRanks{"receive_ranks"};
inline constexpr Attribute<Ints> kStarts{"starts"};
inline constexpr Attribute<Doubles> kValues{"values"};

// Ops that a model defines (ir/graph/custom).
inline constexpr Attribute<std::string> kOp{"op"};
inline constexpr Attribute<std::string> kArguments{"arguments"};
inline constexpr Attribute<std::string> kRule{"rule"};
inline constexpr Attribute<std::string> kWhole{"whole"};
inline constexpr Attribute<std::string> kLinear{"linear"};
inline constexpr Attribute<std::string> kBody{"body"};
inline constexpr Attribute<int64_t> kInput{"input"};  // The input by which the gradient is computed.

}  // namespace cleave::ir::attribute

#endif  // CLEAVE_IR_GRAPH_ATTRIBUTES_KEYS_H_
