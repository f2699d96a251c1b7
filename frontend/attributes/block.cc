#include "frontend/attributes/block.h"

#include <map>

#include "absl/strings/str_cat.h"

namespace cleave::frontend {
namespace {

// The entry, `x = (4, 1)`, as a separate attribute.
dsl::syntax::Attribute AttributeOf(const dsl::syntax::Attribute& block, const dsl::syntax::Argument& entry) {
  dsl::syntax::Attribute attribute{.span = entry.span, .name = block.name, .arguments = {}, .has_parentheses = true};
  const auto* tuple = std::get_if<dsl::syntax::Tuple>(&entry.value->kind);
  if (block.name.text == "layout" && tuple != nullptr) {
    attribute.arguments = tuple->elements;
  } else {
    attribute.arguments.push_back({.span = entry.value->span, .name = std::nullopt, .value = entry.value});
  }
  return attribute;
}

void ReportUnnamed(const dsl::syntax::Attribute& block, Span place, Reporter& reporter) {
  const std::string example = block.name.text == "layout" ? "#[layout(x = (\"dp\", _))]" : "#[shard(x = (4, 1))]";
  reporter.Report(Error(Code::kE0303, absl::StrCat("`#[", block.name.text, "]` on a function or a loop names tensors"))
                      .At(place, "of which tensor?")
                      .Help(absl::StrCat("such as `", example, "`")));
}

}  // namespace

bool IsBlockAttribute(const std::string& name) {
  return IsAboutOne(name) || name == "replicate" || name == "priority" || name == "stage" || name == "recompute" ||
         name == "keep" || name == "offload";
}

std::optional<BlockDemand> ReadBlockAttribute(const dsl::syntax::Attribute& attribute, const IntEvaluator& evaluate,
                                              Reporter& reporter) {
  BlockDemand block{.named = {}, .of_ops = std::nullopt, .span = attribute.span};
  if (!IsAboutOne(attribute.name.text)) {
    block.of_ops = ReadAttribute(attribute, evaluate, reporter);
    if (!block.of_ops) return std::nullopt;
    return block;
  }
  bool ok = !attribute.arguments.empty();
  if (!ok) ReportUnnamed(attribute, attribute.span, reporter);
  std::map<std::string, Span> seen;
  for (const dsl::syntax::Argument& entry : attribute.arguments) {
    if (!entry.name) {
      ReportUnnamed(attribute, entry.span, reporter);
      ok = false;
      continue;
    }
    const auto [first, is_new] = seen.emplace(entry.name->text, entry.name->span);
    if (!is_new) {
      reporter.Report(Error(Code::kE0303, absl::StrCat("`", entry.name->text, "` is named twice"))
                          .At(entry.name->span, "named again here")
                          .At(first->second, "first named here"));
      ok = false;
      continue;
    }
    std::optional<Demand> demand = ReadAttribute(AttributeOf(attribute, entry), evaluate, reporter);
    ok = ok && demand.has_value();
    if (!demand) continue;
    // The slices of a tensor are those of the layout that its readers see.
    if (auto* shard = std::get_if<ir::ShardPin>(&*demand))
      *shard = ir::ShardPin{.in = {}, .out = std::move(shard->in.front())};
    block.named.push_back({.name = *entry.name, .demand = *std::move(demand), .span = entry.span});
  }
  if (!ok) return std::nullopt;
  return block;
}

}  // namespace cleave::frontend
