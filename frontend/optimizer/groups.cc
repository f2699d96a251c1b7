#include "frontend/optimizer/groups.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::frontend {
std::string FirstNames(std::vector<std::string> parameters) {
  constexpr size_t kNamed = 8;
  const bool is_short = parameters.size() <= kNamed;
  if (!is_short) parameters.resize(kNamed);
  return is_short ? QuotedList(parameters, "and") : absl::StrCat(QuotedList(parameters, "and"), " and others");
}

void Groups::Report(const Group& group, Diagnostic error) const {
  reporter_.SetContext(group.context);
  reporter_.Report(std::move(error));
  reporter_.SetContext("");
}

void Groups::Divide(ir::Graph& model) {
  std::vector<std::string> names;
  for (const ir::Op& op : model.ops) {
    if (ir::IsTrained(op)) names.push_back(op.name);
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    bool matches = false;
    bool is_own = true;
    for (const std::string& name : names) {
      if (!MatchesPattern(group.pattern, name)) continue;
      matches = true;
      const auto [found, is_new] = of_parameter_.try_emplace(name, i);
      if (is_new || !is_own) continue;
      is_own = false;
      Report(group, Error(Code::kE0525, absl::StrCat("parameter `", name, "` is in two groups"))
                        .At(group.span, "matches it")
                        .At(groups_[found->second].span, "matches it too")
                        .Help("each parameter is in at most one group: narrow one of the patterns"));
    }
    if (matches) continue;
    const auto frozen = std::find_if(frozen_.begin(), frozen_.end(),
                                     [&](const std::string& name) { return MatchesPattern(group.pattern, name); });
    if (frozen != frozen_.end()) {
      if (!group.recipe.has_value()) continue;
      Report(group,
             Error(Code::kE0525, absl::StrCat("`", group.pattern, "` matches parameters that `adapt` freezes"))
                 .At(group.span, absl::StrCat("only such as `", *frozen, "`"))
                 .Help(absl::StrCat("`also = \"", group.pattern, "\"` in `adapt` trains them beside the adapters")));
      continue;
    }
    Diagnostic error = Error(Code::kE0525, absl::StrCat("no parameter matches `", group.pattern, "`"))
                           .At(group.span, "describes none")
                           .Note("`*` stands for any text, `?` for any character; states are no parameters");
    if (const auto nearest = NearestName(group.pattern, names)) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    } else if (!names.empty()) {
      error.notes.push_back(absl::StrCat("there is ", FirstNames(names)));
    }
    Report(group, std::move(error));
  }
  for (ir::Op& op : model.ops) {
    const auto group = of_parameter_.find(op.name);
    if (!ir::IsTrained(op) || group == of_parameter_.end() || groups_[group->second].recipe.has_value()) continue;
    op.attributes.Set(ir::attribute::kTrained, false);
  }
}

const Recipe& Groups::RecipeOf(const ir::Op& parameter, const Recipe& usual) const {
  const auto group = of_parameter_.find(parameter.name);
  return group == of_parameter_.end() ? usual : *groups_[group->second].recipe;
}

void Groups::CheckTrained(const std::vector<std::string>& trained) const {
  std::set<size_t> with_gradients;
  for (const std::string& name : trained) {
    if (const auto group = of_parameter_.find(name); group != of_parameter_.end()) with_gradients.insert(group->second);
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (group.recipe.has_value() && with_gradients.count(i) == 0) {
      Report(group, Error(Code::kE0525, absl::StrCat("no gradient reaches the parameters of `", group.pattern, "`"))
                        .At(group.span, "nothing that the optimizer could update")
                        .Help(absl::StrCat("`\"", group.pattern, "\": frozen`")));
    } else if (!group.recipe.has_value() && trained.empty()) {
      return Report(group, Error(Code::kE0525, "no parameter is left to train")
                               .At(group.span, "freezes what could be trained")
                               .Help("`--mode evaluate` tests a model without training it"));
    }
  }
}

}  // namespace cleave::frontend
