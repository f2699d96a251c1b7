#include "frontend/custom_ops/custom_ops.h"

#include "frontend/custom_ops/definition.h"

namespace cleave::frontend {

CustomOps::CustomOps(const dsl::syntax::File& file, const std::string& folder, const std::string& target,
                     Reporter& reporter) {
  for (const dsl::syntax::Item& item : file.items) {
    const auto* syntax = std::get_if<dsl::syntax::OpDefinition>(&item.kind);
    if (syntax == nullptr) continue;
    CustomOp& op = ops_.emplace_back();
    op.syntax = syntax;
    Definition(op, files_, folder, target, reporter).Read();
    by_syntax_[syntax] = &op;
  }
}

}  // namespace cleave::frontend
