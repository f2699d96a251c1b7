// C++ as a tree, and its printer: expressions, statements, identifiers and literals.
#ifndef CLEAVE_CODEGEN_CPP_CPP_H_
#define CLEAVE_CODEGEN_CPP_CPP_H_

#include "codegen/cpp/code.h"         // IWYU pragma: export
#include "codegen/cpp/expr.h"         // IWYU pragma: export
#include "codegen/cpp/family.h"       // IWYU pragma: export
#include "codegen/cpp/identifiers.h"  // IWYU pragma: export
#include "codegen/cpp/literal.h"      // IWYU pragma: export

#endif  // CLEAVE_CODEGEN_CPP_CPP_H_
