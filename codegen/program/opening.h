// What stands above a program's struct, and its constructor.
#ifndef CLEAVE_CODEGEN_PROGRAM_OPENING_H_
#define CLEAVE_CODEGEN_PROGRAM_OPENING_H_

#include <optional>
#include <string>

#include "codegen/source/emission.h"

namespace cleave::codegen {

// The beginning of the file, up to what differs between stages: what it is, what it includes, and the numbers that
// flags change. Returns the unnamed namespace in which all programs of the file stand.
cpp::Code& EmitOpening(const Target& target, const ir::Program& program, const ir::Training& training,
                       std::optional<int> rank, cpp::Code& file);

// The constants that the program's functions and fields use.
void EmitConstants(const Emission& emission, cpp::Code& code);

// The constructor of the struct `type`.
void EmitConstructor(const Emission& emission, const std::string& type, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_OPENING_H_
