// Mappings: what the tensors of this project are called in another program, and how their values lie there.
//
//   # this project's name     other name                                  how the values lie
//   x.{i}.attn.qkv.weight     [transformer.]h.{i}.attn.c_attn.weight      transposed qkv
//
// docs/weights.md describes the lines.
#ifndef CLEAVE_TOOLS_WEIGHTS_MAPPING_H_
#define CLEAVE_TOOLS_WEIGHTS_MAPPING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/error/error.h"

namespace cleave::tools {

// From names in braces to what stands there: {"i": 11, "p": "query"}.
using NamePart = std::variant<int64_t, std::string>;
using NameParts = std::map<std::string, NamePart>;

// Names that differ in numbers, and in words where the name in braces begins with p: "[transformer.]h.{i}.ln_1.weight",
// "layer{i+1}.bias", "attn.{p}.weight". A word has no dots. What is in brackets may be left out.
class NamePattern {
 public:
  // The Error is the end of a sentence about the line.
  static runtime::Result<NamePattern> Parse(absl::string_view text);

  const std::string& text() const { return text_; }
  std::set<std::string> Names() const;  // Those in braces.

  std::optional<NameParts> Match(absl::string_view name) const;
  // The name with these numbers and words, and with what may be left out.
  std::string Fill(const NameParts& parts) const;

 private:
  struct Piece {
    std::string literal;
    std::string name;   // In braces after the literal; empty: none.
    int64_t shift = 0;  // How much more stands in the name.

    bool is_word() const { return name[0] == 'p'; }
  };
  static std::optional<NameParts> MatchPieces(const std::vector<Piece>& pieces, absl::string_view name);
  static runtime::Result<std::vector<Piece>> ParsePieces(absl::string_view text);

  std::string text_;
  std::vector<Piece> full_;
  std::optional<std::vector<Piece>> short_;  // Without what may be left out.
};

struct MappingLine {
  int number = 0;                   // In the file, from 1 on.
  std::optional<NamePattern> ours;  // nullopt: this project does not have the other tensors.
  std::vector<NamePattern> theirs;  // Several are one tensor here, one after another along its first dimension.
  std::optional<NamePattern> copy;  // Another name in the other program for the same values.
  bool is_transposed = false;       // The two dimensions.
  bool is_qkv = false;              // Rows here are ordered (heads, 3, head size), there (3, heads, head size).
  bool is_vocabulary = false;       // Rows count symbols, and may be more here.
  bool is_optional = false;         // The other program's weights may lack them.
  // The number in braces there that no name here has: it counts the tensors that one here holds, along a new first
  // dimension. Empty: there is none.
  std::string stacked_by = {};
};

struct Mapping {
  std::string name;  // Of the file, for messages.
  std::vector<MappingLine> lines;

  bool HasQkv() const;
};

// Every mistake is an Error that names its line.
runtime::Result<Mapping> ParseMapping(const std::string& name, absl::string_view text);

// Of the mappings that this program has: "gpt2".
std::vector<std::string> MappingNames();

// The text of one of them, a template (tools/text_template) of the cases that a family of models has; empty where there
// is none.
absl::string_view MappingText(absl::string_view name);

// The names of its cases, each once: what stands behind `%if`.
std::vector<std::string> MappingConditions(absl::string_view name);

// One of them, in the case in which `conditions` hold, or that of a file.
runtime::Result<Mapping> ReadMapping(const std::string& name_or_path, const std::vector<std::string>& conditions = {});

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_MAPPING_H_
