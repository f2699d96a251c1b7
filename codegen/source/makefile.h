// The Makefile that travels with a generated program: text that all targets share, around the text of one target.
//
//   const std::string text = Makefile({.opening = …, .hot = "runtime/random"}, {.folders = …});
//
// The text of a target may use what the shared text defines: COMM, CXX, PROGRAM, $(call has,HEADER). It may define
// COMPILE_CUDA, the command for units of .cu files; OTHER_FOLDERS, with sources beside those of the runtime;
// CUDA_INCLUDES, flags for both, where headers are that nothing else includes; and FLAGS_FOLDER, flags for one folder.
#ifndef CLEAVE_CODEGEN_SOURCE_MAKEFILE_H_
#define CLEAVE_CODEGEN_SOURCE_MAKEFILE_H_

#include <string>
#include <vector>

namespace cleave::codegen {

// Each text consists of whole lines.
struct MakefileOfTarget {
  std::string opening;         // What `make` builds and needs; COMM, CXXFLAGS, LDLIBS, MAIN.
  std::string hot;             // Folders that are compiled for speed.
  std::string libraries = "";  // Finds libraries and tools, and says what to install where one is missing.
  // What connects ranks that are started one by one, as a value of COMM, and the line that names its library.
  std::string meeting_comm = {};
  std::string meeting_libraries = "";
};

// What lies beside the program.
struct ProgramSources {
  std::vector<std::string> folders;    // Where sources lie, relative to the Makefile; those that take longest first.
  std::vector<int> also = {};          // Programs for so many ranks lie in folders of their own (FolderOfRanks).
  bool read_compressed_files = false;  // They are linked with zlib.
  bool read_tokenizers = false;        // They are linked with PCRE2.
  bool read_images = false;            // They are linked with libjpeg and libpng.
};

std::string Makefile(const MakefileOfTarget& target, const ProgramSources& sources);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_MAKEFILE_H_
