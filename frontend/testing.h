// For tests: analyzes a model given as text.
#ifndef CLEAVE_FRONTEND_TESTING_H_
#define CLEAVE_FRONTEND_TESTING_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/frontend.h"

namespace cleave::frontend {

struct Analyzed {
  std::optional<Module> module;
  std::string messages;  // As RenderText shows them; empty for none.
};

// `path`: the name of the text; files that it names are searched beside it.
Analyzed AnalyzeText(const std::string& text, const std::vector<std::pair<std::string, std::string>>& overrides = {},
                     const std::string& path = "test.model", const std::string& target = "cpu");

// `body` in a model with `input x: f32[8, 6];` before and, unless it has a loss, `loss reduce_mean(x);` after it; all
// on one line each, so that the body starts on line 2.
Analyzed AnalyzeBody(const std::string& body, const std::string& rest = "");

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_TESTING_H_
