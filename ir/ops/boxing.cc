#include "ir/ops/boxing.h"

#include "absl/strings/str_cat.h"

namespace cleave {

Rule BoxRule(const Shape& input, const Shape& output) {
  Rule rule;
  rule.inputs.resize(1);
  for (size_t d = 0; d < input.size(); ++d) {
    if (input[d] == output[d]) {
      const int factor = AddFactor(rule, absl::StrCat("d", d), input[d]);
      rule.inputs[0].push_back({factor});
      rule.output.push_back({factor});
      continue;
    }
    rule.inputs[0].push_back({AddFactor(rule, absl::StrCat("s", d), input[d], FactorKind::kWhole)});
    rule.factors.back().fixed_size = true;
    rule.output.push_back({AddFactor(rule, absl::StrCat("t", d), output[d], FactorKind::kWhole)});
    rule.factors.back().fixed_size = true;
  }
  rule.linear = {{0}};
  return rule;
}

}  // namespace cleave
