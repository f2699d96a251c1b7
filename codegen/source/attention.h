// Attention, and its gradients, as calls of the runtime.
#ifndef CLEAVE_CODEGEN_SOURCE_ATTENTION_H_
#define CLEAVE_CODEGEN_SOURCE_ATTENTION_H_

#include "codegen/source/emission.h"

namespace cleave::codegen {

// Write the call with its comment and its line for the watch.
void EmitAttention(Emission& emission, const ir::AttentionForward& attention, cpp::Code& code);
void EmitAttentionGradient(Emission& emission, const ir::AttentionBackward& attention, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_ATTENTION_H_
