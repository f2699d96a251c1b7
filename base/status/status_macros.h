// Early return for absl::Status and absl::StatusOr.
//
//   CLEAVE_RETURN_IF_ERROR(Write(path, text));
//   CLEAVE_ASSIGN_OR_RETURN(Plan plan, Search(graph, cluster, options));
#ifndef CLEAVE_BASE_STATUS_STATUS_MACROS_H_
#define CLEAVE_BASE_STATUS_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define CLEAVE_RETURN_IF_ERROR(expression)                                                    \
  do {                                                                                        \
    if (absl::Status cleave_status = (expression); !cleave_status.ok()) return cleave_status; \
  } while (false)

#define CLEAVE_STATUS_JOIN_INNER(a, b) a##b
#define CLEAVE_STATUS_JOIN(a, b) CLEAVE_STATUS_JOIN_INNER(a, b)

#define CLEAVE_ASSIGN_OR_RETURN(declaration, expression) \
  CLEAVE_ASSIGN_OR_RETURN_INNER(CLEAVE_STATUS_JOIN(cleave_status_or_, __LINE__), declaration, expression)
#define CLEAVE_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                          \
  if (!result.ok()) return result.status();                            \
  declaration = *std::move(result)

#endif  // CLEAVE_BASE_STATUS_STATUS_MACROS_H_
