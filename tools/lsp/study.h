// What the compiler finds in a model: the whole of a compile without its output, told in parts as they are known.
//
//   Study({.path = path, .text = text, .options = options}, [](const Json& part) { Send(part); });
//
// The parts are those of Findings. Runs in a process of its own (runner.h): it may take long, and may fail.
#ifndef CLEAVE_TOOLS_LSP_STUDY_H_
#define CLEAVE_TOOLS_LSP_STUDY_H_

#include <functional>
#include <string>

#include "base/json/json.h"
#include "frontend/imports/imports.h"
#include "tools/driver/options.h"

namespace cleave::tools {

struct StudyRequest {
  std::string path;
  std::string text;
  frontend::OpenTexts open;  // Of other files.
  CompileOptions options;    // For which machines.
};

void Study(const StudyRequest& request, const std::function<void(const Json&)>& tell);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_STUDY_H_
