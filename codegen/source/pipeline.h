// Values of a pipeline that go to other stages and come from them.
#ifndef CLEAVE_CODEGEN_SOURCE_PIPELINE_H_
#define CLEAVE_CODEGEN_SOURCE_PIPELINE_H_

#include <vector>

#include "codegen/source/emission.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// A step that is a Send or a Receive; whether other work of its function stands between it and the one before it, or
// the beginning.
struct MessageStep {
  int step = 0;
  bool is_behind = false;
};

// Begins a pass, or another function of a program for devices, with its messages in their order: it returns where it is
// only rehearsed (runtime/comm/comm.h).
void EmitBeginPass(Emission& emission, const std::vector<MessageStep>& steps, cpp::Code& code);

// Write step `step`, with its comment.
void EmitSend(Emission& emission, int step, const ir::Send& send, cpp::Code& code);
void EmitReceive(Emission& emission, int step, const ir::Receive& receive, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_PIPELINE_H_
