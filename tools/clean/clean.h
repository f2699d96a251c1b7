// The cache of compiled runtimes: ${XDG_CACHE_HOME:-~/.cache}/cleave/runtime, with a folder for each runtime, compiler
// and processor. Programs build without it; it only saves time.
#ifndef CLEAVE_TOOLS_CLEAN_CLEAN_H_
#define CLEAVE_TOOLS_CLEAN_CLEAN_H_

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// ${XDG_CACHE_HOME:-~/.cache}; nullopt where neither variable has an absolute path. (A relative XDG_CACHE_HOME does not
// count: XDG Base Directory Specification.)
std::optional<std::filesystem::path> CacheHome();

// Adds the options, to be shown.
void DescribeClean(CLI::App& app);

// Removes the cache and says on `out` what was removed and how many bytes that were; does nothing where there is none.
// Symbolic links in the cache are removed, not followed, and a link in the place of the cache is refused. Returns
// kDone; kEnvironment, after a line on `err`, where something cannot be removed or nothing says where the cache is;
// kUsage.
ExitCode RunClean(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                  std::ostream& out = std::cout, std::ostream& err = std::cerr);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CLEAN_CLEAN_H_
