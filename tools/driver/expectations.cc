#include "tools/driver/expectations.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "dsl/parse/parse.h"
#include "dsl/syntax/syntax.h"

namespace cleave::tools {

std::optional<frontend::Contract> ReadExpectations(const CompileOptions& options, Report& report) {
  if (options.expect.empty() || options.expect == kNoExpectations) return frontend::Contract();
  const std::optional<FileId> id = dsl::LoadSource(options.expect, report.sources, report.diagnostics);
  if (!id.has_value()) return std::nullopt;
  const std::optional<dsl::syntax::File> file = dsl::Parse(*id, report.sources, report.diagnostics);
  if (!file.has_value()) return std::nullopt;
  const dsl::syntax::Expect* found = nullptr;
  for (const dsl::syntax::Item& item : file->items) {
    const auto* const expect = std::get_if<dsl::syntax::Expect>(&item.kind);
    if (expect == nullptr || found != nullptr || !item.attributes.empty()) {
      report.diagnostics.Add(Error(Code::kE0804, absl::StrCat("`", options.expect, "` is more than an `expect` block"))
                                 .At({item.span.file, item.span.begin, item.span.begin + 1}, "only one block is read"));
      return std::nullopt;
    }
    found = expect;
  }
  if (found == nullptr) {
    report.diagnostics.Add(Error(Code::kE0804, absl::StrCat("`", options.expect, "` has no `expect` block"))
                               .Help("`expect { all_gather <= 2; }`; with `--expect none` nothing is expected"));
    return std::nullopt;
  }
  frontend::Contract contract = frontend::ReadContract(*found, report.diagnostics);
  if (report.diagnostics.has_errors()) return std::nullopt;
  return contract;
}

frontend::Contract ExpectationsOf(const CompileOptions& options, frontend::Contract read,
                                  const frontend::Module& module) {
  const bool takes_own = options.expect.empty() && options.mode == ir::Mode::kTrain && module.contract.has_value();
  return takes_own ? *module.contract : std::move(read);
}

}  // namespace cleave::tools
