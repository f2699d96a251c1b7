// The folder in which the user typed the command.
#ifndef CLEAVE_TOOLS_USER_FOLDER_USER_FOLDER_H_
#define CLEAVE_TOOLS_USER_FOLDER_USER_FOLDER_H_

namespace cleave {

// Makes it the current folder where `bazel run` started the program elsewhere. False, after saying so on standard
// error, when it cannot be entered.
bool EnterUserFolder();

}  // namespace cleave

#endif  // CLEAVE_TOOLS_USER_FOLDER_USER_FOLDER_H_
