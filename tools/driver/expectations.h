// What a compile holds its plan to: the model's `expect` block, or that of a file.
#ifndef CLEAVE_TOOLS_DRIVER_EXPECTATIONS_H_
#define CLEAVE_TOOLS_DRIVER_EXPECTATIONS_H_

#include <optional>

#include "frontend/contract/contract.h"
#include "frontend/frontend.h"
#include "tools/driver/options.h"
#include "tools/driver/report.h"

namespace cleave::tools {

// `--expect none`: no expectations.
inline constexpr char kNoExpectations[] = "none";

// The contract of `--expect FILE`; an empty one without it. nullopt after reporting why it cannot be read: E0114 for
// the file, E0804 where it is more or less than one `expect` block, E0803 for an expectation.
std::optional<frontend::Contract> ReadExpectations(const CompileOptions& options, Report& report);

// What the plan must keep: `--expect` takes the place of the model's own block, which is about the step of training.
frontend::Contract ExpectationsOf(const CompileOptions& options, frontend::Contract read,
                                  const frontend::Module& module);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_EXPECTATIONS_H_
