#include "tools/lsp/scan.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace cleave::tools {
namespace {

// A bracket that is open at a place.
struct Bracket {
  char sign = '(';
  OpenCall call;              // Of `(`; without a callee of other brackets.
  bool is_attribute = false;  // `#[`
  std::string item;           // Of `{`: the word that began what it belongs to.
};

}  // namespace

Surroundings SurroundingsAt(const std::vector<Word>& words, absl::string_view text, int32_t offset) {
  Surroundings around;
  around.word_begin = offset;
  const auto text_of = [&](const Word& word) {
    return text.substr(static_cast<size_t>(word.begin), static_cast<size_t>(word.end - word.begin));
  };
  std::vector<Bracket> open;
  std::vector<const Word*> seen;  // Before the place, without comments and the word at the place.
  std::string head;               // The word that began what a brace belongs to: of an item or a statement.
  bool is_new = true;             // A statement or an item begins.
  for (const Word& word : words) {
    const absl::string_view own = text_of(word);
    const bool is_closed_string = own.size() > 1 && own.back() == '"';
    if (word.kind == WordKind::kComment) {
      const bool is_line = absl::StartsWith(own, "//");
      if (word.begin < offset && (offset < word.end || (is_line && offset == word.end))) around.in_comment = true;
      continue;
    }
    if (word.begin >= offset) break;
    if (word.kind == WordKind::kString && (offset < word.end || !is_closed_string)) {
      if (offset <= word.end) {
        around.in_string = true;
        around.string_before =
            std::string(text.substr(static_cast<size_t>(word.begin + 1), static_cast<size_t>(offset - word.begin - 1)));
        around.word_begin = word.begin + 1;
        break;
      }
    }
    const bool is_word = word.kind == WordKind::kName || word.kind == WordKind::kReserved;
    if (is_word && offset <= word.end) {
      around.word_begin = word.begin;
      break;
    }
    if (absl::StartsWith(own, ".") && own.size() > 1 && own[1] != '.' && offset <= word.end) {  // `.name`
      around.word_begin = word.begin + 1;
      around.before = ".";
      if (!seen.empty()) around.before_that = std::string(text_of(*seen.back()));
      break;
    }
    if (is_new && is_word) head = std::string(own);
    is_new = false;
    if (own == "(" || own == "[" || own == "{") {
      Bracket bracket{.sign = own[0], .call = {}, .is_attribute = false, .item = own == "{" ? head : ""};
      const Word* const last = seen.empty() ? nullptr : seen.back();
      if (own == "(" && last != nullptr && last->kind == WordKind::kName) {
        bracket.call = {.callee = std::string(text_of(*last)), .name = last->begin};
      }
      bracket.is_attribute = own == "[" && last != nullptr && text_of(*last) == "#";
      open.push_back(std::move(bracket));
      is_new = own == "{";
    } else if (own == ")" || own == "]" || own == "}") {
      const char opening = own == ")" ? '(' : own == "]" ? '[' : '{';
      // What is not closed is closed by the bracket around it.
      const auto partner =
          std::find_if(open.rbegin(), open.rend(), [&](const Bracket& each) { return each.sign == opening; });
      if (partner != open.rend()) {
        const bool ends_attribute = partner->is_attribute;
        open.erase(std::prev(partner.base()), open.end());
        is_new = own == "}" || ends_attribute;
      }
    } else if (own == "," && !open.empty()) {
      ++open.back().call.argument;
      open.back().call.argument_name.clear();
    } else if (own == "=" && !open.empty() && !seen.empty() && open.back().sign == '(') {
      open.back().call.argument_name = std::string(text_of(*seen.back()));
    } else if (own == ";") {
      is_new = true;
      // Nothing but blocks goes on behind a semicolon.
      while (!open.empty() && open.back().sign != '{') open.pop_back();
    }
    seen.push_back(&word);
  }
  if (around.before.empty() && !seen.empty()) {
    around.before = std::string(text_of(*seen.back()));
    if (seen.size() > 1) around.before_that = std::string(text_of(*seen[seen.size() - 2]));
  }
  around.begins_statement = is_new;
  for (const Bracket& bracket : open) {
    if (bracket.sign == '{' && around.item.empty()) around.item = bracket.item;
    if (bracket.sign == '(' && !bracket.call.callee.empty()) around.calls.push_back(bracket.call);
    around.in_attribute |= bracket.is_attribute;
  }
  if (around.in_settings() && !is_new) around.setting = head;
  return around;
}

}  // namespace cleave::tools
