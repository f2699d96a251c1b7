// Reading guide: each script is a fixed part, and cases that are made of the Syntax of each subcommand.
#include "tools/subcommands/completion.h"

#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tools/subcommands/syntax.h"

namespace cleave::tools {
namespace {

constexpr char kBash[] = R"bash(# Completion of `cleave` for bash, printed by `cleave completion bash`.

# Offers what begins with $1 of the alternatives $2, which `|` separates: words, FILE with an ending, FOLDER.
_cleave_offer() {
  local alternatives alternative path name=$1
  IFS='|' read -ra alternatives <<<"$2"
  # What is typed has the quotes of the shell; names of files do not.
  case $name in
    [\"\']*) name=${name:1} ;;
    *) name=${name//\\/} ;;
  esac
  for alternative in "${alternatives[@]}"; do
    case $alternative in
      FILE* | FOLDER)
        compopt -o filenames 2>/dev/null
        while IFS= read -r path; do
          COMPREPLY+=("$path")
        done < <(
          compgen -d -- "$name"
          [[ $alternative == FOLDER ]] || compgen -f -X "!*${alternative#FILE}" -- "$name"
        )
        ;;
      # Of these only the codes of diagnostics are listed, and only where one has begun: there are many.
      [[:upper:]]*) [[ -z $1 || $alternative != *[0-9] || $alternative != "$1"* ]] || COMPREPLY+=("$alternative") ;;
      *) [[ $alternative != "$1"* ]] || COMPREPLY+=("${alternative%% *}") ;;
    esac
  done
}

_cleave() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i
  COMPREPLY=()
  # Bash cuts `--target=cuda` into three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    _cleave_offer "$current" '@SUBCOMMANDS@'
    return
  fi
  for ((i = 2; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} != -- ]] || return
  done
  case "$command $previous" in
@VALUES@  esac
  case "$command" in
@PARTS@  esac
}

complete -F _cleave cleave
)bash";

constexpr char kZsh[] = R"zsh(#compdef cleave
# Completion of `cleave` for zsh, printed by `cleave completion zsh`.

# Offers files whose names match $1, and the words $2...
_cleave_either() {
  local pattern=$1 found=1
  shift
  compadd -- "$@" && found=0
  _files -g "$pattern" && found=0
  return found
}

_cleave() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C \
    '(- *)'{-h,--help}'[List the subcommands]' \
    '(- *)--version[Show the version]' \
    '1:subcommand:((@SUBCOMMANDS@))' \
    '*::argument:->arguments'
  [[ $state == arguments ]] || return
  case $line[1] in
@PARTS@  esac
}

_cleave "$@"
)zsh";

// Cases of bash: which options take which values. Options that need no value are left to what can follow them.
std::string BashValues(const std::vector<Subcommand>& subcommands) {
  std::map<std::string, std::vector<std::string>> cases;  // From alternatives to the words that ask for them.
  for (const Subcommand& subcommand : subcommands) {
    for (const SyntaxPart& option : SyntaxOf(subcommand).options) {
      if (option.alternatives.empty() || option.is_value_optional) continue;
      const auto ask = [&](const std::string& word, const std::string& alternatives) {
        cases[alternatives].push_back(absl::StrCat("'", subcommand.name, " ", word, "'"));
      };
      ask(option.name, absl::StrJoin(option.alternatives, "|"));
      for (const std::string& alternative : option.alternatives) {
        const size_t space = alternative.find(' ');  // A value of two words.
        if (space != alternative.npos) ask(alternative.substr(0, space), alternative.substr(space + 1));
      }
    }
  }
  std::string text;
  for (const auto& [alternatives, words] : cases) {
    absl::StrAppend(&text, "    ", absl::StrJoin(words, " | "), ")\n      _cleave_offer \"$current\" '", alternatives,
                    "'\n      return\n      ;;\n");
  }
  return text;
}

// Cases of bash: the options of each subcommand, and its arguments.
std::string BashParts(const std::vector<Subcommand>& subcommands) {
  std::string text;
  for (const Subcommand& subcommand : subcommands) {
    const Syntax syntax = SyntaxOf(subcommand);
    std::vector<std::string> options;
    std::set<std::string> arguments;
    for (const SyntaxPart& option : syntax.options) options.push_back(option.name);
    for (const SyntaxPart& argument : syntax.arguments) {
      arguments.insert(argument.alternatives.begin(), argument.alternatives.end());
    }
    absl::StrAppend(&text, "    ", subcommand.name, ")\n      if [[ $current == -* ]]; then\n",
                    "        _cleave_offer \"$current\" '", absl::StrJoin(options, "|"), "'\n      else\n",
                    "        _cleave_offer \"$current\" '", absl::StrJoin(arguments, "|"), "'\n      fi\n      ;;\n");
  }
  return text;
}

// A text inside of a specification of _arguments, in single quotes.
std::string ZshText(const std::string& text) {
  return absl::StrReplaceAll(text, {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"'", "'\\''"}});
}

// What completes a value: "(cpu cuda)", "_files -g \"*.model\"".
std::string ZshAction(const SyntaxPart& part) {
  std::string words, files;
  for (const std::string& alternative : part.alternatives) {
    if (alternative == "FOLDER") return "_files -/";
    const std::string word = alternative.substr(0, alternative.find(' '));
    if (absl::StartsWith(alternative, "FILE")) {
      files = absl::StrCat("\"*", alternative.substr(4), "\"");
    } else if (IsWord(word) || absl::ascii_isdigit(word.back())) {
      absl::StrAppend(&words, words.empty() ? "" : " ", word);
    }
  }
  if (files.empty()) return words.empty() ? "" : absl::StrCat("(", words, ")");
  return words.empty() ? absl::StrCat("_files -g ", files) : absl::StrCat(" _cleave_either ", files, " ", words);
}

std::string ZshSpecification(const SyntaxPart& part, bool is_argument) {
  const std::string name(absl::StripPrefix(part.name, "--"));
  const std::string value = absl::StrCat(":", name, ":", ZshAction(part));
  if (is_argument) return absl::StrCat("'", part.is_repeated ? "*" : "", value, "'");
  return absl::StrCat("'", part.is_repeated ? "*" : "", part.name, part.alternatives.empty() ? "" : "=", "[",
                      ZshText(part.description), "]",
                      part.alternatives.empty() ? "" : absl::StrCat(part.is_value_optional ? ":" : "", value), "'");
}

}  // namespace

std::string BashCompletion(const std::vector<Subcommand>& subcommands) {
  std::vector<std::string> words;
  for (const Subcommand& subcommand : subcommands) words.push_back(subcommand.name);
  words.insert(words.end(), {"--help", "--version"});
  return absl::StrReplaceAll(kBash, {{"@SUBCOMMANDS@", absl::StrJoin(words, "|")},
                                     {"@VALUES@", BashValues(subcommands)},
                                     {"@PARTS@", BashParts(subcommands)}});
}

std::string ZshCompletion(const std::vector<Subcommand>& subcommands) {
  std::vector<std::string> names;
  std::string parts;
  for (const Subcommand& subcommand : subcommands) {
    names.push_back(absl::StrCat(subcommand.name, "\\:\"", ZshText(subcommand.summary), "\""));
    const Syntax syntax = SyntaxOf(subcommand);
    absl::StrAppend(&parts, "    ", subcommand.name, ")\n      _arguments");
    for (const SyntaxPart& option : syntax.options) {
      absl::StrAppend(&parts, " \\\n        ", ZshSpecification(option, /*is_argument=*/false));
    }
    for (const SyntaxPart& argument : syntax.arguments) {
      absl::StrAppend(&parts, " \\\n        ", ZshSpecification(argument, /*is_argument=*/true));
    }
    absl::StrAppend(&parts, "\n      ;;\n");
  }
  return absl::StrReplaceAll(kZsh, {{"@SUBCOMMANDS@", absl::StrJoin(names, " ")}, {"@PARTS@", parts}});
}

}  // namespace cleave::tools
