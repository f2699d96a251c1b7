// Private to tools/watch: a curve as lines of text.
#ifndef CLEAVE_TOOLS_WATCH_PLOT_H_
#define CLEAVE_TOOLS_WATCH_PLOT_H_

#include <string>
#include <vector>

#include "tools/watch/curves.h"

namespace cleave::tools {

struct PlotOptions {
  int columns = 80;     // Of the terminal.
  int rows = 12;        // Of the drawing.
  bool ascii = false;   // Else in dots of Braille, of which a character has 2 x 4.
  bool is_log = false;  // Where all values are positive.
};

// A headline with the last and the least value, the drawing with its axes, and the steps below it. Of several points in
// a column of dots, the range between the least and the largest is drawn. REQUIRES: the curve has points.
std::vector<std::string> Plot(const Curve& curve, const PlotOptions& options);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WATCH_PLOT_H_
