// Reading guide: Plot chooses the ranges of both axes, marks dots on a Canvas, and writes the canvas beside its labels.
#include "tools/watch/plot.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace cleave::tools {
namespace {

constexpr int kLabelColumns = 10;  // In front of the drawing.
constexpr int kLeastColumns = 16;

// Dots, of which a character has some.
class Canvas {
 public:
  Canvas(int columns, int rows, bool ascii)
      : ascii_(ascii),
        columns_(columns),
        width_(columns * (ascii ? 1 : 2)),
        height_(rows * (ascii ? 1 : 4)),
        dots_(static_cast<size_t>(width_ * height_), false) {}

  int width() const { return width_; }
  int height() const { return height_; }

  // The dots of column `x` from `low` to `high`, counted from below.
  void Mark(int x, int low, int high) {
    for (int y = low; y <= high; ++y) dots_[static_cast<size_t>((height_ - 1 - y) * width_ + x)] = true;
  }

  // A row of characters, without spaces at its end.
  std::string Row(int row) const {
    std::string text;
    size_t end = 0;
    for (int column = 0; column < columns_; ++column) {
      const int bits = ascii_ ? (IsMarked(column, row) ? 1 : 0) : BrailleBits(column, row);
      if (bits == 0) {
        text += ' ';
        continue;
      }
      // U+2800 and the bits, in UTF-8.
      text += ascii_
                  ? std::string("*")
                  : std::string{'\xe2', static_cast<char>(0xa0 | bits >> 6), static_cast<char>(0x80 | (bits & 0x3f))};
      end = text.size();
    }
    text.resize(end);
    return text;
  }

 private:
  bool IsMarked(int x, int y) const { return dots_[static_cast<size_t>(y * width_ + x)]; }

  // The bits of dots of Unicode's Braille patterns: 1 2 3 7 down the left side, 4 5 6 8 down the right one.
  int BrailleBits(int column, int row) const {
    constexpr int kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int bits = 0;
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 2; ++x) {
        if (IsMarked(2 * column + x, 4 * row + y)) bits |= kBits[y][x];
      }
    }
    return bits;
  }

  const bool ascii_;
  const int columns_;
  const int width_, height_;
  std::vector<bool> dots_;  // Row by row, from above.
};

std::string NumberText(double value) { return absl::StrFormat("%.4g", value); }

// From `least` to `most`, of which numbers become places from 0 to `size` - 1.
struct Axis {
  double least = 0, most = 1;
  int size = 1;

  int PlaceOf(double value) const {
    if (most <= least) return size / 2;
    const double place = (value - least) / (most - least) * (size - 1);
    return std::clamp(static_cast<int>(std::lround(place)), 0, size - 1);
  }
};

}  // namespace

std::vector<std::string> Plot(const Curve& curve, const PlotOptions& options) {
  const std::vector<Point>& points = curve.points;
  const auto by_value = [](const Point& a, const Point& b) { return a.value < b.value; };
  const Point& least = *std::min_element(points.begin(), points.end(), by_value);
  const Point& most = *std::max_element(points.begin(), points.end(), by_value);
  const bool is_log = options.is_log && least.value > 0;
  const auto shown = [&](double value) { return is_log ? std::log10(value) : value; };
  Canvas canvas(std::max(kLeastColumns, options.columns - kLabelColumns - 3), std::max(2, options.rows), options.ascii);
  const Axis steps{static_cast<double>(points.front().step), static_cast<double>(points.back().step), canvas.width()};
  const Axis values{shown(least.value), shown(most.value), canvas.height()};

  // The range of dots of each column in which there are points, and lines between them.
  struct Range {
    int low = 0, high = 0, first = 0, last = 0;
  };
  std::vector<std::optional<Range>> ranges(static_cast<size_t>(canvas.width()));
  for (const Point& point : points) {
    const int y = values.PlaceOf(shown(point.value));
    std::optional<Range>& range = ranges[static_cast<size_t>(steps.PlaceOf(static_cast<double>(point.step)))];
    if (!range.has_value()) range = Range{y, y, y, y};
    range = Range{std::min(range->low, y), std::max(range->high, y), range->first, y};
  }
  int before = -1;
  for (int x = 0; x < canvas.width(); ++x) {
    const std::optional<Range>& range = ranges[static_cast<size_t>(x)];
    if (!range.has_value()) continue;
    canvas.Mark(x, range->low, range->high);
    if (before >= 0) {
      const int from = ranges[static_cast<size_t>(before)]->last;
      // Half of what lies between two columns is drawn in each.
      for (int between = before; between <= x; ++between) {
        const auto at = [&](double place) {
          const double share = std::clamp((place - before) / (x - before), 0.0, 1.0);
          return static_cast<int>(std::lround(from + (range->first - from) * share));
        };
        const int a = at(between - 0.5), b = at(between + 0.5);
        canvas.Mark(between, std::min(a, b), std::max(a, b));
      }
    }
    before = x;
  }

  std::vector<std::string> lines = {absl::StrCat(curve.name, is_log ? " (log)" : "", "  ",
                                                 NumberText(points.back().value), " at step ", points.back().step,
                                                 "; least ", NumberText(least.value), " at step ", least.step)};
  const char* const edge = options.ascii ? "|" : "│";
  const int rows = std::max(2, options.rows);
  for (int row = 0; row < rows; ++row) {
    std::string label;
    if (row == 0) label = NumberText(most.value);
    if (row == rows - 1) label = NumberText(least.value);
    if (row == rows / 2 && rows > 4) {
      // Of the middle of the row.
      const double middle = values.most - (values.most - values.least) * (row + 0.5) / rows;
      label = NumberText(is_log ? std::pow(10, middle) : middle);
    }
    lines.push_back(absl::StrFormat("%*s %s%s", kLabelColumns, label, edge, canvas.Row(row)));
  }
  const std::string first = absl::StrCat(points.front().step), last = absl::StrCat(points.back().step);
  const int columns = std::max(kLeastColumns, options.columns - kLabelColumns - 3);
  const int gap = columns - static_cast<int>(first.size() + last.size());
  lines.push_back(absl::StrCat(std::string(kLabelColumns + 2, ' '), first,
                               std::string(static_cast<size_t>(std::max(1, gap)), ' '), last));
  return lines;
}

}  // namespace cleave::tools
