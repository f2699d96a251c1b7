#include "codegen/program/stage_texts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status/status_macros.h"
#include "codegen/roll/forms.h"
#include "codegen/source/form_text.h"

namespace cleave::codegen {
namespace {

constexpr absl::string_view kTable = "of_stage";

using Texts = std::vector<const cpp::Code*>;

Texts PointersTo(const std::vector<cpp::Code>& texts) {
  Texts pointers;
  for (const cpp::Code& text : texts) pointers.push_back(&text);
  return pointers;
}

absl::StatusOr<std::vector<cpp::Code>> WriteAll(const std::vector<size_t>& parts, const WritePart& write,
                                                const Sharing& sharing) {
  std::vector<cpp::Code> texts;
  for (const size_t part : parts) {
    CLEAVE_ASSIGN_OR_RETURN(cpp::Code text, write(part, sharing));
    texts.push_back(std::move(text));
  }
  return texts;
}

// The parts whose texts are the same but for numbers and strings, in groups.
std::vector<std::vector<size_t>> GroupsOf(const std::vector<cpp::Code>& texts) {
  std::vector<std::vector<size_t>> groups;
  for (size_t part = 0; part < texts.size(); ++part) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<size_t>& other) {
      return cpp::Unite({&texts[other.front()], &texts[part]}, kTable).has_value();
    });
    if (group == groups.end()) {
      groups.push_back({part});
    } else {
      group->push_back(part);
    }
  }
  return groups;
}

// The type of what differs between stages, as forms of `n`.
void WriteColumns(const cpp::Family& family, cpp::Code& code) {
  const cpp::Expr n = cpp::Name("n"), number = cpp::Const(cpp::Name("int64_t"));
  code.Comment("What differs between these stages; n is 0 in the first of them.");
  cpp::Code& fields = code.Open(cpp::Struct{"OfStage"});
  fields.Member({number, "n"});
  for (const cpp::Family::Column& column : family.columns) {
    if (column.is_text) {
      fields.Declare({cpp::Name("const char* const"), column.name},
                     ElementAt(cpp::Name("const char*"), column.values, n));
      continue;
    }
    std::map<int64_t, int64_t> numbers;
    for (const cpp::Expr& value : column.values) numbers.emplace(numbers.size(), *value.number());
    fields.Declare({number, column.name}, FormExpr(FormOf(numbers), n));
  }
  code.Gap();
}

// The text of several parts. `texts`: theirs, as they may be shared but without `of_stage`.
absl::StatusOr<StageText> SharedText(const std::vector<size_t>& parts, Texts texts, const WritePart& write) {
  std::optional<cpp::Family> family = cpp::Unite(texts, kTable);
  std::vector<cpp::Code> readers;  // The texts of which some structs read `of_stage`.
  if (family.has_value() && !family->structs.empty()) {
    CLEAVE_ASSIGN_OR_RETURN(readers, WriteAll(parts, write, {.is_shared = true, .readers = family->structs}));
    texts = PointersTo(readers);
    family = cpp::Unite(texts, kTable);
  }
  if (!family.has_value()) return absl::InternalError("stages that are alike cannot be written as one");
  for (size_t i = 0; i < parts.size(); ++i) {
    const cpp::Code member = cpp::MemberOf(*family, i);
    if (DoTheSame(member, *texts[i])) continue;
    return absl::InternalError(
        absl::StrCat("what part ", parts[i], " shares is not its own:\n", FirstDifference(member, *texts[i])));
  }
  StageText shared = {.parts = parts, .code = cpp::Code(), .differs = !family->columns.empty()};
  if (shared.differs) WriteColumns(*family, shared.code);
  shared.code.Append(std::move(family->code));
  return shared;
}

// "1_and_3", "1 and 3".
std::string StagesOf(const ir::Program& part, absl::string_view space) {
  return absl::StrJoin(ir::OwnStages(part), absl::StrCat(space, "and", space));
}

// "stages" with the stages of all parts: "1_and_3", "1_to_6", "1_or_3".
std::string NameOf(absl::Span<const ir::Program* const> parts, absl::string_view word, absl::string_view space) {
  const bool is_one = parts.size() == 1 && ir::OwnStages(*parts.front()).size() == 1;
  const std::string begin = absl::StrCat(word, is_one ? "" : "s", space, StagesOf(*parts.front(), space));
  const auto count = static_cast<int>(parts.size());
  if (count > 2 && *parts.back()->part - *parts.front()->part + 1 == count) {
    return absl::StrCat(begin, space, "to", space, StagesOf(*parts.back(), space));
  }
  std::string name = begin;
  for (size_t i = 1; i < parts.size(); ++i) absl::StrAppend(&name, space, "or", space, StagesOf(*parts[i], space));
  return name;
}

}  // namespace

absl::StatusOr<std::vector<StageText>> StageTexts(size_t parts, bool share, const WritePart& write) {
  std::vector<size_t> all(parts);
  std::iota(all.begin(), all.end(), size_t{0});
  std::vector<cpp::Code> texts;  // As they may be shared.
  std::vector<std::vector<size_t>> groups;
  if (share && parts > 1) {
    CLEAVE_ASSIGN_OR_RETURN(texts, WriteAll(all, write, {.is_shared = true}));
    groups = GroupsOf(texts);
  } else {
    for (const size_t part : all) groups.push_back({part});
  }
  std::vector<StageText> result;
  for (const std::vector<size_t>& group : groups) {
    if (group.size() == 1) {
      CLEAVE_ASSIGN_OR_RETURN(cpp::Code own, write(group.front(), {}));
      result.push_back({.parts = group, .code = std::move(own)});
      continue;
    }
    Texts own;
    for (const size_t part : group) own.push_back(&texts[part]);
    CLEAVE_ASSIGN_OR_RETURN(StageText shared, SharedText(group, std::move(own), write));
    result.push_back(std::move(shared));
  }
  return result;
}

std::string NamespaceOf(absl::Span<const ir::Program* const> parts) { return NameOf(parts, "stage", "_"); }

cpp::Code& OpenNamespaceOf(absl::Span<const ir::Program* const> parts, cpp::Code& code) {
  code.Comment(absl::StrCat(NameOf(parts, "Stage", " "), " of ", ir::StageCount(*parts.front()), "."));
  cpp::Code& inner = code.Open(cpp::Namespace{NamespaceOf(parts)});
  inner.EmptyLine();
  return inner;
}

}  // namespace cleave::codegen
