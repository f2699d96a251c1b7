#include "tools/subcommands/syntax.h"

#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"

namespace cleave::tools {
namespace {

std::vector<std::string> ValuesOf(const CLI::Option& option) {
  std::vector<std::string> values;
  for (const std::string& alternative : AlternativesOf(option)) {
    if (alternative == "SUBCOMMAND") {
      for (const Subcommand& subcommand : Subcommands()) values.push_back(subcommand.name);
    } else if (alternative == "CODE") {
      for (const Code code : AllCodes()) values.emplace_back(CodeName(code));
    } else {
      values.push_back(alternative);
    }
  }
  return values;
}

}  // namespace

Syntax SyntaxOf(const Subcommand& subcommand) {
  CLI::App app;
  subcommand.describe(app);
  Syntax syntax;
  for (const CLI::Option* option : app.get_options()) {
    const bool is_argument = option->get_positional();
    (is_argument ? syntax.arguments : syntax.options)
        .push_back({.name = is_argument ? option->get_single_name() : absl::StrCat("--", option->get_lnames()[0]),
                    .description = option->get_description(),
                    .alternatives = ValuesOf(*option),
                    .is_value_optional = option->get_expected_min() == 0,
                    .is_repeated = option->get_expected_max() == CLI::detail::expected_max_vector_size});
  }
  return syntax;
}

}  // namespace cleave::tools
