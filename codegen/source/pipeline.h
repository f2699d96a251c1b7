// What is in the program of a stage of a pipeline: values that go to other stages and come from them, and the order in
// which micro-batches pass.
#ifndef CLEAVE_CODEGEN_SOURCE_PIPELINE_H_
#define CLEAVE_CODEGEN_SOURCE_PIPELINE_H_

#include <functional>

#include "codegen/source/emission.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// Write step `step`, with its comment.
void EmitSend(Emission& emission, int step, const ir::Send& send, SourceWriter& writer);
void EmitReceive(Emission& emission, int step, const ir::Receive& receive, SourceWriter& writer);

// Writes the loop over the micro-batches of a stage that has several under way. `forward` and `backward` write the
// calls of these passes.
void EmitTurns(const Emission& emission, const std::function<void()>& forward, const std::function<void()>& backward,
               SourceWriter& writer);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_PIPELINE_H_
