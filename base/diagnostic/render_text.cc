// The form in which people read a diagnostic:
//
//   error[E0304]: 8 devices cannot be divided into 3 slices
//     --> mnist.model:8:10
//      |
//    8 | #[shard((3, 1), (1, 1))]
//      |          ^ dimension 0 of `x` is to be cut into 3
//      |
//   help: the mesh is 2 x 2 x 2: 1, 2, 4 or 8 slices are possible

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "base/diagnostic/severity.h"
#include "base/diagnostic/shown_labels.h"
#include "base/text/text.h"

namespace cleave {
namespace {

constexpr int kMostColumns = 160;
constexpr int kTabColumns = 4;

// One label's part on one line, in display columns counted from 0.
struct Mark {
  int begin = 0;
  int end = 0;  // At least begin + 1.
  bool primary = false;
  std::string text;
};

// A source line as it is shown: tabs expanded, and for each byte offset its display column.
struct ShownLine {
  std::string text;
  std::vector<int> column_of_byte;  // One more than there are bytes.
};

ShownLine Show(absl::string_view line) {
  ShownLine shown;
  int column = 0;
  for (const char c : line) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    shown.column_of_byte.push_back(continues ? std::max(0, column - 1) : column);
    if (c == '\t') {
      const int spaces = kTabColumns - column % kTabColumns;
      shown.text.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
    } else {
      shown.text.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
      if (!continues) ++column;
    }
  }
  shown.column_of_byte.push_back(column);
  return shown;
}

// Bytes of `text` that make up display columns [begin, end).
std::string Columns(const std::string& text, int begin, int end) {
  std::string result;
  int column = -1;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column;
    if (column >= begin && column < end) result.push_back(c);
  }
  return result;
}

class FileExcerpt {
 public:
  FileExcerpt(const SourceFile& file, int gutter) : file_(file), gutter_(gutter) {}

  void Add(const Label& label, bool primary) {
    const int first = file_.Locate(label.span.begin).line;
    // A range that ends with a newline ends on the line before.
    const int32_t last_byte = std::max(label.span.begin, label.span.end - 1);
    const int last = file_.Locate(last_byte).line;
    const int32_t line_start = LineStart(first);
    const ShownLine shown = Show(file_.Line(first));
    const auto column = [&](int32_t offset) {
      const int32_t byte =
          std::clamp<int32_t>(offset - line_start, 0, static_cast<int32_t>(shown.column_of_byte.size()) - 1);
      return shown.column_of_byte[static_cast<size_t>(byte)];
    };
    Mark mark{.begin = column(label.span.begin),
              .end = first == last ? column(label.span.end) : shown.column_of_byte.back(),
              .primary = primary,
              .text = label.text};
    mark.end = std::max(mark.end, mark.begin + 1);
    marks_[first].push_back(std::move(mark));
  }

  std::string Render() {
    std::string text = absl::StrCat(Gutter(""), "\n");
    int previous = 0;
    for (auto& [line, marks] : marks_) {
      if (previous != 0 && line > previous + 2) absl::StrAppend(&text, "...\n");
      if (previous != 0 && line == previous + 2) absl::StrAppend(&text, SourceLine(line - 1, 0));
      std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.begin > b.begin; });
      const int shift = ShiftFor(marks);
      absl::StrAppend(&text, SourceLine(line, shift));
      for (const Mark& mark : marks) {
        // A mark behind the cut is shown under the dots.
        const int begin = std::min(mark.begin - shift + (shift > 0 ? 3 : 0), kMostColumns);
        const int width = std::max(1, std::min(mark.end - mark.begin, kMostColumns - begin));
        absl::StrAppend(&text, Gutter(""), " ", std::string(static_cast<size_t>(begin), ' '),
                        std::string(static_cast<size_t>(width), mark.primary ? '^' : '-'), mark.text.empty() ? "" : " ",
                        mark.text, "\n");
      }
      previous = line;
    }
    return text;
  }

 private:
  int32_t LineStart(int line) const { return static_cast<int32_t>(file_.Line(line).data() - file_.text().data()); }

  std::string Gutter(absl::string_view number) const {
    return absl::StrCat(" ", std::string(static_cast<size_t>(gutter_) - number.size(), ' '), number, " |");
  }

  // Long lines are shown from a little before the first mark.
  static int ShiftFor(const std::vector<Mark>& marks) {
    const int first = marks.back().begin;
    return first > kMostColumns * 2 / 3 ? first - kMostColumns / 3 : 0;
  }

  std::string SourceLine(int line, int shift) const {
    const std::string shown = Show(file_.Line(line)).text;
    std::string text = Columns(shown, shift, shift + kMostColumns);
    if (shift > 0) text = absl::StrCat("...", text);
    if (Columns(shown, shift + kMostColumns, shift + kMostColumns + 1).size() > 0) absl::StrAppend(&text, "...");
    return absl::StrCat(Gutter(absl::StrCat(line)), text.empty() ? "" : " ", text, "\n");
  }

  const SourceFile& file_;
  int gutter_;
  std::map<int, std::vector<Mark>> marks_;  // By line.
};

std::string RenderExcerpts(const Diagnostic& diagnostic, const SourceSet& sources) {
  const std::vector<Label> labels = ShownLabels(diagnostic, sources);
  int last_line = 1;
  for (const Label& label : labels) {
    last_line = std::max(last_line, sources.file(*label.span.file).Locate(label.span.begin).line);
  }
  const int gutter = static_cast<int>(std::to_string(last_line).size());
  std::vector<FileId> files;  // In the order of the labels.
  for (const Label& label : labels) {
    if (std::find(files.begin(), files.end(), *label.span.file) == files.end()) files.push_back(*label.span.file);
  }
  std::string text;
  for (const FileId id : files) {
    const SourceFile& file = sources.file(id);
    FileExcerpt excerpt(file, gutter);
    const Label* first = nullptr;
    for (const Label& label : labels) {
      if (label.span.file != id) continue;
      if (first == nullptr) first = &label;
      excerpt.Add(label, &label == &labels.front());
    }
    const LineColumn place = file.Locate(first->span.begin);
    if (id != files.front()) absl::StrAppend(&text, std::string(static_cast<size_t>(gutter) + 2, ' '), "|\n");
    absl::StrAppend(&text, std::string(static_cast<size_t>(gutter) + 1, ' '), id == files.front() ? "-->" : ":::", " ",
                    file.path(), ":", place.line, ":", place.column, "\n", excerpt.Render());
  }
  if (!files.empty() && !(ShownNotes(diagnostic, sources).empty() && diagnostic.help.empty())) {
    absl::StrAppend(&text, std::string(static_cast<size_t>(gutter) + 2, ' '), "|\n");
  }
  return text;
}

}  // namespace

std::string RenderText(const Diagnostic& diagnostic, const SourceSet& sources) {
  std::string text = absl::StrCat(SeverityName(diagnostic.severity), "[", CodeName(diagnostic.code),
                                  "]: ", diagnostic.message, "\n", RenderExcerpts(diagnostic, sources));
  for (const std::string& note : ShownNotes(diagnostic, sources)) absl::StrAppend(&text, "note: ", note, "\n");
  for (const std::string& help : diagnostic.help) absl::StrAppend(&text, "help: ", help, "\n");
  return text;
}

std::string RenderText(const Diagnostics& diagnostics, const SourceSet& sources) {
  std::string text;
  int shown_errors = 0;
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    if (!text.empty()) absl::StrAppend(&text, "\n");
    absl::StrAppend(&text, RenderText(diagnostic, sources));
    if (diagnostic.severity == Severity::kError) ++shown_errors;
  }
  if (diagnostics.error_count() > shown_errors) {
    absl::StrAppend(&text, "\n", Plural(diagnostics.error_count() - shown_errors, "more error"), " not shown\n");
  }
  return text;
}

}  // namespace cleave
