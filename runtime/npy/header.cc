// Reading guide: ParseNpyHeader walks over a Python dictionary with three keys; a HeaderCursor knows how such a
// dictionary is written.
#include "runtime/npy/header.h"

#include <algorithm>
#include <cctype>
#include <cinttypes>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

namespace cleave::runtime {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

// Longer headers belong to structured types, which are not read.
constexpr int64_t kMostHeaderBytes = int64_t{1} << 20;

std::string Hex(const std::string& bytes) {
  std::string text = "0x";
  for (const char byte : bytes) text += Format("%02x", static_cast<unsigned char>(byte));
  return text;
}

uint64_t LittleEndian(const std::string& bytes, size_t begin, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[begin + i])} << (8 * i);
  return value;
}

// Takes one Python literal after another from a text. After a failure every call fails.
class HeaderCursor {
 public:
  explicit HeaderCursor(const std::string& text) : text_(text) {}

  bool Take(char sign) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }

  std::optional<std::string> TakeString() {
    SkipSpace();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string::npos) return std::nullopt;
    std::string result = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return result;
  }

  std::optional<bool> TakeBool() {
    SkipSpace();
    for (const auto& [word, value] : {std::pair<const char*, bool>{"True", true}, {"False", false}}) {
      if (text_.compare(at_, std::strlen(word), word) != 0) continue;
      at_ += std::strlen(word);
      return value;
    }
    return std::nullopt;
  }

  // "(64, 32)", "(64,)", "()"
  std::optional<std::vector<int64_t>> TakeShape() {
    if (!Take('(')) return std::nullopt;
    std::vector<int64_t> shape;
    while (!Take(')')) {
      const std::optional<int64_t> size = TakeSize();
      if (!size.has_value()) return std::nullopt;
      shape.push_back(*size);
      if (Take(',')) continue;
      if (!Take(')')) return std::nullopt;
      break;
    }
    return shape;
  }

  bool AtEnd() {
    SkipSpace();
    return at_ == text_.size();
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::optional<int64_t> TakeSize() {
    SkipSpace();
    int64_t value = 0;
    const size_t begin = at_;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_) {
      if (__builtin_mul_overflow(value, int64_t{10}, &value)) return std::nullopt;
      if (__builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value)) return std::nullopt;
    }
    if (at_ == begin) return std::nullopt;
    return value;
  }

  const std::string& text_;
  size_t at_ = 0;
};

struct Fields {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// The three fields; nullopt where the text is something else.
std::optional<Fields> ParseFields(const std::string& text) {
  HeaderCursor cursor(text);
  Fields fields;
  if (!cursor.Take('{')) return std::nullopt;
  while (!cursor.Take('}')) {
    const std::optional<std::string> key = cursor.TakeString();
    if (!key.has_value() || !cursor.Take(':')) return std::nullopt;
    bool read = false;
    if (*key == "descr") read = (fields.descr = cursor.TakeString()).has_value();
    if (*key == "fortran_order") read = (fields.fortran_order = cursor.TakeBool()).has_value();
    if (*key == "shape") read = (fields.shape = cursor.TakeShape()).has_value();
    if (!read) return std::nullopt;
    if (cursor.Take(',')) continue;
    if (!cursor.Take('}')) return std::nullopt;
    break;
  }
  const bool complete = fields.descr.has_value() && fields.fortran_order.has_value() && fields.shape.has_value();
  return complete && cursor.AtEnd() ? std::optional<Fields>(fields) : std::nullopt;
}

struct TypeRow {
  NpyType type;
  const char* descr;  // Of a byte the order is not given.
  const char* name;   // In NumPy.
  int64_t bytes;
};

constexpr TypeRow kTypes[] = {
    {NpyType::kFloat16, "<f2", "float16", 2}, {NpyType::kFloat32, "<f4", "float32", 4},
    {NpyType::kFloat64, "<f8", "float64", 8}, {NpyType::kBool, "|b1", "bool", 1},
    {NpyType::kInt8, "|i1", "int8", 1},       {NpyType::kUint8, "|u1", "uint8", 1},
    {NpyType::kInt16, "<i2", "int16", 2},     {NpyType::kUint16, "<u2", "uint16", 2},
    {NpyType::kInt32, "<i4", "int32", 4},     {NpyType::kUint32, "<u4", "uint32", 4},
    {NpyType::kInt64, "<i8", "int64", 8},
};

const TypeRow& RowOf(NpyType type) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& row) { return row.type == type; });
}

std::optional<NpyType> TypeOf(const std::string& descr) {
  for (const TypeRow& row : kTypes) {
    if (descr == row.descr) return row.type;
  }
  return std::nullopt;
}

// "`<f2`, `<f4` ... and `<i8`"
std::string TypesText() {
  std::string text;
  for (const TypeRow& row : kTypes) {
    const char* const before = text.empty() ? "" : &row == std::end(kTypes) - 1 ? " and " : ", ";
    text += before + ("`" + std::string(row.descr) + "`");
  }
  return text;
}

// The printable characters of a header, which may hold anything, cut to what fits a line.
std::string Excerpt(std::string text) {
  constexpr size_t kShown = 60;
  text.erase(text.find_last_not_of(" \n") + 1);
  std::string excerpt = text.substr(0, kShown);
  std::replace_if(
      excerpt.begin(), excerpt.end(), [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return excerpt + (text.size() > kShown ? "..." : "");
}

}  // namespace

Result<NpyHeaderPlace> FindNpyHeader(const std::string& path, const std::string& start) {
  if (start.compare(0, kMagicBytes, kMagic, std::min(kMagicBytes, start.size())) != 0) {
    return NpyError(Format("`%s` is not a .npy file: it begins with %s, expected %s", path.c_str(),
                           Hex(start.substr(0, kMagicBytes)).c_str(), Hex(kMagic).c_str()));
  }
  // The magic, two bytes of the version, and the length of the header in two bytes (version 1) or four.
  const int major = start.size() > kMagicBytes ? static_cast<unsigned char>(start[kMagicBytes]) : 1;
  const size_t preamble = kMagicBytes + (major == 1 ? 4 : 6);
  if (start.size() < preamble) {
    return NpyError(Format("`%s` is truncated: %zu bytes stand before the header of a .npy file, this has %zu",
                           path.c_str(), preamble, start.size()));
  }
  const int minor = static_cast<unsigned char>(start[kMagicBytes + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    return NpyError(
        Format("`%s` has version %d.%d of the .npy format; 1.0, 2.0 and 3.0 can be read", path.c_str(), major, minor));
  }
  const int64_t size = static_cast<int64_t>(LittleEndian(start, kMagicBytes + 2, major == 1 ? 2 : 4));
  if (size > kMostHeaderBytes) {
    return NpyError(Format("`%s` says that its header has %" PRId64 " bytes; at most %" PRId64 " are read",
                           path.c_str(), size, kMostHeaderBytes));
  }
  return NpyHeaderPlace{static_cast<int64_t>(preamble), size};
}

Result<NpyHeader> ParseNpyHeader(const std::string& path, const std::string& text) {
  const std::optional<Fields> fields = ParseFields(text);
  if (!fields.has_value()) {
    return NpyError(Format("the header of `%s` is no dictionary of descr, fortran_order and shape of an array: `%s`",
                           path.c_str(), Excerpt(text).c_str()));
  }
  const std::optional<NpyType> type = TypeOf(*fields->descr);
  if (!type.has_value()) {
    return NpyError(Format("`%s` holds values of type `%s`; %s can be read", path.c_str(),
                           Excerpt(*fields->descr).c_str(), TypesText().c_str()));
  }
  if (*fields->fortran_order && fields->shape->size() > 1) {
    return NpyError(
        Format("`%s` is in Fortran order, and only C order can be read: save "
               "numpy.ascontiguousarray(x)",
               path.c_str()));
  }
  return NpyHeader{*type, *fields->shape, 0};
}

int64_t NpyValueBytes(NpyType type) { return RowOf(type).bytes; }

const char* NpyTypeName(NpyType type) { return RowOf(type).name; }

std::string NpyShapeText(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const int64_t size : shape) text += Format("%s%" PRId64, text.empty() ? "" : "x", size);
  return text;
}

}  // namespace cleave::runtime
