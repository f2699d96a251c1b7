// Tests that the Makefile builds small trees of sources: objects that folders share, and programs that are complete or
// not there.
#include "codegen/cpu/makefile.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/fixtures/workspace.h"
#include "codegen/runtime_files/runtime_files.h"
#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

namespace fs = std::filesystem;

// A folder for trees, and a cache of their own.
class CpuMakefileTest : public testing::Test {
 protected:
  CpuMakefileTest()
      : folder_(FreshFolder(testing::UnitTest::GetInstance()->current_test_info()->name())),
        kept_(folder_ + "/cache/cleave/runtime") {}

  // A program that prints `number` and 1. It includes runtime/one/one.h; runtime/two includes that and is linked too.
  std::string Tree(const std::string& name, int number) {
    const std::string tree = absl::StrCat(folder_, "/", name);
    WriteText(tree + "/Makefile", CpuMakefile({.folders = {"runtime/one", "runtime/two"}}));
    WriteText(tree + "/program.cc", absl::StrCat("#include <cstdio>\n#include \"runtime/one/one.h\"\n"
                                                 "int main() { std::printf(\"%d\", ",
                                                 number, " + One()); }\n"));
    WriteText(tree + "/runtime/one/one.h", "int One();\n");
    WriteText(tree + "/runtime/one/one.cc", "#include \"one.h\"\nint One() { return 1; }\n");
    WriteText(tree + "/runtime/two/two.h", "#include \"runtime/one/one.h\"\n");
    WriteText(tree + "/runtime/two/two.cc", "#include \"runtime/two/two.h\"\nint Two() { return One() + One(); }\n");
    WriteText(tree + "/runtime/starter/starter.cc", "int main() {}\n");
    for (const RuntimeFile& file : RuntimeFiles()) {
      if (absl::EndsWith(file.path, ".sh")) WriteText(absl::StrCat(tree, "/", file.path), std::string(file.text));
    }
    return tree;
  }

  // `make` in a tree, after `before` and with `arguments`.
  CommandOutput Make(const std::string& tree, const std::string& arguments = "", const std::string& before = "") {
    return RunShell(tree, absl::StrCat("export XDG_CACHE_HOME='", folder_, "/cache'; ", before,
                                       " make COMM=local LDLIBS= ", arguments));
  }

  // What `make` says that succeeds, and whose program prints `number`.
  std::string Build(const std::string& tree, int number, const std::string& arguments = "",
                    const std::string& before = "") {
    const CommandOutput built = Make(tree, arguments, before);
    EXPECT_EQ(built.exit_code, 0) << built.text;
    EXPECT_EQ(RunShell(tree, "./program_local").text, absl::StrCat(number));
    return built.text;
  }

  // The objects in the cache: there must be nothing else.
  std::vector<std::string> Kept() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(kept_)) {
      names.push_back(entry.path().filename());
      EXPECT_TRUE(absl::EndsWith(names.back(), ".o")) << names.back();
    }
    return names;
  }

  // A compiler that does something of its own where a command holds `part`.
  static void WriteCompiler(const std::string& tree, const std::string& part, const std::string& commands) {
    WriteText(tree + "/compiler",
              absl::StrCat("#!/bin/sh\ncase \"$*\" in *'", part, "'*) ", commands, " ;; esac\nexec g++ \"$@\"\n"),
              /*executable=*/true);
  }

  const std::string folder_;
  const std::string kept_;
};

bool Compiles(const std::string& said, const std::string& unit) {
  return absl::StrContains(said, absl::StrCat(" -c -o build/", unit, "."));
}

TEST_F(CpuMakefileTest, TheRuntimeIsCompiledOnceForAllFolders) {
  const std::string first = Build(Tree("a", 1), 2), second = Build(Tree("b", 2), 3);
  EXPECT_EQ(Kept().size(), 3u);
  EXPECT_TRUE(Compiles(first, "runtime/one.cc") && Compiles(first, "runtime/two.cc")) << first;
  EXPECT_TRUE(Compiles(second, "program.cc")) << second;
  EXPECT_FALSE(absl::StrContains(second, " -c -o build/runtime")) << second;
  EXPECT_FALSE(absl::StrContains(Build(folder_ + "/b", 3), "g++"));
}

TEST_F(CpuMakefileTest, NeitherTheCacheNorTheFolderIsNeeded) {
  Build(Tree("a", 1), 2);
  fs::rename(folder_ + "/a", folder_ + "/b");
  const std::string tree = folder_ + "/b";
  for (const std::string without : {"CLEAVE_CACHE=off", "XDG_CACHE_HOME=/proc/nowhere", "XDG_CACHE_HOME= HOME="}) {
    SCOPED_TRACE(without);
    RunShell(tree, "make clean");
    EXPECT_TRUE(Compiles(Build(tree, 2, "", without), "runtime/one.cc"));
    EXPECT_EQ(Kept().size(), 3u);
  }
  // What was kept may go at any time, and a cache may be broken.
  fs::remove_all(folder_ + "/cache");
  EXPECT_FALSE(absl::StrContains(Build(tree, 2), " -c -o"));
  RunShell(tree, "make clean");
  WriteText(folder_ + "/cache/cleave/runtime", "not a folder");
  EXPECT_TRUE(Compiles(Build(tree, 2), "runtime/one.cc"));
}

TEST_F(CpuMakefileTest, AnObjectIsOfItsTextFlagsAndCompiler) {
  const std::string tree = Tree("a", 1);
  Build(tree, 2);
  // What a header changes: those that include it, also through another.
  WriteText(tree + "/runtime/two/two.h", "#include \"runtime/one/one.h\"\n// Text.\n");
  std::string said = Build(tree, 2);
  EXPECT_TRUE(Compiles(said, "runtime/two.cc") && !Compiles(said, "runtime/one.cc")) << said;
  WriteText(tree + "/runtime/one/one.h", "int One();\n// Text.\n");
  said = Build(tree, 2);
  EXPECT_TRUE(Compiles(said, "runtime/one.cc") && Compiles(said, "runtime/two.cc") && Compiles(said, "program.cc"));
  said = Build(tree, 2, "COLDFLAGS=-O2");
  EXPECT_TRUE(Compiles(said, "runtime/one.cc") && !Compiles(said, "program.cc")) << said;
  EXPECT_TRUE(Compiles(Build(tree, 2, "CXXFLAGS=-O2"), "program.cc"));
  EXPECT_FALSE(absl::StrContains(Build(tree, 2, "CXXFLAGS=-O2"), " -c -o"));
  // What the compiler says of itself and of the processor.
  WriteCompiler(tree, " -### ", "echo version 13 >&2");
  EXPECT_TRUE(Compiles(Build(tree, 2, "CXX=./compiler"), "runtime/one.cc"));
  WriteCompiler(tree, " -### ", "echo version 14 >&2");
  EXPECT_TRUE(Compiles(Build(tree, 2, "CXX=./compiler"), "runtime/one.cc"));
  EXPECT_FALSE(absl::StrContains(Build(tree, 2, "CXX=./compiler"), " -c -o"));
}

// Clang says in which folder it is called.
TEST_F(CpuMakefileTest, FoldersShareWhatClangCompiles) {
  Build(Tree("a", 1), 2, "CXX=clang++");
  EXPECT_FALSE(absl::StrContains(Build(Tree("b", 2), 3, "CXX=clang++"), " -c -o build/runtime"));
}

// A compiler that does not explain itself still says its version.
TEST_F(CpuMakefileTest, AnObjectIsOfTheVersionOfItsCompiler) {
  const std::string tree = Tree("a", 1);
  const auto write_version = [&](const std::string& version) {
    WriteText(tree + "/compiler",
              absl::StrCat("#!/bin/sh\ncase \"$*\" in *'-###'*) exit 1 ;; *--version*) echo ", version,
                           "; exit ;; esac\nexec g++ \"$@\"\n"),
              /*executable=*/true);
  };
  write_version("13");
  Build(tree, 2, "CXX=./compiler");
  EXPECT_FALSE(absl::StrContains(Build(tree, 2, "CXX=./compiler"), " -c -o"));
  write_version("14");
  EXPECT_TRUE(Compiles(Build(tree, 2, "CXX=./compiler"), "runtime/one.cc"));
}

TEST_F(CpuMakefileTest, FlagsMayHaveQuotes) {
  const std::string tree = Tree("a", 1);
  WriteText(tree + "/runtime/one/one.cc", "#include \"one.h\"\nint One() { return sizeof(TEXT) - 1; }\n");
  const auto flags = [](const std::string& text) {
    return absl::StrCat("CXXFLAGS=\"-O1 -DTEXT='\\\"", text, "\\\"'\"");
  };
  EXPECT_TRUE(Compiles(Build(tree, 4, flags("a b")), "runtime/one.cc"));
  EXPECT_FALSE(absl::StrContains(Build(tree, 4, flags("a b")), " -c -o"));
  Tree("b", 1);
  WriteText(folder_ + "/b/runtime/one/one.cc", ReadText(tree + "/runtime/one/one.cc"));
  EXPECT_FALSE(Compiles(Build(folder_ + "/b", 4, flags("a b")), "runtime/one.cc"));
  EXPECT_TRUE(Compiles(Build(folder_ + "/b", 3, flags("ab")), "runtime/one.cc"));
}

// The cache is removed after `make` has read what it holds.
TEST_F(CpuMakefileTest, WhatTheCacheLosesIsMadeAgain) {
  const std::string tree = Tree("a", 1);
  WriteCompiler(tree, "no such word", "");
  Build(tree, 2, "CXX=./compiler");
  Tree("b", 2);
  WriteCompiler(folder_ + "/b", "-c -o build/program.cc", absl::StrCat("rm -r ", kept_));
  Build(folder_ + "/b", 3, "CXX=./compiler -j1");
}

// The header of a library that is replaced by another version.
TEST_F(CpuMakefileTest, AnObjectIsOfTheLibrariesThatItIncludes) {
  const std::string tree = Tree("a", 1);
  WriteText(tree + "/runtime/one/one.cc", "#include <lib.h>\nint One() { return VERSION; }\n");
  WriteText(tree + "/lib/lib.h", "#include <version.h>\n");
  WriteText(tree + "/lib/version.h", "#define VERSION 1\n");
  Build(tree, 2, "INCLUDES=-Ilib");
  WriteText(tree + "/lib/version.h", "#define VERSION 2\n");
  const std::string said = Build(tree, 3, "INCLUDES=-Ilib");
  EXPECT_TRUE(Compiles(said, "runtime/one.cc") && !Compiles(said, "runtime/two.cc")) << said;
}

// Times of files do not count: the text decides, also where it is an earlier one.
TEST_F(CpuMakefileTest, AProgramIsOfItsText) {
  const std::string tree = Tree("a", 1);
  Build(tree, 2);
  Tree("a", 2);
  Build(tree, 3);
  Tree("a", 1);
  Build(tree, 2);
  Tree("a", 2);
  RunShell(tree, "touch -d 2001-01-01 program.cc Makefile");
  Build(tree, 3);
}

TEST_F(CpuMakefileTest, BuildsAtTheSameTimeShareWhatTheyMake) {
  Tree("a", 1), Tree("b", 2), Tree("c", 3);
  const std::string make = "(cd a && make COMM=local LDLIBS=) & (cd b && make COMM=local LDLIBS=) & ";
  const CommandOutput built = RunShell(
      folder_, absl::StrCat("export XDG_CACHE_HOME=$PWD/cache; ", make, "(cd c && make COMM=local LDLIBS=) & wait"));
  EXPECT_EQ(Kept().size(), 3u) << built.text;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(absl::StrContains(Build(folder_ + "/" + "abc"[i], i + 2), " -c -o"));
}

// A file that is edited while it is compiled must not be kept under the name of what it was.
TEST_F(CpuMakefileTest, WhatChangesWhileItIsCompiledIsNotKept) {
  const std::string tree = Tree("a", 1);
  WriteCompiler(tree, "-c -o build/runtime/one.cc", "echo '// Later.' >>runtime/one/one.cc");
  const CommandOutput built = Make(tree, "CXX=./compiler -k");
  EXPECT_NE(built.exit_code, 0);
  EXPECT_TRUE(absl::StrContains(built.text, "runtime/one.cc has changed while it was compiled: start make again"));
  EXPECT_EQ(Kept().size(), 2u);
  EXPECT_FALSE(fs::exists(tree + "/program_local"));
  Build(tree, 2);
}

// Files of at most one block of 512 bytes, or of none: as on a disk that is full.
TEST_F(CpuMakefileTest, AFullDiskLeavesNothingHalfWritten) {
  const std::string tree = Tree("a", 1);
  for (const std::string blocks : {"1", "4", "16"}) {
    SCOPED_TRACE(blocks);
    EXPECT_NE(Make(tree, "-k", absl::StrCat("ulimit -f ", blocks, ";")).exit_code, 0);
    EXPECT_FALSE(fs::exists(tree + "/program_local"));
  }
  Build(tree, 2);
  Build(Tree("b", 2), 3);
}

// Whatever is stopped while it writes has replaced nothing, and is done again.
TEST_F(CpuMakefileTest, WhatIsStoppedIsDoneAgain) {
  const std::string tree = Tree("a", 1);
  Build(tree, 2);
  Tree("a", 2);
  for (const std::string step : {"-c -o build/program.cc", "-o program_local"}) {
    SCOPED_TRACE(step);
    WriteCompiler(tree, step, "for word; do case $word in *.part) echo part >$word ;; esac; done; kill -9 $PPID $$");
    EXPECT_NE(Make(tree, "CXX=./compiler").exit_code, 0);
    EXPECT_EQ(RunShell(tree, "./program_local").text, "2");
  }
  Build(tree, 3);
}

TEST_F(CpuMakefileTest, WhatNoProgramUsesIsForgotten) {
  Build(Tree("a", 1), 2);
  std::vector<std::string> used = Kept();
  for (const std::string name : {"gone.cc.0123.o", "gone.cc.4567.o.8.part"})
    WriteText(absl::StrCat(kept_, "/", name), "");
  for (const fs::directory_entry& entry : fs::directory_iterator(kept_)) {
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(24 * 40));
  }
  Build(Tree("b", 2), 3);
  EXPECT_EQ(Kept(), used);
}

TEST_F(CpuMakefileTest, SaysWhatIsNotThere) {
  const std::string tree = Tree("a", 1);
  const auto said = [&](const std::string& arguments) {
    const CommandOutput output = Make(tree, arguments);
    EXPECT_NE(output.exit_code, 0) << arguments;
    return output.text;
  };
  EXPECT_TRUE(absl::StrContains(said("CXX=no_such_compiler"), "the compiler `no_such_compiler` is not there"));
  EXPECT_TRUE(absl::StrContains(said("COMM=mpi MPICXX=no_such_mpicxx"), "`no_such_mpicxx` is not there: install MPI"));
  fs::remove(tree + "/runtime/objects/objects.sh");
  EXPECT_TRUE(absl::StrContains(said(""), "the objects have no names"));
}

}  // namespace
}  // namespace cleave::codegen
