// The layers, optimizers and schedules that come with the language, as a `.model` text in the binary.
#ifndef CLEAVE_FRONTEND_PRELUDE_PRELUDE_H_
#define CLEAVE_FRONTEND_PRELUDE_PRELUDE_H_

#include "absl/strings/string_view.h"

namespace cleave::frontend {

// The text of prelude.model.
absl::string_view PreludeText();

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_PRELUDE_PRELUDE_H_
