// The line of a terminal on which a job says how far it is. It is written over again and again, and keeps its place
// below everything else: what is printed calls EndProgressLine first.
//
//   if (WantsProgressLine()) ShowProgressLine("step 37/781 | loss 0.31");
#ifndef CLEAVE_RUNTIME_ERROR_PROGRESS_LINE_H_
#define CLEAVE_RUNTIME_ERROR_PROGRESS_LINE_H_

#include <string>

namespace cleave::runtime {

// Whether there is a terminal. Under mpirun every rank's standard output is one that mpirun makes, so the script that
// starts the ranks says whether there is a real one behind it: CLEAVE_PROGRESS=1.
bool WantsProgressLine();

// Writes the line to standard output, or over the one before. What is longer than the terminal is wide is left out, as
// it would take a second line: CLEAVE_COLUMNS of the script says how wide that is. Returns whether it was written.
bool ShowProgressLine(const std::string& text);

// Takes the line away, if there is one. Any thread may call it.
void EndProgressLine();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_ERROR_PROGRESS_LINE_H_
