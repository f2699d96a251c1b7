// The texts that are written for a model of a family.
#ifndef CLEAVE_TOOLS_IMPORT_MODEL_H_
#define CLEAVE_TOOLS_IMPORT_MODEL_H_

#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "ir/graph/graph.h"
#include "tools/import/family.h"
#include "tools/text_template/text_template.h"

namespace cleave::tools {

// The values of config.json and all that follow from them alone. REQUIRES: ReadConfig gave `values`.
TemplateValues WithWhatFollows(const Family& family, TemplateValues values);

// With the blocks `train` and `parallel`; not yet laid out. REQUIRES: WithWhatFollows gave `values`; the same below.
std::string ModelText(const Family& family, TemplateValues values);

// ModelText in the canonical layout.
std::optional<std::string> LaidOutModel(const Family& family, const TemplateValues& values, SourceSet& sources,
                                        Diagnostics& diagnostics);

// What the compiler makes of a model. Each number of config.json was looked at by itself; that they contradict each
// other is seen here, and is E0616.
std::optional<ir::Graph> GraphOf(const std::string& model, Diagnostics& diagnostics);

// Of the queries of a layer: by them `qkv` of a mapping is rearranged.
int64_t HeadsOf(const TemplateValues& values);

// As a mapping of tools/weights.
std::string MapText(const Family& family, const TemplateValues& values);

// Besides, `values` has what is known of the folder: `file`, `source`, `tokenizer`, `generation`, `not_done`,
// `export_heads`; and whether the model learns from conversations: `chat`.
std::string ReadmeText(const TemplateValues& values);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_IMPORT_MODEL_H_
