#include "runtime/safetensors/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/digest/digest.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// A length in front of a header.
std::string WithLength(uint64_t length, const std::string& header) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes + header;
}

std::string WithHeader(const std::string& header, const std::string& tensors) {
  return WithLength(header.size(), header) + tensors;
}

// The header of a file that has one tensor, `a`.
std::string OneTensor(const std::string& type, const std::string& shape, const std::string& offsets) {
  return R"({"a": {"dtype": ")" + type + R"(", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}}";
}

SafetensorsEntry Entry(const std::string& name, const std::string& type, const std::vector<int64_t>& shape) {
  return {name, type, shape, 0, SafetensorsBytes(type, shape).value()};
}

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsTest() : path_(testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name()) {}

  void Write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  // The message of the error that opening a file with these bytes gives; the file is called F.
  std::string Mistake(const std::string& bytes) const {
    Write(bytes);
    const Result<SafetensorsFile> file = SafetensorsFile::Open(path_);
    if (file.ok()) return "no error";
    EXPECT_EQ(file.error().code, ExitCode::kInput);
    std::string message = file.error().message;
    const size_t at = message.find(path_);
    return at == std::string::npos ? message + " (without the path)" : message.replace(at, path_.size(), "F");
  }

  std::string MistakeOf(const std::string& header) const { return Mistake(WithHeader(header, "")); }

  const std::string path_;
};

Result<SafetensorsFile> TestFile(const std::string& name) {
  return SafetensorsFile::Open("runtime/safetensors/testdata/" + name);
}

template <typename T>
std::vector<T> ValuesOf(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsEntry* const entry = file.Find(name);
  if (entry == nullptr) return {};
  std::vector<T> values(static_cast<size_t>(entry->bytes) / sizeof(T));
  const std::optional<Error> error = file.Read(entry->offset, entry->bytes, values.data());
  EXPECT_FALSE(error.has_value()) << error->message;
  return values;
}

TEST(SafetensorsFile, ReadsWhatTheReferenceImplementationHasWritten) {
  const Result<SafetensorsFile> opened = TestFile("several.safetensors");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const SafetensorsFile& file = opened.value();
  std::string list;
  for (const SafetensorsEntry& entry : file.entries()) {
    list += entry.name + " " + entry.type + " at " + std::to_string(entry.offset) + ", ";
  }
  EXPECT_EQ(list, "scalar F64 at 352, empty F32 at 360, w0 F32 at 360, half F16 at 384, \xc3\xa4 BOOL at 390, ");
  EXPECT_EQ(file.Find("scalar")->shape, std::vector<int64_t>());
  EXPECT_EQ(file.Find("empty")->shape, (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(file.Find("w0")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.Find("w1"), nullptr);
  EXPECT_EQ(ValuesOf<double>(file, "scalar"), std::vector<double>{1.5});
  EXPECT_EQ(ValuesOf<float>(file, "w0"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ValuesOf<uint16_t>(file, "half"), (std::vector<uint16_t>{0x3C00, 0x3800, 0xC000}));
  EXPECT_EQ(ValuesOf<uint8_t>(file, "\xc3\xa4"), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(ValuesOf<float>(file, "empty"), std::vector<float>());
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"note", "a \"quoted\" \xc3\xa4\n"}, {"step", "7"}}));
  EXPECT_EQ(*file.FindMetadata("step"), "7");
  EXPECT_EQ(file.FindMetadata("steps"), nullptr);
  EXPECT_EQ(DigestText(file.header_digest()), "4bd9162fad0c4459");
}

TEST(SafetensorsFile, ReadsBfloat16AndAFileWithoutTensors) {
  const Result<SafetensorsFile> bfloat16 = TestFile("bfloat16.safetensors");
  ASSERT_TRUE(bfloat16.ok()) << bfloat16.error().message;
  EXPECT_EQ(bfloat16.value().Find("b")->type, "BF16");
  EXPECT_EQ(ValuesOf<uint16_t>(bfloat16.value(), "b"), (std::vector<uint16_t>{0x3F80, 0x4000, 0x4040, 0xC080}));
  EXPECT_TRUE(bfloat16.value().metadata().empty());
  const Result<SafetensorsFile> none = TestFile("none.safetensors");
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_TRUE(none.value().entries().empty());
}

TEST_F(SafetensorsTest, ReadsWhatItHasWritten) {
  std::vector<SafetensorsEntry> entries = {Entry("b", "BF16", {3}), Entry("none", "F32", {4, 0}), Entry("a", "F32", {}),
                                           Entry("\"\\\n", "U8", {5, 1})};
  const SafetensorsMetadata metadata = {{"a", "ef46db3751d8e999 ef46db3751d8e999"}, {"b\"", "\x01"}};
  const std::string header = SafetensorsHeader(entries, metadata).value();
  EXPECT_EQ(header.size() % 64, 0u);
  Write(header + "112233abcd" + "vwxyz");
  const Result<SafetensorsFile> opened = SafetensorsFile::Open(path_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const SafetensorsFile& file = opened.value();
  EXPECT_EQ(file.path(), path_);
  ASSERT_EQ(file.entries().size(), entries.size());
  for (const SafetensorsEntry& written : entries) {
    const SafetensorsEntry* const read = file.Find(written.name);
    ASSERT_NE(read, nullptr) << written.name;
    EXPECT_EQ(read->type, written.type);
    EXPECT_EQ(read->shape, written.shape);
    EXPECT_EQ(read->offset, written.offset) << written.name;
    EXPECT_EQ(read->bytes, written.bytes);
  }
  EXPECT_EQ(entries[0].offset, static_cast<int64_t>(header.size()));
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(DigestText(file.header_digest()), DigestOf(header.data(), static_cast<int64_t>(header.size())));
  EXPECT_EQ(ValuesOf<char>(file, "a"), (std::vector<char>{'a', 'b', 'c', 'd'}));
  EXPECT_EQ(ValuesOf<char>(file, "\"\\\n"), (std::vector<char>{'v', 'w', 'x', 'y', 'z'}));
}

TEST_F(SafetensorsTest, EveryTypeHasItsSize) {
  const std::vector<std::pair<std::string, int64_t>> types = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8}};
  for (const auto& [type, bytes] : types) {
    EXPECT_EQ(SafetensorsBytes(type, {3, 2}), 6 * bytes) << type;
    const std::string offsets = "[0, " + std::to_string(2 * bytes) + "]";
    const std::string tensors(static_cast<size_t>(2 * bytes), 'x');
    EXPECT_EQ(Mistake(WithHeader(OneTensor(type, "[2]", offsets), tensors)), "no error");
  }
  EXPECT_FALSE(SafetensorsBytes("F31", {1}).has_value());
  EXPECT_FALSE(SafetensorsBytes("F32", {-1}).has_value());
  EXPECT_FALSE(SafetensorsBytes("F32", {int64_t{1} << 61}).has_value());
}

TEST_F(SafetensorsTest, AHeaderIsAsLongWithOtherTextsOfEqualLengths) {
  for (int length = 0; length < 70; ++length) {
    std::vector<SafetensorsEntry> entries = {Entry("w", "F32", {100})};
    const std::string first = SafetensorsHeader(entries, {{"w", std::string(length, '0')}}).value();
    const std::string second = SafetensorsHeader(entries, {{"w", std::string(length, 'f')}}).value();
    EXPECT_EQ(first.size(), second.size());
    EXPECT_EQ(first.size() % 64, 0u);
    EXPECT_EQ(entries[0].offset, static_cast<int64_t>(first.size()));
    EXPECT_EQ(Mistake(first + std::string(400, 'x')), "no error");
  }
}

TEST_F(SafetensorsTest, AHeaderThatCouldNotBeReadIsNotWritten) {
  std::vector<SafetensorsEntry> entries;
  const Result<std::string> header = SafetensorsHeader(entries, {{"a", std::string(100'000'000, 'x')}});
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.error().message,
            "the header of a safetensors file would have 100000056 bytes; at most 100000000 are read");
}

TEST_F(SafetensorsTest, ManyTensors) {
  std::vector<SafetensorsEntry> entries;
  for (int i = 0; i < 5000; ++i) entries.push_back(Entry("layer." + std::to_string(i * 7 % 5000), "U8", {1}));
  std::string bytes = SafetensorsHeader(entries, {}).value();
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i);
  Write(bytes);
  const Result<SafetensorsFile> file = SafetensorsFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(file.value().entries()[static_cast<size_t>(i)].name, entries[static_cast<size_t>(i)].name);
    EXPECT_EQ(ValuesOf<char>(file.value(), "layer." + std::to_string(i * 7 % 5000)),
              std::vector<char>{static_cast<char>(i)});
  }
}

TEST_F(SafetensorsTest, TruncatedOrTooLong) {
  const std::string whole = WithHeader(OneTensor("F32", "[2]", "[0, 8]"), "12345678");
  EXPECT_EQ(Mistake(whole), "no error");
  EXPECT_EQ(Mistake(whole.substr(0, whole.size() - 1)),
            "`F` is truncated: its header says that the tensors have 8 bytes, and 7 follow it");
  EXPECT_EQ(Mistake(whole + "!!"), "`F` is too long: its header says that the tensors have 8 bytes, and 10 follow it");
  EXPECT_EQ(Mistake(whole.substr(0, 20)), "`F` is truncated: its header has 61 bytes, and 12 follow where it begins");
  EXPECT_EQ(Mistake("1234567"), "`F` is truncated: the length of its header takes 8 bytes, and it has 7");
  EXPECT_EQ(Mistake(""), "`F` is truncated: the length of its header takes 8 bytes, and it has 0");
}

TEST_F(SafetensorsTest, OtherFiles) {
  EXPECT_EQ(Mistake("PK\x03\x04 a zip archive"),
            "`F` is not a safetensors file, or damaged: by its first bytes its header has 8800140462016121680 bytes, "
            "and at most 100000000 are read");
  EXPECT_EQ(Mistake(WithLength(UINT64_MAX, "{}")),
            "`F` is not a safetensors file, or damaged: by its first bytes its header has 18446744073709551615 bytes, "
            "and at most 100000000 are read");
  EXPECT_EQ(Mistake(WithLength(100'000'000, "{}")),
            "`F` is truncated: its header has 100000000 bytes, and 2 follow where it begins");
  const std::string other = "`F` is not a safetensors file: its header does not begin with `{`";
  EXPECT_EQ(MistakeOf(""), other);
  EXPECT_EQ(MistakeOf("[]"), other);
  EXPECT_EQ(MistakeOf(" {}"), other);
  EXPECT_EQ(MistakeOf("{}   "), "no error");
  unlink(path_.c_str());
  EXPECT_EQ(SafetensorsFile::Open(path_).error().message, "cannot read `" + path_ + "`: No such file or directory");
}

TEST_F(SafetensorsTest, HeadersThatCannotBeRead) {
  EXPECT_EQ(MistakeOf("{\"a\": }"), "the header of `F` is not valid JSON at line 1, column 7");
  EXPECT_EQ(MistakeOf("{\"a\": 1, \"a\": 2}"), "the header of `F` has the member `a` twice, at line 1, column 15");
  EXPECT_EQ(MistakeOf("{\"__metadata__\": 1}"), "the header of `F` has a `__metadata__` that is not an object");
  EXPECT_EQ(MistakeOf("{\"__metadata__\": {\"a\": \"\", \"b\": 1}}"),
            "the `__metadata__` of `F` has a `b` that is not a string");
  EXPECT_EQ(MistakeOf("{\"__metadata__\": {\"a\": \"\"}}"), "no error");
}

TEST_F(SafetensorsTest, TensorsThatCannotBeRead) {
  const std::string a = "tensor `a` of `F` ";
  EXPECT_EQ(MistakeOf("{\"a\": 1}"), a + "has no `dtype`");
  EXPECT_EQ(MistakeOf("{\"a\": {\"dtype\": 1}}"), a + "has a `dtype` that is not a string");
  EXPECT_EQ(MistakeOf("{\"a\": {\"dtype\": \"F32\"}}"), a + "has no `shape`");
  EXPECT_EQ(MistakeOf("{\"a\": {\"dtype\": \"F32\", \"shape\": []}}"), a + "has no `data_offsets`");
  EXPECT_EQ(MistakeOf(OneTensor("F4", "[2]", "[0, 1]")),
            a + "has type `F4`; BOOL, U8, I8, F8_E4M3, F8_E5M2, I16, U16, F16, BF16, I32, U32, F32, F64, I64, U64 can "
                "be read");
  EXPECT_EQ(MistakeOf(OneTensor("F32", "[1, -2]", "[0, 8]")), a + "has an impossible shape: [1, -2]");
  EXPECT_EQ(MistakeOf(OneTensor("F32", "[4611686018427387904]", "[0, 0]")),
            a + "has an impossible shape: [4611686018427387904]");
  EXPECT_EQ(MistakeOf(OneTensor("U8", "[4294967296, 4294967296]", "[0, 0]")),
            a + "has an impossible shape: [4294967296, 4294967296]");
  const std::string no_numbers = "that is not an array of whole numbers of 64 bits";
  EXPECT_EQ(MistakeOf(OneTensor("F32", "[1.5]", "[0, 8]")), a + "has a `shape` " + no_numbers);
  EXPECT_EQ(MistakeOf(OneTensor("F32", "[9223372036854775808]", "[0, 8]")), a + "has a `shape` " + no_numbers);
  EXPECT_EQ(MistakeOf(OneTensor("F32", "[2]", "[0, 18446744073709551616]")), a + "has a `data_offsets` " + no_numbers);
  EXPECT_EQ(MistakeOf(OneTensor("F32", "[2]", "[0, 8, 16]")), a + "has impossible data_offsets: [0, 8, 16]");
  EXPECT_EQ(MistakeOf(OneTensor("F32", "[2]", "[-8, 0]")), a + "has impossible data_offsets: [-8, 0]");
  EXPECT_EQ(MistakeOf(OneTensor("F32", "[2]", "[8, 0]")), a + "has impossible data_offsets: [8, 0]");
  EXPECT_EQ(MistakeOf(OneTensor("F32", "[2, 1]", "[0, 9]")),
            a + "takes 8 bytes as F32[2, 1], and its data_offsets [0, 9] have 9");
  EXPECT_EQ(MistakeOf("{\"\\u001b" + std::string(200, 'x') + "\": 1}"),
            "tensor `\\u001b" + std::string(99, 'x') + "...` of `F` has no `dtype`");
}

TEST_F(SafetensorsTest, GapsAndOverlaps) {
  const auto two = [&](const std::string& a, const std::string& b, const std::string& tensors) {
    return Mistake(WithHeader(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": )" + a +
                                  R"(}, "b": {"dtype": "U8", "shape": [4], "data_offsets": )" + b + "}}",
                              tensors));
  };
  EXPECT_EQ(two("[0, 4]", "[4, 8]", "12345678"), "no error");
  EXPECT_EQ(two("[4, 8]", "[0, 4]", "12345678"), "no error");
  EXPECT_EQ(two("[0, 4]", "[5, 9]", "123456789"), "`F` has 1 bytes before tensor `b` that belong to no tensor");
  EXPECT_EQ(two("[2, 6]", "[6, 10]", "1234567890"), "`F` has 2 bytes before tensor `a` that belong to no tensor");
  EXPECT_EQ(two("[0, 4]", "[3, 7]", "1234567"),
            "`F` has tensors that overlap: `b` begins at byte 3 of the tensors, and `a` ends at 4");
  EXPECT_EQ(two("[0, 4]", "[0, 4]", "1234"),
            "`F` has tensors that overlap: `b` begins at byte 0 of the tensors, and `a` ends at 4");
  EXPECT_EQ(two("[9223372036854775803, 9223372036854775807]", "[0, 4]", "1234"),
            "`F` has 9223372036854775799 bytes before tensor `a` that belong to no tensor");
}

// The values [first, first + count) of a tensor.
std::vector<float> FloatsOf(const SafetensorsFile& file, const std::string& name, int64_t first, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  const std::optional<Error> error = file.ReadRun(*file.Find(name), first, count, values.data());
  EXPECT_FALSE(error.has_value()) << error->message;
  return values;
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A file of one tensor, `a`.
template <typename T>
std::string FileOf(const std::string& type, const std::vector<T>& values) {
  std::vector<SafetensorsEntry> entries = {Entry("a", type, {static_cast<int64_t>(values.size())})};
  return SafetensorsHeader(entries, {}).value() + BytesOf(values);
}

TEST(SafetensorsFile, ReadsFloatsOfOtherTypes) {
  const Result<SafetensorsFile> several = TestFile("several.safetensors");
  const Result<SafetensorsFile> bfloat16 = TestFile("bfloat16.safetensors");
  ASSERT_TRUE(several.ok() && bfloat16.ok());
  EXPECT_EQ(FloatsOf(several.value(), "w0", 0, 6), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(FloatsOf(several.value(), "w0", 2, 3), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(FloatsOf(several.value(), "scalar", 0, 1), std::vector<float>{1.5});
  EXPECT_EQ(FloatsOf(several.value(), "half", 0, 3), (std::vector<float>{1, 0.5, -2}));
  EXPECT_EQ(FloatsOf(several.value(), "half", 1, 2), (std::vector<float>{0.5, -2}));
  EXPECT_EQ(FloatsOf(several.value(), "empty", 0, 0), std::vector<float>());
  EXPECT_EQ(FloatsOf(bfloat16.value(), "b", 0, 4), (std::vector<float>{1, 2, 3, -4}));
  std::vector<float> piece(2);
  EXPECT_FALSE(several.value().ReadPiece(*several.value().Find("w0"), {{2, 3}, {0, 1}, {2, 1}}, piece.data()));
  EXPECT_EQ(piece, (std::vector<float>{1, 4}));
}

TEST_F(SafetensorsTest, EveryHalfHasItsValue) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  Write(FileOf("F16", bits));
  const std::vector<float> values = FloatsOf(SafetensorsFile::Open(path_).value(), "a", 0, 65536);
  for (int i = 0; i < 65536; ++i) {
    const int exponent = i >> 10 & 31, fraction = i & 1023;
    float expected = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                   : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    if (exponent == 31) expected = std::numeric_limits<float>::infinity();
    if (i >= 32768) expected = -expected;
    const float value = values[static_cast<size_t>(i)];
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(value)) << i;
    } else {
      EXPECT_EQ(value, expected) << i;
      EXPECT_EQ(std::signbit(value), i >= 32768) << i;
    }
  }
}

TEST_F(SafetensorsTest, WideValuesAreRoundedOrRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values(10000, 0.1);
  values[3] = -infinity;
  Write(FileOf("F64", values));
  const std::vector<float> floats = FloatsOf(SafetensorsFile::Open(path_).value(), "a", 2, 9998);
  EXPECT_EQ(floats[0], 0.1f);
  EXPECT_EQ(floats[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(floats[9997], 0.1f);
  values[9000] = 1e39;
  Write(FileOf("F64", values));
  const Result<SafetensorsFile> opened = SafetensorsFile::Open(path_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const SafetensorsFile& file = opened.value();
  const std::optional<Error> error = file.ReadRun(*file.Find("a"), 2, 9998, std::vector<float>(9998).data());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ExitCode::kInput);
  EXPECT_EQ(error->message, "value at index 9000 of tensor `a` of `" + path_ + "` is out of range for f32");
}

TEST_F(SafetensorsTest, OtherTypesAreNotFloats) {
  Write(FileOf("I32", std::vector<int32_t>{1, 2}));
  const Result<SafetensorsFile> opened = SafetensorsFile::Open(path_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const SafetensorsFile& file = opened.value();
  EXPECT_EQ(SafetensorsTypeText(*file.Find("a")), "I32[2]");
  float values[2];
  EXPECT_EQ(file.ReadRun(*file.Find("a"), 0, 2, values)->message,
            "tensor `a` of `" + path_ + "` has values of type I32; F32, F64, F16 and BF16 are read as f32");
}

}  // namespace
}  // namespace cleave::runtime
