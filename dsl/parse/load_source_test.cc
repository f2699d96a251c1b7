#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "dsl/parse/parse.h"

namespace cleave::dsl {
namespace {

std::string Folder() {
  const std::string folder = absl::StrCat(testing::TempDir(), "load_source/");
  std::filesystem::create_directories(folder);
  return folder;
}

std::string WriteFile(const std::string& name, const std::string& bytes) {
  const std::string path = Folder() + name;
  std::filesystem::remove_all(path);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// The error for `path`, as a user reads it, without the folder of the test.
std::string ErrorFor(const std::string& path) {
  SourceSet sources;
  Diagnostics diagnostics;
  EXPECT_FALSE(LoadSource(path, sources, diagnostics).has_value());
  return absl::StrReplaceAll(RenderText(diagnostics, sources), {{Folder(), ""}});
}

TEST(LoadSourceTest, ReadsText) {
  SourceSet sources;
  Diagnostics diagnostics;
  const auto file = LoadSource(WriteFile("good.model", "\xef\xbb\xbf// ü\r\n"), sources, diagnostics);
  ASSERT_TRUE(file);
  EXPECT_EQ(sources.file(*file).text(), "// ü\n");
  EXPECT_FALSE(diagnostics.has_errors());
}

TEST(LoadSourceTest, EmptyFileIsText) {
  SourceSet sources;
  Diagnostics diagnostics;
  EXPECT_TRUE(LoadSource(WriteFile("empty.model", ""), sources, diagnostics));
}

TEST(LoadSourceTest, MissingFile) {
  WriteFile("mnist_mlp.model", "");
  EXPECT_EQ(ErrorFor(Folder() + "mnist_mpl.model"),
            "error[E0114]: cannot read `mnist_mpl.model`: no such file or directory\n"
            "help: did you mean `mnist_mlp.model`?\n");
  EXPECT_EQ(ErrorFor(Folder() + "nothing/like/it.model"),
            "error[E0114]: cannot read `nothing/like/it.model`: no such file or directory\n");
}

TEST(LoadSourceTest, UnreadableFile) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads every file";
  const std::string path = WriteFile("secret.model", "model M {}");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_EQ(ErrorFor(path), "error[E0114]: cannot read `secret.model`: permission denied\n");
}

TEST(LoadSourceTest, Directory) {
  std::filesystem::create_directories(Folder() + "folder.model");
  EXPECT_EQ(ErrorFor(Folder() + "folder.model"), "error[E0114]: `folder.model` is a directory, not a model file\n");
}

TEST(LoadSourceTest, PipeIsNotWaitedFor) {
  const std::string path = Folder() + "pipe.model";
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ErrorFor(path), "error[E0114]: `pipe.model` is a pipe, not a model file\n");
}

TEST(LoadSourceTest, Device) {
  EXPECT_EQ(ErrorFor("/dev/null"), "error[E0114]: `/dev/null` is a device, not a model file\n");
}

TEST(LoadSourceTest, BinaryFiles) {
  const std::string elf(
      "\x7f"
      "ELF\x02\x01\x01\0",
      8);
  EXPECT_EQ(ErrorFor(WriteFile("program.model", elf)),
            "error[E0114]: `program.model` looks like a compiled program or library, not a model file\n");
  EXPECT_EQ(ErrorFor(WriteFile("data.model", "\x1f\x8b\x08")),
            "error[E0114]: `data.model` looks like a gzip file, not a model file\n");
  const std::string utf16(
      "\xff\xfe"
      "m\0o\0",
      6);
  EXPECT_EQ(ErrorFor(WriteFile("wide.model", utf16)),
            "error[E0114]: `wide.model` looks like UTF-16 text, not a model file\n");
}

TEST(LoadSourceTest, ControlCharactersOfAPathAreEscaped) {
  EXPECT_EQ(ErrorFor(Folder() + "a\x1b[31m"), "error[E0114]: cannot read `a\\x1b[31m`: no such file or directory\n");
}

TEST(LoadSourceTest, InvalidUtf8) {
  EXPECT_EQ(ErrorFor(WriteFile("latin1.model", "\xef\xbb\xbfmodel M {\r\n    let s = \"gr\xfc\xdf\";\r\n}\n")),
            "error[E0111]: the file is not valid UTF-8: byte 0xfc at offset 29\n"
            "  --> latin1.model:2:16\n"
            "   |\n"
            " 2 |     let s = \"gr??\";\n"
            "   |                ^ this byte\n"
            "   |\n"
            "help: save the file as UTF-8\n");
}

TEST(LoadSourceTest, NulByte) {
  EXPECT_EQ(ErrorFor(WriteFile("nul.model", std::string("model\0M {}", 10))),
            "error[E0112]: the file has a NUL byte at offset 5\n"
            "  --> nul.model:1:6\n"
            "   |\n"
            " 1 | model?M {}\n"
            "   |      ^ this byte\n"
            "   |\n"
            "note: a model file is text; this one may be a binary file or UTF-16\n"
            "help: save the file as UTF-8\n");
}

TEST(LoadSourceTest, CharactersThatChangeTheDirectionOfText) {
  EXPECT_EQ(ErrorFor(WriteFile("trojan.model", "model M {\r\n    // \u202e} x\n}\n")),
            "error[E0103]: the character U+202E changes the direction of the text behind it\n"
            "  --> trojan.model:2:8\n"
            "   |\n"
            " 2 |     // ???} x\n"
            "   |        ^^^ this character\n"
            "   |\n"
            "note: the file would not be what it looks like\n"
            "help: remove it\n");
}

TEST(LoadSourceTest, SizeLimit) {
  SourceSet sources;
  Diagnostics diagnostics;
  const std::string path = WriteFile("large.model", std::string(kMaxSourceBytes, '\n'));
  EXPECT_TRUE(LoadSource(path, sources, diagnostics));
  std::ofstream(path, std::ios::app) << "\n";
  EXPECT_EQ(ErrorFor(path),
            "error[E0113]: `large.model` has 16,777,217 bytes; a model file has at most 16,777,216\n"
            "help: write repeated parts as a function and a `for` loop\n");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cleave::dsl
