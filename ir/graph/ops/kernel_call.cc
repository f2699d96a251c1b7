#include "ir/graph/ops/kernel_call.h"

namespace cleave::ir {

LocalSize operator*(LocalSize a, const LocalSize& b) {
  a.dimensions.insert(a.dimensions.end(), b.dimensions.begin(), b.dimensions.end());
  return a;
}

LocalSize CallSite::Elements(int tensor, int begin, int end) const {
  LocalSize size;
  for (int d = begin; d < end; ++d) size.dimensions.push_back({tensor, d});
  return size;
}

std::vector<CallArgument> CallSite::Inputs() const {
  std::vector<CallArgument> pointers;
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) pointers.push_back(Pointer{i});
  return pointers;
}

BracedList NumberList(absl::Span<const int64_t> numbers) {
  BracedList list;
  for (const int64_t number : numbers) list.fields.push_back({number});
  return list;
}

std::vector<KernelCall> RowsCall(const CallSite& site, std::string function, const std::vector<CallArgument>& more) {
  std::vector<CallArgument> arguments = site.Inputs();
  arguments.insert(arguments.end(), {site.Rows(0), site.Columns(0)});
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.push_back(Pointer{kResult});
  return {{std::move(function), std::move(arguments)}};
}

}  // namespace cleave::ir
