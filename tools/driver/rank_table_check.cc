#include "tools/driver/rank_table_check.h"

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "runtime/error/error.h"
#include "runtime/placement/rank_table.h"

namespace cleave::tools {

bool CheckRankTable(const std::string& path, int ranks, Diagnostics& diagnostics) {
  if (path.empty()) return true;
  const runtime::Result<runtime::RankTable> table = runtime::ReadRankTable(path);
  if (!table.ok()) {
    diagnostics.Add(Error(Code::kE0609, table.error().message));
    return false;
  }
  const int named = static_cast<int>(table.value().ranks.size());
  if (named == ranks) return true;
  diagnostics.Add(Error(Code::kE0609, absl::StrCat("the plan has ", Plural(ranks, "rank"), " and the rank table `",
                                                   path, "` names ", named))
                      .Help(absl::StrCat("compile the model with `--devices ", named, "`")));
  return false;
}

}  // namespace cleave::tools
