// What is in the program of a stage of a pipeline: values that go to other stages and come from them, and the order in
// which micro-batches pass.
#ifndef CLEAVE_CODEGEN_SOURCE_PIPELINE_H_
#define CLEAVE_CODEGEN_SOURCE_PIPELINE_H_

#include <functional>
#include <string>

#include "codegen/source/emission.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// Write step `step`, with its comment.
void EmitSend(Emission& emission, int step, const ir::Send& send, SourceWriter& writer);
void EmitReceive(Emission& emission, int step, const ir::Receive& receive, SourceWriter& writer);

// What a stage that has several micro-batches under way does in a turn: "In turn t this stage does the forward pass of
// micro-batch t and the backward pass of micro-batch t - 1."
std::string TurnText(const Emission& emission);
// Writes the calls of a pass.
using PassCalls = std::function<void(const ir::StagePass& pass, SourceWriter& writer)>;
// Writes the loop over its turns.
void EmitTurns(const Emission& emission, const PassCalls& calls, SourceWriter& writer);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_PIPELINE_H_
