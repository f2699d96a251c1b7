#include "frontend/imports/imports.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "dsl/parse/parse.h"

namespace cleave::frontend {
namespace {

namespace fs = std::filesystem;

// What an item is that an imported file cannot have; empty for others.
std::string ForbiddenItem(const dsl::syntax::Item& item) {
  if (std::holds_alternative<dsl::syntax::Model>(item.kind)) return "`model`";
  if (std::holds_alternative<dsl::syntax::Train>(item.kind)) return "`train`";
  if (std::holds_alternative<dsl::syntax::Parallel>(item.kind)) return "`parallel`";
  if (std::holds_alternative<dsl::syntax::Expect>(item.kind)) return "`expect`";
  return "";
}

// Follows imports depth first. Files are known by what their paths lead to, whatever they are written like.
class Loader {
 public:
  Loader(SourceSet& sources, Reporter& reporter, const OpenTexts* open)
      : sources_(sources), reporter_(reporter), open_(open) {}

  Imports Load(const dsl::syntax::File& model) && {
    const std::string path = sources_.file(model.file).path();
    files_[IdentityOf(path)] = model.file;
    Follow(model);
    return std::move(imports_);
  }

 private:
  // The imports of one file.
  void Follow(const dsl::syntax::File& file) {
    under_way_.push_back({file.file, Span()});
    const fs::path folder = fs::path(sources_.file(file.file).path()).parent_path();
    for (const dsl::syntax::Item& item : file.items) {
      const auto* import = std::get_if<dsl::syntax::Import>(&item.kind);
      if (import == nullptr) continue;
      under_way_.back().place = import->path_span;
      const std::optional<FileId> imported =
          FileAt((folder / import->path.value).lexically_normal(), import->path_span);
      if (!imported.has_value()) continue;
      std::vector<Import>& list = imports_.of[file.file];
      const bool is_new =
          std::none_of(list.begin(), list.end(), [&](const Import& each) { return each.file == *imported; });
      if (is_new) list.push_back({*imported, import->path_span});
    }
    under_way_.pop_back();
  }

  // The file at `path`, read where that has not been done; nullopt after a mistake.
  std::optional<FileId> FileAt(const fs::path& path, Span place) {
    const std::string identity = IdentityOf(path.string());
    const auto known = files_.find(identity);
    if (known == files_.end()) return Read(path.string(), identity, place);
    if (known->second.has_value() && IsUnderWay(*known->second)) {
      ReportCycle(*known->second);
      return std::nullopt;
    }
    return known->second;
  }

  std::optional<FileId> Load(const std::string& path, const std::string& identity, Diagnostics& mistakes) {
    if (open_ != nullptr) {
      const auto text = open_->find(identity);
      if (text != open_->end()) return dsl::AddSource(path, text->second, sources_, mistakes);
    }
    return dsl::LoadSource(path, sources_, mistakes);
  }

  std::optional<FileId> Read(const std::string& path, const std::string& identity, Span place) {
    files_[identity] = std::nullopt;
    Diagnostics mistakes;
    const std::optional<FileId> id = Load(path, identity, mistakes);
    std::optional<dsl::syntax::File> tree;
    if (id.has_value()) tree = dsl::Parse(*id, sources_, mistakes);
    for (Diagnostic mistake : mistakes.items()) {
      if (!id.has_value()) mistake.labels.push_back({place, "imported here"});
      reporter_.Report(std::move(mistake));
    }
    if (!tree.has_value()) return std::nullopt;
    files_[identity] = *id;
    const dsl::syntax::File& file = imports_.files.emplace_back(*std::move(tree));
    CheckItems(file, place);
    Follow(file);
    return *id;
  }

  void CheckItems(const dsl::syntax::File& file, Span place) {
    for (const dsl::syntax::Item& item : file.items) {
      const std::string what = ForbiddenItem(item);
      if (what.empty()) continue;
      const Span word{item.span.file, item.span.begin, item.span.begin + static_cast<int32_t>(what.size()) - 2};
      reporter_.Report(Error(Code::kE0528, absl::StrCat(what, " in a file that is imported"))
                           .At(word, "only functions, records, ops and imports can stand here")
                           .At(place, "imported here")
                           .Help("move the functions to a file of their own, and import it in both"));
    }
  }

  bool IsUnderWay(FileId file) const {
    return std::any_of(under_way_.begin(), under_way_.end(), [&](const Import& each) { return each.file == file; });
  }

  // The import that closes the cycle is shown first, then how it was reached.
  void ReportCycle(FileId first) {
    Diagnostic error = Error(Code::kE0527, "files that import each other");
    const auto begin =
        std::find_if(under_way_.begin(), under_way_.end(), [&](const Import& each) { return each.file == first; });
    for (auto step = under_way_.end(); step != begin;) {
      const FileId next = step == under_way_.end() ? first : step->file;
      --step;
      error.labels.push_back({step->place, absl::StrCat("imports `", sources_.file(next).path(), "`")});
    }
    reporter_.Report(std::move(error).Help("move what both files need to a third one"));
  }

  SourceSet& sources_;
  Reporter& reporter_;
  const OpenTexts* const open_;
  Imports imports_;
  std::map<std::string, std::optional<FileId>> files_;  // By identity; nullopt for those that could not be read.
  std::vector<Import> under_way_;                       // The files that are followed, and at which of their imports.
};

}  // namespace

std::string IdentityOf(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  return error ? fs::path(path).lexically_normal().string() : real.string();
}

Imports LoadImports(const dsl::syntax::File& model, SourceSet& sources, Reporter& reporter, const OpenTexts* open) {
  return Loader(sources, reporter, open).Load(model);
}

}  // namespace cleave::frontend
