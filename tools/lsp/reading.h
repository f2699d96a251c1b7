// What the syntax of one text tells: its tree as far as it fits, its names, and the functions that it can call. Made
// in the server itself, since it takes a few milliseconds.
#ifndef CLEAVE_TOOLS_LSP_READING_H_
#define CLEAVE_TOOLS_LSP_READING_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/functions/functions.h"
#include "frontend/imports/imports.h"
#include "frontend/names/names.h"
#include "tools/lsp/findings.h"
#include "tools/lsp/scan.h"

namespace cleave::tools {

class Reading {
 public:
  Reading(const std::string& path, const std::string& text, const frontend::OpenTexts& open);
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  const std::string& text() const { return text_; }
  const dsl::syntax::File& file() const { return file_; }
  bool is_whole() const { return is_whole_; }  // The text has no mistakes of syntax.
  const frontend::TextNames& names() const { return names_; }
  const frontend::FunctionTable& functions() const { return *functions_; }
  const std::vector<Word>& words() const { return words_; }

  // The place as other texts know it; nullopt of the prelude.
  std::optional<FileRange> RangeOf(Span span) const;
  // Whether the place is in the prelude.
  bool IsOfPrelude(Span span) const;
  // The text of a place, of whatever file.
  absl::string_view TextAt(Span span) const;
  // The comment in front of what is declared there.
  std::string CommentBefore(Span declared) const;

  // The definition, or the use, whose name covers the place. Of a use that is part of a definition the use.
  const frontend::TextUse* UseAt(int32_t offset) const;
  const frontend::TextDefinition* DefinitionAt(int32_t offset) const;
  const frontend::TextField* FieldAt(int32_t offset) const;

 private:
  std::string text_;
  SourceSet sources_;
  dsl::syntax::File file_;
  bool is_whole_ = false;
  frontend::Imports imports_;
  std::unique_ptr<const frontend::FunctionTable> functions_;
  frontend::TextNames names_;
  std::vector<Word> words_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_READING_H_
