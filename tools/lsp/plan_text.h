// What a plan does with the values at a place of a model, as Markdown.
#ifndef CLEAVE_TOOLS_LSP_PLAN_TEXT_H_
#define CLEAVE_TOOLS_LSP_PLAN_TEXT_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/types/span.h"
#include "search/explain/explain.h"
#include "tools/driver/compiled_model.h"

namespace cleave::tools {

// "step 1.2 ms, 3.4 MiB of 2.0 GiB per rank, 1.1 MiB sent in 12 collectives: 4 ranks of cpu, sapp"
std::string VerdictLine(const CompiledModel& compiled);

class PlanTexts {
 public:
  // `explained` outlives this object.
  explicit PlanTexts(const search::Explained& explained);

  // Of ops that are called so: layout on each axis of the mesh, bytes of a rank, collectives that make the value, and
  // the next-best choice. Layers that are alike are described once. Empty where the plan has none of the ops.
  std::string Of(absl::Span<const std::string> names);

 private:
  std::string KeyOf(const ir::Op& op) const;
  std::string TextOf(const ir::Op& op) const;
  // The choice for the op, or for the one before it in its line that it follows.
  std::string ChoiceText(const ir::Op& op) const;
  std::string CollectivesText(const ir::Op& op) const;
  const ir::Op& DeciderOf(const ir::Op& op) const;

  const search::Explained& explained_;
  std::unordered_map<std::string, ir::OpId> ops_;
  std::unordered_map<int32_t, std::vector<const ir::Step*>> collectives_;  // By the op whose value they carry.
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_PLAN_TEXT_H_
