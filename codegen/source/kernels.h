// Ops that are calls of the runtime, as their definitions state them (ir/graph/ops/kernel_call.h): the text of these
// calls.
#ifndef CLEAVE_CODEGEN_SOURCE_KERNELS_H_
#define CLEAVE_CODEGEN_SOURCE_KERNELS_H_

#include <set>
#include <string>
#include <vector>

#include "codegen/source/emission.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/ops.h"

namespace cleave::codegen {

// Whether the op is emitted as calls; an alias needs none.
bool HasKernel(const ir::OpDefinition& op);

// Writes the step with its comment. REQUIRES: a Compute whose op has a kernel, and that does something.
void EmitKernel(Emission& emission, int step, cpp::Code& code);

// The calls of a step that has many, such as a `concat` of what each step of a loop makes: each is a statement of its
// own. Empty for other stages.
std::vector<ir::KernelCall> SeparateCalls(const Emission& emission, const ir::FusedStage& stage);

// Writes what stands before these calls, and one of them.
void EmitBeforeCalls(Emission& emission, int step, cpp::Code& code);
void EmitCall(Emission& emission, int step, const ir::KernelCall& call, cpp::Code& code);

// Writes the call of an op and its companions.
void EmitJointCall(Emission& emission, const ir::JointCall& joint, cpp::Code& code);

// Writes the list of calls that are one, and that call.
void EmitCallBatch(Emission& emission, const ir::CallBatch& batch, cpp::Code& code);

// Writes a product that is added to what the micro-batches before have made.
void EmitAccumulatedProduct(Emission& emission, const ir::AccumulatedProduct& product, cpp::Code& code);

// Headers of the model's own that declare functions which the program calls, in the output folder:
// "custom/soft_cap.h".
std::set<std::string> KernelHeaders(const ir::Program& program);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_KERNELS_H_
