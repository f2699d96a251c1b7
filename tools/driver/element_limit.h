// Whether sources can be generated: a rank of a program counts elements as MPI does, in 32 bits. A plan that is only
// looked at may have larger pieces.
#ifndef CLEAVE_TOOLS_DRIVER_ELEMENT_LIMIT_H_
#define CLEAVE_TOOLS_DRIVER_ELEMENT_LIMIT_H_

#include "tools/driver/exit_code.h"
#include "tools/driver/pipeline.h"

namespace cleave {

// kDone, or the exit code after adding E0314 about the tensor, or the message, of which a rank has most elements.
ExitCode CheckElementLimit(Compilation& compilation);

}  // namespace cleave

#endif  // CLEAVE_TOOLS_DRIVER_ELEMENT_LIMIT_H_
