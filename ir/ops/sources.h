// What sources share: ops without inputs, whose strategy is the storage layout of their value. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_SOURCES_H_
#define CLEAVE_IR_OPS_SOURCES_H_

#include <string>

#include "ir/ops/elementwise.h"

namespace cleave {

// A definition with one parallel factor per dimension, attribute `shape`, and `dtype` where `has_dtype`; f32 otherwise.
// Not callable: the language has its own words for sources.
OpDefinition SourceOp(bool has_dtype, std::string summary);

// An error where attribute `name` is none of `words`.
std::optional<OpError> CheckWord(const Attributes& attributes, Attribute<std::string> key,
                                 const std::vector<std::string>& words);

// Inference of a source by its attributes `shape` and `dtype`, f32 where there is none.
InferResult InferSource(Types inputs, const Attributes& attributes);

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_SOURCES_H_
