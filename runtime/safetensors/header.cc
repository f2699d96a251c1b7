// Reading guide: ParseSafetensorsHeader reads one entry after another by TensorAt, then checks that together they fill
// the file.
#include "runtime/safetensors/header.h"

#include <algorithm>
#include <cinttypes>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

constexpr char kMetadata[] = "__metadata__";
constexpr int64_t kAlignment = 64;

struct ElementType {
  const char* name;
  int64_t bytes;
};

constexpr ElementType kElementTypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
                                         {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                                         {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};

// 0 for a type that is unknown.
int64_t ElementBytes(const std::string& type) {
  for (const ElementType& known : kElementTypes) {
    if (type == known.name) return known.bytes;
  }
  return 0;
}

std::string KnownTypes() {
  std::string names;
  for (const ElementType& known : kElementTypes) names += Format("%s%s", names.empty() ? "" : ", ", known.name);
  return names;
}

Error Mistake(const std::string& subject, const std::string& what) { return {ExitCode::kInput, subject + " " + what}; }

// One tensor. Its offset counts from the end of the header.
Result<SafetensorsEntry> TensorAt(const std::string& subject, const std::string& name, const Json& value) {
  const Result<std::string> type = StringMember(value, "dtype");
  if (!type.ok()) return Mistake(subject, type.error().message);
  const Result<std::vector<int64_t>> shape = IntegersMember(value, "shape");
  if (!shape.ok()) return Mistake(subject, shape.error().message);
  const Result<std::vector<int64_t>> range = IntegersMember(value, "data_offsets");
  if (!range.ok()) return Mistake(subject, range.error().message);
  if (ElementBytes(type.value()) == 0) {
    return Mistake(subject, Format("has type `%s`; %s can be read", ShownSafetensorsName(type.value()).c_str(),
                                   KnownTypes().c_str()));
  }
  const std::optional<int64_t> bytes = SafetensorsBytes(type.value(), shape.value());
  if (!bytes.has_value()) return Mistake(subject, "has an impossible shape: " + ShapeText(shape.value()));
  const std::vector<int64_t>& offsets = range.value();
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
    return Mistake(subject, "has impossible data_offsets: " + ShapeText(offsets));
  }
  if (offsets[1] - offsets[0] != *bytes) {
    return Mistake(subject, Format("takes %" PRId64 " bytes as %s%s, and its data_offsets %s have %" PRId64, *bytes,
                                   type.value().c_str(), ShapeText(shape.value()).c_str(), ShapeText(offsets).c_str(),
                                   offsets[1] - offsets[0]));
  }
  return SafetensorsEntry{name, type.value(), shape.value(), offsets[0], *bytes};
}

Result<SafetensorsMetadata> MetadataOf(const std::string& path, const Json& header) {
  SafetensorsMetadata metadata;
  if (header.Find(kMetadata) == nullptr) return metadata;
  const Result<const Json*> texts = ObjectMember(header, kMetadata);
  if (!texts.ok()) return Mistake("the header of `" + path + "`", texts.error().message);
  for (const auto& [name, value] : texts.value()->members) {
    if (value.kind != Json::Kind::kString) {
      return Mistake("the `__metadata__` of `" + path + "`",
                     "has a `" + ShownSafetensorsName(name) + "` that is not a string");
    }
    metadata.emplace_back(name, value.text);
  }
  return metadata;
}

// The message about tensors that do not fill the bytes behind the header one after another; nullopt where they do.
std::optional<Error> CheckPlaces(const std::string& path, const std::vector<SafetensorsEntry>& entries,
                                 int64_t tensor_bytes) {
  int64_t end = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string name = ShownSafetensorsName(entries[i].name);
    if (entries[i].offset < end) {
      return Mistake(
          "`" + path + "`",
          Format("has tensors that overlap: `%s` begins at byte %" PRId64 " of the tensors, and `%s` ends at %" PRId64,
                 name.c_str(), entries[i].offset, ShownSafetensorsName(entries[i - 1].name).c_str(), end));
    }
    if (entries[i].offset > end) {
      return Mistake("`" + path + "`", Format("has %" PRId64 " bytes before tensor `%s` that belong to no tensor",
                                              entries[i].offset - end, name.c_str()));
    }
    end += entries[i].bytes;
  }
  if (end == tensor_bytes) return std::nullopt;
  return Mistake("`" + path + "`",
                 Format("is %s: its header says that the tensors have %" PRId64 " bytes, and %" PRId64 " follow it",
                        tensor_bytes < end ? "truncated" : "too long", end, tensor_bytes));
}

}  // namespace

std::string ShownSafetensorsName(const std::string& name) {
  constexpr size_t kShown = 100;
  return JsonEscaped(name.substr(0, kShown)) + (name.size() > kShown ? "..." : "");
}

std::string SafetensorsTypeText(const SafetensorsEntry& entry) { return entry.type + ShapeText(entry.shape); }

std::optional<int64_t> SafetensorsBytes(const std::string& type, const std::vector<int64_t>& shape) {
  int64_t bytes = ElementBytes(type);
  bool fits = bytes > 0;
  for (const int64_t size : shape) fits = fits && size >= 0 && !__builtin_mul_overflow(bytes, size, &bytes);
  return fits ? std::optional<int64_t>(bytes) : std::nullopt;
}

Result<SafetensorsContent> ParseSafetensorsHeader(const std::string& path, const std::string& header,
                                                  int64_t tensor_bytes) {
  const std::string subject = "the header of `" + path + "`";
  const Result<Json> json = ParseJson(header);
  if (!json.ok()) return Mistake(subject, json.error().message);
  Result<SafetensorsMetadata> metadata = MetadataOf(path, json.value());
  if (!metadata.ok()) return metadata.error();
  SafetensorsContent content{{}, std::move(metadata.value())};
  for (const auto& [name, value] : json.value().members) {
    if (name == kMetadata) continue;
    Result<SafetensorsEntry> entry =
        TensorAt("tensor `" + ShownSafetensorsName(name) + "` of `" + path + "`", name, value);
    if (!entry.ok()) return entry.error();
    content.entries.push_back(std::move(entry.value()));
  }
  // An empty tensor lies before the one that begins where it does.
  std::stable_sort(content.entries.begin(), content.entries.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return std::tie(a.offset, a.bytes) < std::tie(b.offset, b.bytes);
                   });
  if (auto error = CheckPlaces(path, content.entries, tensor_bytes)) return *error;
  for (SafetensorsEntry& entry : content.entries) {
    entry.offset += kSafetensorsLengthBytes + static_cast<int64_t>(header.size());
  }
  return content;
}

Result<std::string> SafetensorsHeader(std::vector<SafetensorsEntry>& entries, const SafetensorsMetadata& metadata) {
  JsonObject header;
  if (!metadata.empty()) {
    JsonObject texts;
    for (const auto& [name, text] : metadata) texts.Add(name, text);
    header.Add(kMetadata, texts);
  }
  int64_t end = 0;
  for (SafetensorsEntry& entry : entries) {
    entry.offset = end;
    end += entry.bytes;
    JsonObject tensor;
    tensor.Add("dtype", entry.type);
    tensor.Add("shape", JsonArray(entry.shape));
    tensor.Add("data_offsets", JsonArray({entry.offset, end}));
    header.Add(entry.name, tensor);
  }
  std::string text = header.Text();
  while ((kSafetensorsLengthBytes + static_cast<int64_t>(text.size())) % kAlignment != 0) text += ' ';
  const auto length = static_cast<int64_t>(text.size());
  if (length > kMostSafetensorsHeaderBytes) {
    return Error{ExitCode::kInput,
                 Format("the header of a safetensors file would have %" PRId64 " bytes; at most %" PRId64 " are read",
                        length, kMostSafetensorsHeaderBytes)};
  }
  std::string bytes;
  for (int i = 0; i < kSafetensorsLengthBytes; ++i) bytes += static_cast<char>(length >> (8 * i));
  for (SafetensorsEntry& entry : entries) entry.offset += kSafetensorsLengthBytes + length;
  return bytes + text;
}

}  // namespace cleave::runtime
