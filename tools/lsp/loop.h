// The pipes of the server: messages from a client, answers to it, and studies of models in processes of their own.
//
// One thread waits for all of them. A study is a child made by fork, which goes on from the memory of the server, and
// is killed when another one is wanted more: so a plan is given up at once when a newer text comes, and whatever goes
// wrong in a compile, it does not end the server. No other thread exists when a child is made.
#ifndef CLEAVE_TOOLS_LSP_LOOP_H_
#define CLEAVE_TOOLS_LSP_LOOP_H_

#include "tools/lsp/server.h"

namespace cleave::tools {

// Until the client says `exit` (true if it has said `shutdown` before), or its end of the pipe `in` is closed (false).
bool ServeUntilExit(int in, int out, const ServerOptions& options);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_LOOP_H_
