// The files that a model file imports, directly or through others.
//
//   import "blocks.model";     // In gpt/gpt.model: the functions and ops of gpt/blocks.model.
//
//   const Imports imports = LoadImports(file, sources, reporter);
//   imports.of.at(file.file)   // {gpt/blocks.model, where the import stands}
#ifndef CLEAVE_FRONTEND_IMPORTS_IMPORTS_H_
#define CLEAVE_FRONTEND_IMPORTS_IMPORTS_H_

#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"

namespace cleave::frontend {

struct Import {
  FileId file;
  Span place;  // The path in the importing file.
};

struct Imports {
  // Each once, in the order in which they are first named. A list, because pointers to trees are kept.
  std::list<dsl::syntax::File> files = {};
  // By importing file, in the order of its text, each once.
  std::map<FileId, std::vector<Import>> of = {};
};

// The texts of files that an editor holds open, by IdentityOf their paths: they are read in place of what is on the
// disk.
using OpenTexts = std::map<std::string, std::string>;

// What a file is known by, whatever its path is written like.
std::string IdentityOf(const std::string& path);

// Reads the files that `model` imports into `sources`. `open`: null for none. Reports files that cannot be read or
// parsed, files that import each other, and items that an imported file cannot have.
Imports LoadImports(const dsl::syntax::File& model, SourceSet& sources, Reporter& reporter,
                    const OpenTexts* open = nullptr);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_IMPORTS_IMPORTS_H_
