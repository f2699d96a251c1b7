#include "tools/subcommands/man_page.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/subcommands/syntax.h"

namespace cleave::tools {
namespace {

constexpr char kPage[] = R"man(.\" Printed by `cleave help --man`.
.TH CLEAVE 1 "" "cleave @VERSION@" "User Commands"
.SH NAME
cleave \- compiler of models into programs that train them on any number of ranks
.SH SYNOPSIS
.B cleave
.I SUBCOMMAND
.RI [ OPTIONS ]
\&...
.SH DESCRIPTION
Cleave takes a model that was written once, for one device, finds how to split it over any number of ranks, proves that
the split program computes the same, and writes plain C++ or CUDA.
.SH SUBCOMMANDS
@SUBCOMMANDS@.SH EXIT STATUS
.TP
.B 0
It was done.
.TP
.B 1
Something differs
.RB ( "fmt \-\-check" ,
.BR diff ,
.BR "weights diff" ).
.TP
.B 2
The command line is wrong.
.TP
.B 3
The model, its data, a plan or a rank table is wrong.
.TP
.B 4
No plan fits the limits.
.TP
.B 5
Something outside of the command failed: a file, a disk, a tool that is not there.
.TP
.B 6
The program failed, or its loss is not finite.
.TP
.B 70
A mistake of the compiler.
.PP
.B cleave run
ends with the exit status of the program.
.SH ENVIRONMENT
.TP
.B XDG_CACHE_HOME
Compiled runtimes are kept in its folder
.IR cleave/runtime ;
by default in
.IR ~/.cache/cleave/runtime .
.TP
.B CLEAVE_CACHE
.B off
keeps none.
)man";

// A text as it is printed: a hyphen is a minus, and no line of it begins with a control character.
std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"'", "\\(aq"}, {"\n.", "\n\\&."}});
}

// "\fB\-\-target\fR \fIcpu\fR|\fIcuda\fR"
std::string Heading(const SyntaxPart& part, bool is_argument) {
  // Codes of diagnostics are too many to be listed.
  if (is_argument) return absl::StrCat("\\fI", Escaped(part.name), "\\fR", part.is_repeated ? " ..." : "");
  if (part.alternatives.empty()) return absl::StrCat("\\fB", Escaped(part.name), "\\fR");
  std::vector<std::string> values;
  for (const std::string& alternative : part.alternatives) {
    values.push_back(absl::StrCat("\\fI", Escaped(alternative), "\\fR"));
  }
  // Lists that may be longer than a line are broken behind a bar.
  constexpr size_t kMany = 6;
  const std::string value = absl::StrJoin(values, values.size() > kMany ? "|\\:" : "|");
  return absl::StrCat("\\fB", Escaped(part.name), "\\fR ",
                      part.is_value_optional ? absl::StrCat("[", value, "]") : value);
}

void Append(const std::vector<SyntaxPart>& parts, bool are_arguments, std::string& text) {
  for (const SyntaxPart& part : parts) {
    absl::StrAppend(&text, ".TP\n", Heading(part, are_arguments), "\n\\&", Escaped(part.description), ".\n");
  }
}

}  // namespace

std::string ManPage(const std::vector<Subcommand>& subcommands, absl::string_view version) {
  std::string text;
  for (const Subcommand& subcommand : subcommands) {
    const Syntax syntax = SyntaxOf(subcommand);
    absl::StrAppend(&text, ".SS cleave ", Escaped(subcommand.name), "\n", Escaped(subcommand.summary), ".\n");
    Append(syntax.arguments, /*are_arguments=*/true, text);
    Append(syntax.options, /*are_arguments=*/false, text);
  }
  return absl::StrReplaceAll(kPage, {{"@VERSION@", Escaped(version)}, {"@SUBCOMMANDS@", text}});
}

}  // namespace cleave::tools
