#include "tools/driver/body_error.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

constexpr char kCap[] =
    "#include \"runtime/custom/view.h\"\n"
    "// cap: x up to a limit, as recap(x) does.\n"
    "inline void cap(View<const float> x, float limit, View<float> y) {\n"
    "\ty[0] = limitt * x[0];\n"
    "}\n"
    "int helper(int);\n";

constexpr char kProgram[] =
    "void Forward() {\n"
    "  ::cap({x, Region{{8, 3}}},\n"
    "        2.0f, {y, Region{{8, 3}}});\n"
    "  Relu(y);\n"
    "}\n";

// What the user reads of a log.
std::string Said(const std::string& log) {
  SourceSet sources;
  const std::optional<Diagnostic> error = BodyError(
      {.log = log, .program = kProgram, .bodies = {{"custom/cap.h", {.source = "models/cap.h", .text = kCap}}}},
      sources);
  return error.has_value() ? RenderText(*error, sources) : "";
}

// Whether the log is about this line of the body, and says this.
void ExpectAt(int line, const std::string& what, const std::string& log) {
  const std::string said = Said(log);
  EXPECT_NE(said.find(absl::StrCat("--> models/cap.h:", line, ":")), std::string::npos) << log << said;
  EXPECT_NE(said.find(absl::StrCat("^ ", what, "\n")), std::string::npos) << log << said;
}

TEST(BodyErrorTest, AnErrorInABodyIsShownInTheFileOfTheUser) {
  EXPECT_EQ(Said("mpicxx -O3 -I. -c -o build/mpi/program.o program.cc\n"
                 "custom/cap.h: In function 'void cap(View<const float>)':\n"
                 "custom/cap.h:4:16: error: 'limitt' was not declared in this scope; did you mean 'limit'?\n"
                 "    4 |         y[0] = limitt * x[0];\n"
                 "      |                ^~~~~~\n"
                 "make: *** [Makefile:95: build/mpi/program.o] Error 1\n"),
            "error[E0522]: `models/cap.h` does not compile\n"
            "  --> models/cap.h:4:2\n"
            "   |\n"
            " 4 |     y[0] = limitt * x[0];\n"
            "   |     ^^^^^^^^^^^^^^^^^^^^^ 'limitt' was not declared in this scope; did you mean 'limit'?\n");
}

TEST(BodyErrorTest, FormsOfAnError) {
  ExpectAt(1, "more.h: No such file or directory",
           "custom/cap.h:1:10: fatal error: more.h: No such file or directory\n");
  ExpectAt(3, "identifier \"Vew\" is undefined", "custom/cap.h(3): error: identifier \"Vew\" is undefined\n");
  ExpectAt(3, "what", "./custom/cap.h(3): error #20-D: what\n");
  ExpectAt(7, "what", "custom/cap.h:7: error: what\n");  // Behind the last newline.
}

TEST(BodyErrorTest, WhatIsSaidAboutALineOfTheBody) {
  ExpectAt(3, "too few arguments to function 'void cap()'",
           "program.cc:95:8: error: too few arguments to function 'void cap()'\n"
           "custom/cap.h:3:13: note: declared here\n");
  ExpectAt(1, "#error C++20 is needed",
           "In file included from custom/cap.h:1,\n                 from program.cc:7:\n"
           "/usr/include/c++/12/span:5:2: error: #error C++20 is needed\n");
  ExpectAt(4, "no such thing",
           "runtime/custom/view.h: In instantiation of 'struct View<int [2]>':\n"
           "custom/cap.h:4:10:   required from here\n"
           "runtime/custom/view.h:24:3: error: no such thing\n");
}

TEST(BodyErrorTest, ACallMayBeTheOnlyHint) {
  for (const char* line : {"2", "3"}) {
    ExpectAt(3, "could not convert '2.0e+0f' from 'float'",
             absl::StrCat("program.cc:", line, ":14: error: could not convert '2.0e+0f' from 'float'\n"));
  }
  EXPECT_EQ(Said("program.cc:4:14: error: could not convert '2.0e+0f' from 'float'\n"), "");
  EXPECT_EQ(Said("program.cc:95:8: error: could not convert '2.0e+0f' from 'float'\n"), "");
}

TEST(BodyErrorTest, AFunctionThatTheLinkerDoesNotFind) {
  ExpectAt(6, "undefined reference to `helper(int)'",
           "/usr/bin/ld: build/local/program.o: in function `cap(View<float const>)':\n"
           "program.cc:(.text+0x1): undefined reference to `helper(int)'\n"
           "collect2: error: ld returned 1 exit status\n");
  EXPECT_EQ(Said("program.cc:(.text+0x1): undefined reference to `cleave::runtime::Relu(int)'\n"), "");
}

TEST(BodyErrorTest, ErrorsOfTheProgramAreNotTheUsers) {
  EXPECT_EQ(Said(""), "");
  EXPECT_EQ(Said("runtime/train/train.cc:5:1: error: what\n"), "");
  EXPECT_EQ(Said("g++: fatal error: Killed signal terminated program cc1plus\n"), "");
  EXPECT_EQ(Said("In file included from custom/cap.h:1,\n                 from program.cc:7:\n"
                 "runtime/custom/view.h:24:3: warning: unused\n"
                 "custom/cap.h:4:16: note: here\n"
                 "runtime/train/train.cc:5:1: error: what\n"
                 "a.h:1:1: warning: unused\n"
                 "custom/cap.h:4:16: note: here\n"),
            "");
}

TEST(BodyErrorTest, TheFirstErrorDecides) {
  const std::string ours = "runtime/custom/view.h:5:2: error: what\n";
  const std::string theirs = "custom/cap.h:3:17: error: 'View' was not declared in this scope\n";
  EXPECT_EQ(Said(ours + theirs), "");
  ExpectAt(3, "'View' was not declared in this scope", theirs + ours);
}

TEST(BodyErrorTest, ABraceThatIsNeverClosedComesLast) {
  ExpectAt(3, "expected '}' at end of input",
           "runtime/error/error.h:5:2: error: 'namespace' definition is not allowed here\n"
           "custom/cap.h:3:17: error: what\n"
           "program.cc:100:1: error: expected '}' at end of input\n"
           "custom/cap.h:3:66: note: to match this '{'\n");
}

}  // namespace
}  // namespace cleave::tools
