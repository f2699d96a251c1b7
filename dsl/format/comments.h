// Gives the comments of a file, in the order of the text, to the formatter while it walks the tree.
#ifndef CLEAVE_DSL_FORMAT_COMMENTS_H_
#define CLEAVE_DSL_FORMAT_COMMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"

namespace cleave::dsl {

class CommentCursor {
 public:
  // `file` outlives the cursor.
  explicit CommentCursor(const syntax::File& file) : file_(file) {}

  // Whether a comment begins at or after byte `begin` and before byte `end`.
  bool HasBetween(int32_t begin, int32_t end) const;

  // The comments before byte `end` that have not been taken.
  std::vector<const syntax::Comment*> TakeBefore(int32_t end);

  // The comments before `end` up to the end of the line at which the cursor stands, joined by spaces; empty when there
  // are none.
  std::string TakeRestOfLine(int32_t end);

  // Whether a blank line begins at or after byte `begin` and before byte `end`.
  bool HasBlankLine(int32_t begin, int32_t end) const;

  // The end of the last comment taken.
  int32_t taken_until() const { return taken_until_; }

 private:
  const syntax::File& file_;
  size_t next_ = 0;
  int32_t taken_until_ = 0;
};

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_FORMAT_COMMENTS_H_
