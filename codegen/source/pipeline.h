// Values of a pipeline that go to other stages and come from them.
#ifndef CLEAVE_CODEGEN_SOURCE_PIPELINE_H_
#define CLEAVE_CODEGEN_SOURCE_PIPELINE_H_

#include "codegen/source/emission.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// Write step `step`, with its comment.
void EmitSend(Emission& emission, int step, const ir::Send& send, cpp::Code& code);
void EmitReceive(Emission& emission, int step, const ir::Receive& receive, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_PIPELINE_H_
