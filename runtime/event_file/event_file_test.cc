#include "runtime/event_file/event_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace cleave::runtime {
namespace {

std::string Content(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  for (int c; file != nullptr && (c = std::fgetc(file)) != EOF;) text.push_back(static_cast<char>(c));
  if (file != nullptr) std::fclose(file);
  return text;
}

uint64_t NumberAt(const std::string& bytes, size_t offset, size_t size) {
  uint64_t number = 0;
  if (offset + size <= bytes.size()) std::memcpy(&number, bytes.data() + offset, size);
  return number;
}

// The checksum of bytes as a record has it.
uint32_t Masked(const std::string& bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

// RFC 3720, B.4.
TEST(Crc32c, OfKnownBytes) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
}

TEST(EventFile, HasRecordsOfEvents) {
  std::string path;
  {
    Result<EventFile> made = EventFile::Open(testing::TempDir() + "/curves/deep/" + std::to_string(getpid()));
    ASSERT_TRUE(made.ok()) << made.error().message;
    path = made.value().path();
    EXPECT_TRUE(made.value().BeginAt(5));
    EXPECT_TRUE(made.value().Add(300, {{"loss", 0.5}, {"lr", 2.0}}));
  }
  const std::string bytes = Content(path);
  std::vector<std::string> events;
  for (size_t at = 0; at < bytes.size();) {
    const uint64_t length = NumberAt(bytes, at, 8);
    ASSERT_LE(at + 16 + length, bytes.size());
    EXPECT_EQ(NumberAt(bytes, at + 8, 4), Masked(bytes.substr(at, 8)));
    events.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(NumberAt(bytes, at + 12 + length, 4), Masked(events.back()));
    at += 16 + length;
  }
  ASSERT_EQ(events.size(), 3u);
  // Each begins with its time: a tag and 8 bytes.
  EXPECT_EQ(events[0].substr(9), std::string("\x1a\x0d") + "brain.Event:2");
  EXPECT_EQ(events[1].substr(9), std::string("\x10\x05\x3a\x02\x08\x01"));
  const std::string half("\x00\x00\x00\x3f", 4), two("\x00\x00\x00\x40", 4);
  EXPECT_EQ(events[2].substr(9), std::string("\x10\xac\x02\x2a\x18\x0a\x0b\x0a\x04") + "loss\x15" + half +
                                     "\x0a\x09\x0a\x02" + "lr\x15" + two);
}

TEST(EventFile, SaysWhereItCannotWrite) {
  const Result<EventFile> made = EventFile::Open("/proc/none");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ExitCode::kEnvironment);
  EXPECT_NE(made.error().message.find("cannot write to the folder `/proc/none`"), std::string::npos);
}

}  // namespace
}  // namespace cleave::runtime
