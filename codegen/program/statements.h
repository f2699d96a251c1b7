// The stages of a program as statements in which equal layers can be found (codegen/roll).
#ifndef CLEAVE_CODEGEN_PROGRAM_STATEMENTS_H_
#define CLEAVE_CODEGEN_PROGRAM_STATEMENTS_H_

#include <set>
#include <vector>

#include "codegen/program/stage_order.h"
#include "codegen/roll/roll.h"
#include "codegen/source/emission.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::codegen {

// The statement's buffers are values with a name and memory of their own (Names::named). Two stages of one shape have
// the same text but for names of these and of ops: all else that the emitters look at is in the shape.
Statement StatementOf(const Emission& emission, const OrderedStage& ordered);

// The same for what stands before the calls of a step that has many (SeparateCalls), and for one of these calls.
Statement StatementBeforeCalls(const Emission& emission, int step);
Statement StatementOfCall(const Emission& emission, int step, const ir::KernelCall& call);

// The same for a tensor in the list of a merged gather or scatter.
Statement StatementOfTransfer(const Emission& emission, int step, size_t transfer);

// The same for a loop in the list of a batch. `common`: what all of its loops read.
Statement StatementOfLoop(const Emission& emission, const ir::LoopBatch& batch, size_t loop,
                          const std::set<ir::ValueId>& common);

// The same for a call in the list of a batch.
Statement StatementOfBatchedCall(const Emission& emission, const ir::CallBatch& batch, size_t call);

// The same for the initialization of a source, and for the entry of some sources in a list.
Statement StatementOfSources(const Emission& emission, const std::vector<int>& steps);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_STATEMENTS_H_
