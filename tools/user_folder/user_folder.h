// The folder in which the user typed the command.
#ifndef CLEAVE_TOOLS_USER_FOLDER_USER_FOLDER_H_
#define CLEAVE_TOOLS_USER_FOLDER_USER_FOLDER_H_

namespace cleave::tools {

// Enters it where `bazel run` has started the program in another folder, that of its data. Returns false, after
// reporting on standard error, when it cannot be entered, or when the current folder was removed, so that no path can
// start from it.
bool EnterUserFolder();

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_USER_FOLDER_USER_FOLDER_H_
