// Exit codes of the tools (docs/formats/exit_codes.md). Other programs read them.
#ifndef CLEAVE_TOOLS_COMMAND_LINE_EXIT_CODE_H_
#define CLEAVE_TOOLS_COMMAND_LINE_EXIT_CODE_H_

namespace cleave::tools {

enum class ExitCode {
  kDone = 0,
  kDiffers = 1,  // Of commands that compare: they have found a difference.
  kUsage = 2,
  kModelWrong = 3,  // The model, the C++ body of an op, a pin, a plan or the data is wrong.
  kNoPlanFits = 4,
  kEnvironment = 5,  // A compiler, MPI, or a folder that can be written is missing.
  kProgramFailed = 6,
  kInternal = 70,  // A mistake of the compiler itself.
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_COMMAND_LINE_EXIT_CODE_H_
