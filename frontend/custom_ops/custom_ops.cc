#include "frontend/custom_ops/custom_ops.h"

#include <filesystem>

#include "frontend/custom_ops/definition.h"

namespace cleave::frontend {

CustomOps::CustomOps(const dsl::syntax::File& model, const Imports& imports, const SourceSet& sources,
                     const std::string& target, Reporter& reporter) {
  const auto add = [&](const dsl::syntax::File& file) {
    Add(file, std::filesystem::path(sources.file(file.file).path()).parent_path().string(), target, reporter);
  };
  add(model);
  for (const dsl::syntax::File& file : imports.files) add(file);
}

void CustomOps::Add(const dsl::syntax::File& file, const std::string& folder, const std::string& target,
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
