#include "frontend/custom_ops/custom_ops.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "frontend/custom_ops/body.h"
#include "frontend/custom_ops/definition.h"

namespace cleave::frontend {

namespace {

std::string FolderOf(const dsl::syntax::File& file, const SourceSet& sources) {
  return std::filesystem::path(sources.file(file.file).path()).parent_path().string();
}

}  // namespace

CustomOps::CustomOps(const dsl::syntax::File& model, const Imports& imports, const SourceSet& sources,
                     const std::string& target, Reporter& reporter)
    : folder_(FolderOf(model, sources)) {
  const auto add = [&](const dsl::syntax::File& file) { Add(file, FolderOf(file, sources), target, reporter); };
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

const BodyFile* CustomOps::LoadSamples(const std::string& path, Span place, const std::vector<Input>& inputs,
                                       Reporter& reporter) {
  const BodyFile* const file = LoadBody(folder_, path, place, "makes the samples", files_, reporter);
  if (file == nullptr) return nullptr;
  bool has_all = true;
  for (const Input& input : inputs) {
    if (DefinesFunction(file->text, input.name)) continue;
    has_all = false;
    reporter.Report(Error(Code::kE0512, absl::StrCat("`", path, "` has no function `", input.name, "`"))
                        .At(place, "has one for each input")
                        .Help(absl::StrCat("define `inline void ", input.name, "(int64_t sample, bool is_test, View<",
                                           input.is_float ? "float" : "int32_t", "> values)` there")));
  }
  return has_all ? file : nullptr;
}

}  // namespace cleave::frontend
