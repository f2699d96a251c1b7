// The text of a program's source file and of its start script: the same for every target, except for what target.h
// describes.
#ifndef CLEAVE_CODEGEN_SOURCE_SOURCE_H_
#define CLEAVE_CODEGEN_SOURCE_SOURCE_H_

#include "codegen/source/run_script.h"  // IWYU pragma: export
#include "codegen/source/target.h"      // IWYU pragma: export

#endif  // CLEAVE_CODEGEN_SOURCE_SOURCE_H_
