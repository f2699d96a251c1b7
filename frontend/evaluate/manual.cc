// What is said only in manual models.
#include "absl/strings/str_cat.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {

void Evaluator::SetModel(const syntax::Model& model, std::optional<Span> attribute) {
  model_name_ = model.name.span;
  manual_ = attribute;
}

int64_t Evaluator::world() const { return RankCount(graph().rank_axes); }

// `world` and `rank`; nothing for another name.
std::optional<Value> Evaluator::RankName(const std::string& name, Span span) {
  if (name != "world" && name != "rank") return std::nullopt;
  if (!graph().is_manual()) {
    ReportNotManual(absl::StrCat("`", name, "`"), span, "has a value only in a `#[manual]` model");
    return Value{Poison()};
  }
  if (name == "world") return Value{world()};
  std::vector<Value> ranks;
  for (int64_t rank = 0; rank < world(); ++rank) ranks.emplace_back().kind = rank;
  return PerRank(std::move(ranks));
}

void Evaluator::ReportNotManual(const std::string& what, Span span, std::string label) {
  Diagnostic error = Error(Code::kE0707, absl::StrCat(what, " outside a manual model")).At(span, std::move(label));
  if (manual_) {
    error.message = absl::StrCat(what, " where the number of ranks is not known yet");
    error.labels.front().text = "arguments of the model and `parallel` say how many ranks there are";
  } else if (model_name_) {
    error.labels.push_back({*model_name_, "the model is for one device"});
    error.help.push_back("write `#[manual]` above the model");
  }
  reporter_.Report(std::move(error));
}

// `#[local] param`: each rank has its own. Takes the attribute out of `attributes`.
bool Evaluator::TakeLocal(std::vector<syntax::Attribute>& attributes) {
  bool local = false;
  for (auto place = attributes.begin(); place != attributes.end();) {
    const syntax::Attribute attribute = *place;
    if (attribute.name.text != "local") {
      ++place;
      continue;
    }
    place = attributes.erase(place);
    local = true;
    if (!manual_) ReportNotManual("`#[local]`", attribute.span, "ranks have parameters of their own in manual models");
    if (attribute.has_parentheses) {
      reporter_.Report(Error(Code::kE0303, "`local` takes no arguments").At(attribute.span, "write `#[local]`"));
    }
  }
  return local;
}

}  // namespace cleave::frontend
