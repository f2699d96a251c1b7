#include "runtime/npy/npy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// A file as NumPy writes it: the header ends with a newline and is padded so that values begin at a multiple of 64.
std::string WithHeader(const std::string& dictionary, const std::string& data, int version = 1) {
  const size_t preamble = version == 1 ? 10 : 12;
  std::string header = dictionary;
  while ((preamble + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (size_t i = 0; i < (version == 1 ? 2u : 4u); ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> Counted(int count) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<T>(i) / 2);
  return values;
}

std::string Dictionary(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

class NpyTest : public testing::Test {
 protected:
  NpyTest()
      : path_(testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".npy") {}

  void Write(const std::string& bytes) const {
    std::FILE* out = std::fopen(path_.c_str(), "wb");
    ASSERT_NE(out, nullptr);
    std::fwrite(bytes.data(), 1, bytes.size(), out);
    std::fclose(out);
  }

  std::string Shortened(std::string text) const {
    for (size_t at = text.find(path_); at != std::string::npos; at = text.find(path_))
      text.replace(at, path_.size(), "F");
    return text;
  }

  std::string MessageOf(const std::optional<Error>& error) const {
    if (!error.has_value()) return "no error";
    EXPECT_EQ(error->code, ExitCode::kInput);
    return Shortened(error->message);
  }

  // The message of the error that opening a file with these bytes gives.
  std::string Mistake(const std::string& bytes) const {
    Write(bytes);
    const Result<NpyFile> file = NpyFile::Open(path_);
    return file.ok() ? "no error" : MessageOf(file.error());
  }

  NpyFile Opened(const std::string& bytes) const {
    Write(bytes);
    Result<NpyFile> file = NpyFile::Open(path_);
    if (!file.ok()) std::fprintf(stderr, "%s\n", file.error().message.c_str());
    return std::move(file.value());
  }

  const std::string path_;
};

template <typename T>
std::vector<T> Read(const NpyFile& file, const Region& region) {
  std::vector<T> values(static_cast<size_t>(ElementCount(region.size)), T{-1});
  const std::optional<Error> error = file.Read(region, values.data());
  EXPECT_FALSE(error.has_value()) << error->message;
  return values;
}

TEST_F(NpyTest, ReadsPiecesInEveryVersionOfTheFormat) {
  for (const int version : {1, 2, 3}) {
    const NpyFile file = Opened(WithHeader(Dictionary("<f4", "(4, 6)"), Bytes(Counted<float>(24)), version));
    EXPECT_EQ(file.TypeText(), "float32[4, 6]");
    EXPECT_EQ(Read<float>(file, WholeRegion({4, 6})), Counted<float>(24));
    EXPECT_EQ(Read<float>(file, {{4, 6}, {1, 4}, {2, 2}}), (std::vector<float>{5, 5.5f, 8, 8.5f}));
    EXPECT_EQ(Read<float>(file, {{4, 6}, {4, 0}, {0, 6}}), std::vector<float>());
  }
}

TEST_F(NpyTest, ReadsScalarsVectorsAndEmptyArrays) {
  EXPECT_EQ(Read<float>(Opened(WithHeader(Dictionary("<f4", "()"), Bytes<float>({7}))), WholeRegion({})),
            std::vector<float>{7});
  const NpyFile vector = Opened(WithHeader(Dictionary("<i4", "(3,)"), Bytes<int32_t>({1, -2, 3})));
  EXPECT_EQ(vector.TypeText(), "int32[3]");
  EXPECT_EQ(Read<int32_t>(vector, {{3}, {1}, {2}}), (std::vector<int32_t>{-2, 3}));
  EXPECT_EQ(Opened(WithHeader(Dictionary("<f4", "(0, 5)"), "")).TypeText(), "float32[0, 5]");
}

TEST_F(NpyTest, ConvertsWideTypesBeyondOneChunk) {
  const int count = 20000;
  const NpyFile doubles = Opened(WithHeader(Dictionary("<f8", "(20000,)"), Bytes(Counted<double>(count))));
  EXPECT_EQ(Read<float>(doubles, WholeRegion({count})), Counted<float>(count));
  EXPECT_EQ(Read<float>(doubles, {{count}, {9001}, {2}}), (std::vector<float>{4500.5f, 4501}));
  const NpyFile longs = Opened(WithHeader(Dictionary("<i8", "(2,)"), Bytes<int64_t>({INT32_MIN, INT32_MAX})));
  EXPECT_EQ(Read<int32_t>(longs, WholeRegion({2})), (std::vector<int32_t>{INT32_MIN, INT32_MAX}));
}

TEST_F(NpyTest, ReadsEveryTypeOfIntegers) {
  const auto read = [&](const char* type, const std::string& bytes, int count) {
    const std::string shape = "(" + std::to_string(count) + ",)";
    const NpyFile file = Opened(WithHeader(Dictionary(type, shape), bytes));
    EXPECT_FALSE(file.is_float());
    EXPECT_EQ(MessageOf(file.CheckValues(0)), "no error");
    return Read<int32_t>(file, WholeRegion({count}));
  };
  using Values = std::vector<int32_t>;
  EXPECT_EQ(read("|b1", Bytes<uint8_t>({0, 1, 1}), 3), (Values{0, 1, 1}));
  EXPECT_EQ(read("|i1", Bytes<int8_t>({-128, 127}), 2), (Values{-128, 127}));
  EXPECT_EQ(read("|u1", Bytes<uint8_t>({0, 255}), 2), (Values{0, 255}));
  EXPECT_EQ(read("<i2", Bytes<int16_t>({-32768, 32767}), 2), (Values{-32768, 32767}));
  EXPECT_EQ(read("<u2", Bytes<uint16_t>({1, 65535}), 2), (Values{1, 65535}));
  EXPECT_EQ(read("<u4", Bytes<uint32_t>({1, INT32_MAX}), 2), (Values{1, INT32_MAX}));
}

TEST_F(NpyTest, ReadsHalves) {
  // 1, -2, the largest, the smallest, and an infinity.
  const NpyFile halves =
      Opened(WithHeader(Dictionary("<f2", "(5,)"), Bytes<uint16_t>({0x3C00, 0xC000, 0x7BFF, 0x0001, 0x7C00})));
  EXPECT_EQ(halves.TypeText(), "float16[5]");
  EXPECT_EQ(MessageOf(halves.CheckValues(0)), "no error");
  EXPECT_EQ(Read<float>(halves, WholeRegion({5})),
            (std::vector<float>{1, -2, 65504, 0x1p-24f, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(Read<float>(halves, {{5}, {1}, {2}}), (std::vector<float>{-2, 65504}));
}

TEST_F(NpyTest, KeysComeInAnyOrderAndQuotes) {
  const std::string header = "{\"shape\":(2,),'fortran_order':True , 'descr':'<f4'}";
  EXPECT_EQ(Opened(WithHeader(header, Bytes<float>({1, 2}))).TypeText(), "float32[2]");
}

TEST_F(NpyTest, ValuesThatDoNotFit) {
  const double large = 1e39, infinite = std::numeric_limits<double>::infinity();
  const NpyFile doubles = Opened(WithHeader(Dictionary("<f8", "(3,)"), Bytes<double>({infinite, NAN, large})));
  EXPECT_EQ(MessageOf(doubles.CheckValues(0)),
            "value 9.9999999999999994e+38 at index 2 of `F` is out of range for f32");
  const NpyFile longs = Opened(WithHeader(Dictionary("<i8", "(2,)"), Bytes<int64_t>({5, int64_t{1} << 31})));
  EXPECT_EQ(MessageOf(longs.CheckValues(0)), "value 2147483648 at index 1 of `F` is out of range for i32");
  int32_t value = 0;
  EXPECT_EQ(MessageOf(longs.ReadRun(0, 1, &value)), "no error");
  EXPECT_EQ(MessageOf(longs.ReadRun(1, 1, &value)), "value 2147483648 at index 1 of `F` is out of range for i32");
  const NpyFile words = Opened(WithHeader(Dictionary("<u4", "(2,)"), Bytes<uint32_t>({5, 4294967295})));
  EXPECT_EQ(MessageOf(words.CheckValues(0)), "value 4294967295 at index 1 of `F` is out of range for i32");
  const NpyFile bools = Opened(WithHeader(Dictionary("|b1", "(3,)"), Bytes<uint8_t>({0, 1, 2})));
  EXPECT_EQ(MessageOf(bools.CheckValues(0)), "value 2 at index 2 of `F` is out of range for bool");
  const NpyFile bytes = Opened(WithHeader(Dictionary("|u1", "(2,)"), Bytes<uint8_t>({3, 10})));
  EXPECT_EQ(MessageOf(bytes.CheckValues(10)), "value 10 at index 1 of `F` is out of range: the model has 10 classes");
  const NpyFile labels = Opened(WithHeader(Dictionary("<i4", "(3,)"), Bytes<int32_t>({9, 0, 10})));
  EXPECT_EQ(MessageOf(labels.CheckValues(0)), "no error");
  EXPECT_EQ(MessageOf(labels.CheckValues(11)), "no error");
  EXPECT_EQ(MessageOf(labels.CheckValues(10)), "value 10 at index 2 of `F` is out of range: the model has 10 classes");
  EXPECT_EQ(MessageOf(labels.CheckValues(10, 10)), "no error");
  EXPECT_EQ(MessageOf(labels.CheckValues(9, 10)), "value 9 at index 0 of `F` is out of range: the model has 9 classes");
}

TEST_F(NpyTest, FitsNamesBoth) {
  const NpyFile file = Opened(WithHeader(Dictionary("<f8", "(2, 1)"), Bytes<double>({1, 2})));
  EXPECT_EQ(MessageOf(file.CheckFits("parameter `w`", true, {2, 1})), "no error");
  EXPECT_EQ(MessageOf(file.CheckFits("parameter `w`", true, {1, 2})),
            "`F` holds float64[2, 1], and parameter `w` is f32[1, 2]");
  EXPECT_EQ(MessageOf(file.CheckFits("input `t`", false, {2, 1})),
            "`F` holds float64[2, 1], and input `t` is i32[2, 1]");
}

TEST_F(NpyTest, SamplesFitBatches) {
  const NpyFile file = Opened(WithHeader(Dictionary("<f4", "(3, 2)"), Bytes(Counted<float>(6))));
  EXPECT_EQ(MessageOf(file.CheckFitsBatches("input `x`", true, {8, 2})), "no error");
  const std::string expected = ": all dimensions but the first, of the samples, must be equal";
  EXPECT_EQ(MessageOf(file.CheckFitsBatches("input `x`", true, {8, 5})),
            "`F` holds float32[3, 2], and input `x` is f32[8, 5]" + expected);
  EXPECT_EQ(MessageOf(file.CheckFitsBatches("input `x`", true, {3})),
            "`F` holds float32[3, 2], and input `x` is f32[3]" + expected);
}

TEST_F(NpyTest, MissingFileAndFolder) {
  const Result<NpyFile> missing = NpyFile::Open(path_ + ".none");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(MessageOf(missing.error()), "cannot read `F.none`: No such file or directory");
  mkdir((path_ + ".folder").c_str(), 0777);
  const Result<NpyFile> folder = NpyFile::Open(path_ + ".folder");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(MessageOf(folder.error()), "cannot read `F.folder`: it is a directory, not a file");
}

TEST_F(NpyTest, WrongMagicOrVersion) {
  EXPECT_EQ(Mistake("PK\x03\x04 a zip archive"),
            "`F` is not a .npy file: it begins with 0x504b03042061, expected 0x934e554d5059");
  EXPECT_EQ(Mistake("x"), "`F` is not a .npy file: it begins with 0x78, expected 0x934e554d5059");
  EXPECT_EQ(Mistake(WithHeader(Dictionary("<f4", "()"), "abcd", 4)),
            "`F` has version 4.0 of the .npy format; 1.0, 2.0 and 3.0 can be read");
}

TEST_F(NpyTest, TruncatedOrTooLong) {
  const std::string whole = WithHeader(Dictionary("<f4", "(2, 3)"), Bytes(Counted<float>(6)));
  EXPECT_EQ(Mistake(whole), "no error");
  EXPECT_EQ(Mistake(whole.substr(0, whole.size() - 1)),
            "`F` is truncated: its header says 2x3 of float32, 24 bytes, and 23 follow it");
  EXPECT_EQ(Mistake(whole + "!!"), "`F` is too long: its header says 2x3 of float32, 24 bytes, and 26 follow it");
  EXPECT_EQ(Mistake(whole.substr(0, 100)), "`F` is truncated: its header ends at byte 128, the file at 100");
  EXPECT_EQ(Mistake(whole.substr(0, 9)),
            "`F` is truncated: 10 bytes stand before the header of a .npy file, this has 9");
  EXPECT_EQ(Mistake(""), "`F` is truncated: 10 bytes stand before the header of a .npy file, this has 0");
  EXPECT_EQ(Mistake(WithHeader(Dictionary("<f8", "(1,)"), "").substr(0, 11)),
            "`F` is truncated: its header ends at byte 128, the file at 11");
}

TEST_F(NpyTest, HeadersThatCannotBeRead) {
  const auto refused = [&](const std::string& header) { return Mistake(WithHeader(header, "")); };
  EXPECT_EQ(refused("no dictionary"),
            "the header of `F` is no dictionary of descr, fortran_order and shape of an array: `no dictionary`");
  for (const char* header :
       {"{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} more", "{'descr': '<f4"}) {
    EXPECT_EQ(refused(header).substr(0, 40), "the header of `F` is no dictionary of de") << header;
  }
  EXPECT_EQ(refused(Dictionary("<f4", "(4294967296, 4294967296)")),
            "`F` has an impossible shape in its header: 4294967296x4294967296");
}

TEST_F(NpyTest, TypesAndOrdersThatCannotBeRead) {
  EXPECT_EQ(Mistake(WithHeader(Dictionary(">f4", "()"), "abcd")),
            "`F` holds values of type `>f4`; `<f2`, `<f4`, `<f8`, `|b1`, `|i1`, `|u1`, `<i2`, `<u2`, `<i4`, `<u4` and "
            "`<i8` can be read");
  EXPECT_EQ(Mistake(WithHeader("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "abcd")),
            "`F` is in Fortran order, and only C order can be read: save numpy.ascontiguousarray(x)");
}

TEST_F(NpyTest, ParametersKnowTheirName) {
  Write(WithHeader(Dictionary("<f4", "(2, 3)"), Bytes(Counted<float>(6))));
  const ParameterFile file = FromNpy("w0", path_);
  std::vector<float> values(2);
  EXPECT_EQ(MessageOf(file.read(file, {{2, 3}, {0, 2}, {2, 1}}, values.data())), "no error");
  EXPECT_EQ(values, (std::vector<float>{1, 2.5f}));
  EXPECT_EQ(MessageOf(file.read(file, WholeRegion({3, 2}), values.data())),
            "`F` holds float32[2, 3], and parameter `w0` is f32[3, 2]");
}

}  // namespace
}  // namespace cleave::runtime
