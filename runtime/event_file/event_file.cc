#include "runtime/event_file/event_file.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cinttypes>
#include <cstring>

#include "runtime/lock/lock.h"

namespace cleave::runtime {
namespace {

// Numbers of fields in event.proto and summary.proto.
namespace event_field {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
constexpr int kSummaryValue = 1;
constexpr int kValueTag = 1, kValueNumber = 2;
constexpr int kSessionStatus = 1;
constexpr uint64_t kSessionStart = 1;  // SessionLog.SessionStatus.START

// How a field is encoded: https://protobuf.dev/programming-guides/encoding.
enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void AppendVarint(uint64_t value, std::string& text) {
  for (; value >= 0x80; value >>= 7) text.push_back(static_cast<char>(value | 0x80));
  text.push_back(static_cast<char>(value));
}

void AppendTag(int field, WireType type, std::string& text) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | type, text);
}

// The bytes of a number, of which the first is the lowest, as on all processors that programs run on.
template <typename Number>
void AppendRaw(Number number, std::string& text) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  text.append(bytes, sizeof number);
}

void AppendNumber(int field, uint64_t value, std::string& text) {
  AppendTag(field, kVarint, text);
  AppendVarint(value, text);
}

void AppendBytes(int field, const std::string& bytes, std::string& text) {
  AppendTag(field, kBytes, text);
  AppendVarint(bytes.size(), text);
  text += bytes;
}

std::string EventAt(double seconds) {
  std::string event;
  AppendTag(event_field::kWallTime, kFixed64, event);
  AppendRaw(seconds, event);
  return event;
}

double SecondsSince1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// So that a checksum of bytes among which there are checksums is no special number.
uint32_t Masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

}  // namespace

uint32_t Crc32c(const std::string& bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made = {};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
      made[byte] = crc;
    }
    return made;
  }();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ crc >> 8;
  return ~crc;
}

Result<EventFile> EventFile::Open(const std::string& folder) {
  MakeFolders(folder);  // What fails shows when the file is opened.
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  const double now = SecondsSince1970();
  EventFile made;
  // TensorBoard knows the file by `tfevents`, and reads files of a folder in the order of their names.
  made.path_ = Format("%s/events.out.tfevents.%010" PRId64 ".%s.%d", folder.c_str(), static_cast<int64_t>(now), host,
                      static_cast<int>(getpid()));
  made.file_ = std::fopen(made.path_.c_str(), "ab");
  if (made.file_ == nullptr) return FolderError(folder);
  std::string event = EventAt(now);
  AppendBytes(event_field::kFileVersion, "brain.Event:2", event);
  if (!made.Write(event)) return FolderError(folder);
  return made;
}

EventFile::EventFile(EventFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, nullptr)) {}

EventFile::~EventFile() {
  if (file_ != nullptr) std::fclose(file_);
}

bool EventFile::BeginAt(int64_t step) {
  std::string log;
  AppendNumber(kSessionStatus, kSessionStart, log);
  std::string event = EventAt(SecondsSince1970());
  AppendNumber(event_field::kStep, static_cast<uint64_t>(step), event);
  AppendBytes(event_field::kSessionLog, log, event);
  return Write(event);
}

bool EventFile::Add(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  std::string summary;
  for (const auto& [name, number] : values) {
    std::string value;
    AppendBytes(kValueTag, name, value);
    AppendTag(kValueNumber, kFixed32, value);
    AppendRaw(static_cast<float>(number), value);
    AppendBytes(kSummaryValue, value, summary);
  }
  std::string event = EventAt(SecondsSince1970());
  AppendNumber(event_field::kStep, static_cast<uint64_t>(step), event);
  AppendBytes(event_field::kSummary, summary, event);
  return Write(event);
}

bool EventFile::Write(const std::string& event) {
  std::string length;
  AppendRaw(static_cast<uint64_t>(event.size()), length);
  std::string record = length;
  AppendRaw(Masked(Crc32c(length)), record);
  record += event;
  AppendRaw(Masked(Crc32c(event)), record);
  return std::fwrite(record.data(), 1, record.size(), file_) == record.size() && std::fflush(file_) == 0;
}

}  // namespace cleave::runtime
