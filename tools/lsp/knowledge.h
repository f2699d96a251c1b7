// What was found, for a text that may have changed since: places outside of the change are moved with their text, and
// what an older text or plan gave is marked.
#ifndef CLEAVE_TOOLS_LSP_KNOWLEDGE_H_
#define CLEAVE_TOOLS_LSP_KNOWLEDGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/lsp/findings.h"

namespace cleave::tools {

// Findings, and the texts in which they were found, by identity: those that were open.
struct Snapshot {
  Findings findings;
  std::map<std::string, std::shared_ptr<const std::string>> texts;
};

struct KnownValue {
  FoundValue value;
  bool is_old_plan = false;  // The plan is of an older text.
  int32_t begin = 0;         // In the text as it is now.
  int32_t end = 0;
};

class Knowledge {
 public:
  // What snapshots tell of the file `identity`, whose text is `text` now. They outlive this object; the first that
  // knows a place tells of it.
  Knowledge(std::vector<const Snapshot*> snapshots, const std::string& identity, absl::string_view text);

  std::optional<KnownValue> At(int32_t begin, int32_t end) const;
  // The narrowest place that covers [begin, end).
  std::optional<KnownValue> Around(int32_t begin, int32_t end) const;
  // What the name at the place stands for.
  std::optional<FileRange> MeaningOf(int32_t begin, int32_t end) const;

  // Of the plan; empty where there is none. Of an older text it says so.
  std::string Verdict() const;

 private:
  // One change that leads from the text of a snapshot to the present one.
  struct Moved {
    const Snapshot* snapshot;
    bool is_same = true;
    int32_t prefix = 0;  // Up to here the texts are alike.
    int32_t suffix = 0;  // From here on (of the present text) too.
    int32_t by = 0;      // A place behind the change was so much further in front.
  };

  static std::optional<std::pair<int32_t, int32_t>> Before(const Moved& moved, int32_t begin, int32_t end);
  KnownValue Known(const Moved& moved, const FileRange& before, const FoundValue& value) const;

  std::vector<Moved> moved_;
  const std::string identity_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_KNOWLEDGE_H_
