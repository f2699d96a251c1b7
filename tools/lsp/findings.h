// What the compiler has found in a model: its diagnostics, the types at places of its text, and of a plan what it does
// with the values there. It is found by another process (runner.h), which sends it as JSON.
//
//   Findings findings;
//   findings.Take(part);   // {"seen": {…}}, then {"read": {…}}, then {"planned": {…}}
#ifndef CLEAVE_TOOLS_LSP_FINDINGS_H_
#define CLEAVE_TOOLS_LSP_FINDINGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json/json.h"

namespace cleave::tools {

// Bytes [begin, end) of a file, known by frontend::IdentityOf its path.
struct FileRange {
  std::string path;
  int32_t begin = 0;
  int32_t end = 0;

  bool operator==(const FileRange&) const = default;
  auto operator<=>(const FileRange&) const = default;
};

struct FoundLabel {
  FileRange range;
  std::string text;
};

struct FoundDiagnostic {
  std::string severity, code, message;  // "error", "E0201"
  std::vector<FoundLabel> labels;       // The first is the primary one.
  std::vector<std::string> notes, help;
};

// What is known of a place, each time that it is expanded.
struct FoundValue {
  std::vector<std::string> types;  // Each once.
  bool has_more_types = false;
  int64_t times = 0;  // How many ops compute it.
  std::string plan;   // Markdown; empty where there is no plan, or no op.
};

struct Findings {
  bool is_seen = false;            // `values` and `meanings` are there; without a model they stay empty.
  bool is_read = false;            // `files` and `diagnostics` are there.
  bool is_planned = false;         // There is a plan.
  std::vector<std::string> files;  // The model's, and those that it imports.
  std::vector<FoundDiagnostic> diagnostics;
  std::map<FileRange, FoundValue> values;
  std::map<FileRange, FileRange> meanings;  // Of names, where they are declared; only in files of the user.
  std::string verdict;                      // "step 1.2 ms, …": of a plan.
  std::string bug;                          // What is wrong with the compiler itself.

  // Adds a part that a study has sent. What is no such part is left out.
  void Take(const Json& part);
};

// For the process that finds it.
Json RangeJson(const FileRange& range);
Json DiagnosticJson(const FoundDiagnostic& diagnostic);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_FINDINGS_H_
