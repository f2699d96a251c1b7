// The Makefile that travels with a generated program: text that all targets share, around the text of one target.
//
//   const std::string text = Makefile({.opening = …, .hot = "runtime/random", .rules = …}, {.folders = …});
//
// The text of a target may use what the shared text defines: COMM, CXX, PROGRAM, BUILD, USED (folders), $(call
// has,HEADER).
#ifndef CLEAVE_CODEGEN_SOURCE_MAKEFILE_H_
#define CLEAVE_CODEGEN_SOURCE_MAKEFILE_H_

#include <string>
#include <vector>

namespace cleave::codegen {

// Each text consists of whole lines.
struct MakefileOfTarget {
  std::string opening;         // What `make` builds and needs; CXXFLAGS, LDLIBS, MAIN, MAIN_OBJECT.
  std::string hot;             // Folders that are compiled for speed.
  std::string libraries = "";  // Finds libraries and tools, and says what to install where one is missing.
  std::string rules;           // How MAIN_OBJECT is made, and OTHER_OBJECTS where `libraries` names some.
};

// What lies beside the program.
struct ProgramSources {
  std::vector<std::string> folders;    // Where sources lie, relative to the Makefile; those that take longest first.
  bool read_compressed_files = false;  // They are linked with zlib.
};

std::string Makefile(const MakefileOfTarget& target, const ProgramSources& sources);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_MAKEFILE_H_
