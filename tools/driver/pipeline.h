// The compiler's stages one after another: from a model file to a proven program. Each stage is a function of its
// crate; this file only hands the result of one to the next, and reports what fails.
#ifndef CLEAVE_TOOLS_DRIVER_PIPELINE_H_
#define CLEAVE_TOOLS_DRIVER_PIPELINE_H_

#include <optional>

#include "dsl/syntax/syntax.h"
#include "tools/driver/compiled_model.h"
#include "tools/driver/options.h"
#include "tools/driver/report.h"

namespace cleave::tools {

// Each returns nullopt after reporting why.
std::optional<dsl::syntax::File> ReadModel(const CompileOptions& options, Report& report);
// `open` and `sightings`: as in frontend::FrontendOptions, for editors.
std::optional<UnderstoodModel> Understand(const CompileOptions& options, const dsl::syntax::File& file, Report& report,
                                          const frontend::OpenTexts* open = nullptr,
                                          frontend::Sightings* sightings = nullptr);

// Plans the model, splits it into the program of a rank and proves that program, as far as the options ask for it.
std::optional<CompiledModel> CompileModel(const CompileOptions& options, UnderstoodModel model, Report& report);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_PIPELINE_H_
