#include "dsl/format/comments.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace cleave::dsl {

bool CommentCursor::HasBetween(int32_t begin, int32_t end) const {
  return std::any_of(
      file_.comments.begin() + static_cast<std::ptrdiff_t>(next_), file_.comments.end(),
      [&](const syntax::Comment& comment) { return comment.span.begin >= begin && comment.span.begin < end; });
}

std::vector<const syntax::Comment*> CommentCursor::TakeBefore(int32_t end) {
  std::vector<const syntax::Comment*> taken;
  for (; next_ < file_.comments.size() && file_.comments[next_].span.begin < end; ++next_) {
    taken.push_back(&file_.comments[next_]);
    taken_until_ = file_.comments[next_].span.end;
  }
  return taken;
}

std::string CommentCursor::TakeRestOfLine(int32_t end) {
  std::string text;
  absl::string_view last;
  for (; next_ < file_.comments.size(); ++next_) {
    const syntax::Comment& comment = file_.comments[next_];
    // Nothing can follow a `//` comment on its line.
    if (comment.own_line || comment.span.begin >= end || absl::StartsWith(last, "//")) break;
    last = comment.text;
    absl::StrAppend(&text, text.empty() ? "" : " ", comment.text);
    taken_until_ = comment.span.end;
  }
  return text;
}

bool CommentCursor::HasBlankLine(int32_t begin, int32_t end) const {
  const auto line = std::lower_bound(file_.blank_lines.begin(), file_.blank_lines.end(), begin);
  return line != file_.blank_lines.end() && *line < end;
}

}  // namespace cleave::dsl
