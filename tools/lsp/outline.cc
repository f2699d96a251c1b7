#include "tools/lsp/outline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "tools/lsp/hover.h"

namespace cleave::tools {
namespace {

// Numbers of the protocol.
enum class Symbol {
  kModule = 2,
  kClass = 5,
  kField = 8,
  kFunction = 12,
  kVariable = 13,
  kStruct = 23,
  kOperator = 25,
};

struct ItemHead {
  std::string name;
  Span span;  // Of the name, or of the item's first word.
  Symbol kind;
};

ItemHead HeadOf(const dsl::syntax::Item& item) {
  const auto word = [&](int32_t length) {
    return Span{.file = item.span.file, .begin = item.span.begin, .end = item.span.begin + length};
  };
  return Match(
      item.kind,
      [&](const dsl::syntax::Import& import) {
        return ItemHead{absl::StrCat("import ", import.path.value), import.path_span, Symbol::kModule};
      },
      [&](const dsl::syntax::Record& record) {
        return ItemHead{record.name.text, record.name.span, Symbol::kStruct};
      },
      [&](const dsl::syntax::Model& model) {
        return ItemHead{model.name.text, model.name.span, Symbol::kClass};
      },
      [&](const dsl::syntax::Function& function) {
        return ItemHead{function.name.text, function.name.span, Symbol::kFunction};
      },
      [&](const dsl::syntax::OpDefinition& op) {
        return ItemHead{op.name.text, op.name.span, Symbol::kOperator};
      },
      [&](const dsl::syntax::Train& train) {
        return ItemHead{absl::StrCat("train ", train.model.text), train.model.span, Symbol::kModule};
      },
      [&](const dsl::syntax::Parallel&) {
        return ItemHead{"parallel", word(8), Symbol::kModule};
      },
      [&](const dsl::syntax::Expect&) {
        return ItemHead{"expect", word(6), Symbol::kModule};
      });
}

// Settings are the symbols of a block of settings.
const std::vector<dsl::syntax::Setting>* SettingsOf(const dsl::syntax::Item& item) {
  if (const auto* train = std::get_if<dsl::syntax::Train>(&item.kind)) return &train->settings;
  if (const auto* parallel = std::get_if<dsl::syntax::Parallel>(&item.kind)) return &parallel->settings;
  return nullptr;
}

enum class Shade { kKeyword, kNumber, kString, kComment, kFunction, kStruct, kVariable, kParameter, kProperty, kType };

// Words that are reserved nowhere, and mean something where the grammar expects them.
bool IsWordOfGrammar(absl::string_view word) {
  for (const absl::string_view each :
       {"import", "record", "model", "op",    "train", "parallel", "expect", "pin",   "param",         "state",
        "update", "input",  "in",    "layer", "local", "loss",     "metric", "print", "assert_finite", "auto"}) {
    if (word == each) return true;
  }
  return false;
}

bool IsTypeName(absl::string_view word) {
  for (const absl::string_view each :
       {"f32", "i32", "bf16", "f16", "i8", "int", "float", "bool", "string", "tuple", "initializer", "layer"}) {
    if (word == each) return true;
  }
  return false;
}

Shade ShadeOf(frontend::NameKind kind) {
  switch (kind) {
    case frontend::NameKind::kFunction:
    case frontend::NameKind::kOp:
      return Shade::kFunction;
    case frontend::NameKind::kModel:
    case frontend::NameKind::kRecord:
      return Shade::kStruct;
    case frontend::NameKind::kArgument:
    case frontend::NameKind::kSymbol:
      return Shade::kParameter;
    case frontend::NameKind::kField:
    case frontend::NameKind::kParameter:
    case frontend::NameKind::kState:
      return Shade::kProperty;
    case frontend::NameKind::kInput:
    case frontend::NameKind::kLet:
    case frontend::NameKind::kLoopVariable:
      return Shade::kVariable;
  }
  return Shade::kVariable;
}

// The shades of names that are known, by where they begin.
std::map<int32_t, Shade> NameShades(const Reading& reading) {
  std::map<int32_t, Shade> shades;
  const frontend::TextNames& names = reading.names();
  for (const frontend::TextField& field : names.fields) shades[field.name.span.begin] = Shade::kProperty;
  for (const frontend::TextUse& use : names.uses) {
    if (use.definition.has_value()) {
      shades[use.span.begin] = ShadeOf(names.definitions[*use.definition].kind);
    } else {
      shades[use.span.begin] = use.is_argument_name ? Shade::kParameter : Shade::kFunction;
    }
  }
  for (const frontend::TextDefinition& definition : names.definitions) {
    shades[definition.name.span.begin] = ShadeOf(definition.kind);
  }
  for (const dsl::syntax::Item& item : reading.file().items) {
    const std::vector<dsl::syntax::Setting>* settings = SettingsOf(item);
    for (size_t i = 0; settings != nullptr && i < settings->size(); ++i) {
      shades[(*settings)[i].name.span.begin] = Shade::kProperty;
    }
  }
  return shades;
}

}  // namespace

Json PositionJson(Position position) {
  return JsonObject({{"line", position.line}, {"character", position.character}});
}

Json RangeJson(const Measured& measured, int32_t begin, int32_t end) {
  return JsonObject({{"start", PositionJson(measured.text.PositionOf(begin, measured.encoding))},
                     {"end", PositionJson(measured.text.PositionOf(end, measured.encoding))}});
}

Json SymbolsOf(const Reading& reading, const Measured& measured) {
  Json symbols = Json::array();
  const auto symbol = [&](const std::string& name, Symbol kind, Span all, Span own) {
    // The protocol asks for a name within its whole.
    const int32_t end = std::max(all.end, own.end);
    return JsonObject({{"name", name.empty() ? "_" : name},
                       {"kind", static_cast<int>(kind)},
                       {"range", RangeJson(measured, std::min(all.begin, own.begin), end)},
                       {"selectionRange", RangeJson(measured, own.begin, own.end)}});
  };
  for (const dsl::syntax::Item& item : reading.file().items) {
    const ItemHead head = HeadOf(item);
    Json json = symbol(head.name, head.kind, item.span, head.span);
    Json parts = Json::array();
    for (const frontend::TextDefinition& definition : reading.names().definitions) {
      const Span span = definition.name.span;
      if (span.begin < item.span.begin || span.end > item.span.end || span == head.span) continue;
      if (definition.kind == frontend::NameKind::kSymbol || definition.kind == frontend::NameKind::kArgument) continue;
      const bool is_field = ShadeOf(definition.kind) == Shade::kProperty;
      Json part = symbol(definition.name.text, is_field ? Symbol::kField : Symbol::kVariable, span, span);
      part["detail"] = definition.detail;
      parts.push_back(std::move(part));
    }
    const std::vector<dsl::syntax::Setting>* settings = SettingsOf(item);
    for (size_t i = 0; settings != nullptr && i < settings->size(); ++i) {
      parts.push_back(symbol((*settings)[i].name.text, Symbol::kField, (*settings)[i].span, (*settings)[i].name.span));
    }
    json["children"] = std::move(parts);
    symbols.push_back(std::move(json));
  }
  return symbols;
}

Json FoldsOf(const Reading& reading, const Measured& measured) {
  Json folds = Json::array();
  const auto line_of = [&](int32_t offset) { return measured.text.PositionOf(offset, measured.encoding).line; };
  const auto add = [&](int64_t first, int64_t last, const char* kind) {
    if (last <= first) return;
    Json fold = JsonObject({{"startLine", first}, {"endLine", last}});
    if (kind != nullptr) fold["kind"] = kind;
    folds.push_back(std::move(fold));
  };
  std::vector<int64_t> open;
  int64_t comment_first = -1, comment_last = -1;  // A run of lines that are comments.
  const auto end_comment = [&] {
    if (comment_first >= 0) add(comment_first, comment_last, "comment");
    comment_first = -1;
  };
  for (const Word& word : reading.words()) {
    const absl::string_view own =
        absl::string_view(reading.text())
            .substr(static_cast<size_t>(word.begin), static_cast<size_t>(word.end - word.begin));
    if (word.kind == WordKind::kComment) {
      const int64_t first = line_of(word.begin);
      if (comment_first < 0 || first != comment_last + 1) {
        end_comment();
        comment_first = first;
      }
      comment_last = line_of(word.end);
      continue;
    }
    end_comment();
    if (own == "{" || own == "(" || own == "[") open.push_back(line_of(word.begin));
    if ((own == "}" || own == ")" || own == "]") && !open.empty()) {
      // The line of the closing bracket stays.
      add(open.back(), line_of(word.begin) - 1, nullptr);
      open.pop_back();
    }
  }
  end_comment();
  return folds;
}

std::vector<std::string> WordKindNames() {
  return {"keyword", "number", "string", "comment", "function", "struct", "variable", "parameter", "property", "type"};
}

Json WordKindsOf(const Reading& reading, const Measured& measured) {
  const std::map<int32_t, Shade> names = NameShades(reading);
  const std::vector<Word>& words = reading.words();
  const absl::string_view text = reading.text();
  const auto own_text = [&](const Word& word) {
    return text.substr(static_cast<size_t>(word.begin), static_cast<size_t>(word.end - word.begin));
  };
  Json data = Json::array();
  Position last;
  const auto add = [&](int32_t begin, int32_t end, Shade shade) {
    if (end <= begin) return;
    const Position at = measured.text.PositionOf(begin, measured.encoding);
    const Position to = measured.text.PositionOf(end, measured.encoding);
    data.push_back(at.line - last.line);
    data.push_back(at.line == last.line ? at.character - last.character : at.character);
    data.push_back(to.character - at.character);
    data.push_back(static_cast<int>(shade));
    data.push_back(0);
    last = at;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    const absl::string_view own = own_text(word);
    std::optional<Shade> shade;
    int32_t begin = word.begin;
    if (absl::StartsWith(own, ".") && own.size() > 1 && own[1] != '.') ++begin;  // `.name`
    const auto known = names.find(begin);
    if (known != names.end()) {
      shade = known->second;
    } else if (word.kind == WordKind::kReserved) {
      shade = Shade::kKeyword;
    } else if (word.kind == WordKind::kNumber) {
      shade = Shade::kNumber;
    } else if (word.kind == WordKind::kString) {
      shade = Shade::kString;
    } else if (word.kind == WordKind::kComment) {
      shade = Shade::kComment;
    } else if (word.kind == WordKind::kName) {
      const bool is_called = i + 1 < words.size() && own_text(words[i + 1]) == "(";
      if (IsTypeName(own) && !is_called) {
        shade = Shade::kType;
      } else if (IsWordOfGrammar(own)) {
        shade = Shade::kKeyword;
      } else if (is_called) {
        shade = Shade::kFunction;
      }
    }
    if (!shade.has_value()) continue;
    // A word of the protocol is on one line.
    while (begin < word.end) {
      const size_t line = text.find('\n', static_cast<size_t>(begin));
      const int32_t end = std::min<int64_t>(word.end, line == absl::string_view::npos ? text.size() : line);
      add(begin, end, *shade);
      begin = end + 1;
    }
  }
  return JsonObject({{"data", std::move(data)}});
}

Json HintsOf(const Reading& reading, const Knowledge& knowledge, const Measured& measured, int32_t begin, int32_t end) {
  Json hints = Json::array();
  for (const frontend::TextDefinition& definition : reading.names().definitions) {
    const Span span = definition.name.span;
    if (span.begin < begin || span.end > end || definition.kind != frontend::NameKind::kLet) continue;
    if (absl::StrContains(definition.detail, ": ")) continue;  // The type is written there.
    const std::optional<KnownValue> known = knowledge.At(span.begin, span.end);
    if (!known.has_value() || known->value.types.empty()) continue;
    const std::string type = known->value.types.size() == 1 && !known->value.has_more_types
                                 ? known->value.types[0]
                                 : absl::StrCat(known->value.types[0], " | …");
    Json hint = JsonObject({{"position", PositionJson(measured.text.PositionOf(span.end, measured.encoding))},
                            {"label", absl::StrCat(": ", type)},
                            {"kind", 1},
                            {"paddingLeft", false}});
    if (known->value.types.size() > 1) hint["tooltip"] = TypeText(known->value);
    hints.push_back(std::move(hint));
  }
  return hints;
}

Json VerdictOf(const Reading& reading, const Knowledge& knowledge, const Measured& measured) {
  Json lenses = Json::array();
  const std::string verdict = knowledge.Verdict();
  if (verdict.empty()) return lenses;
  const dsl::syntax::Item* above = nullptr;
  for (const dsl::syntax::Item& item : reading.file().items) {
    if (std::holds_alternative<dsl::syntax::Parallel>(item.kind)) {
      above = &item;
    } else if (above == nullptr && std::holds_alternative<dsl::syntax::Model>(item.kind)) {
      above = &item;
    }
  }
  if (above == nullptr) return lenses;
  lenses.push_back(JsonObject({{"range", RangeJson(measured, above->span.begin, above->span.begin)},
                               {"command", JsonObject({{"title", verdict}, {"command", ""}})}}));
  return lenses;
}

}  // namespace cleave::tools
