#include "runtime/data/image_file.h"

#include <algorithm>
#include <cctype>

#include "runtime/file/file.h"
#include "runtime/image/jpeg/jpeg.h"
#include "runtime/image/png/png.h"

namespace cleave::runtime {
namespace {

using Bytes = std::vector<uint8_t>;

struct ImageFormat {
  Bytes begin;
  Bytes end;
  Result<Image> (*decode)(const uint8_t* bytes, size_t size);
};

const std::vector<ImageFormat>& ImageFormats() {
  static const auto& formats = *new std::vector<ImageFormat>{
      {{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'},
       {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82},
       DecodePng},
      {{0xFF, 0xD8, 0xFF}, {0xFF, 0xD9}, DecodeJpeg},
  };
  return formats;
}

constexpr size_t kLongestMark = 12;

// Of a file that begins with these bytes.
Result<const ImageFormat*> FormatOf(const std::string& path, const Bytes& begin) {
  if (begin.empty()) return Error{ExitCode::kInput, Format("`%s` is empty", path.c_str())};
  for (const ImageFormat& format : ImageFormats()) {
    if (begin.size() < format.begin.size()) continue;
    if (std::equal(format.begin.begin(), format.begin.end(), begin.begin())) return &format;
  }
  return Error{ExitCode::kInput, Format("`%s` is neither a PNG nor a JPEG file", path.c_str())};
}

}  // namespace

bool IsNamedLikeImage(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string ending = name.substr(dot + 1);
  for (char& letter : ending) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return ending == "png" || ending == "jpg" || ending == "jpeg";
}

std::optional<Error> CheckImageFile(const std::string& path) {
  const Result<File> file = File::Open(path);
  if (!file.ok()) return file.error();
  const int64_t bytes = file.value().bytes(), count = std::min<int64_t>(bytes, kLongestMark);
  Bytes begin(static_cast<size_t>(count)), end(static_cast<size_t>(count));
  if (auto error = file.value().Read(0, count, begin.data())) return error;
  if (auto error = file.value().Read(bytes - count, count, end.data())) return error;
  const Result<const ImageFormat*> format = FormatOf(path, begin);
  if (!format.ok()) return format.error();
  const Bytes& mark = format.value()->end;
  if (mark.size() <= end.size() && std::equal(mark.rbegin(), mark.rend(), end.rbegin())) return std::nullopt;
  const Result<Bytes> all = file.value().ReadAll();
  if (!all.ok()) return all.error();
  const Result<Image> image = DecodeImageFile(path, all.value());
  return image.ok() ? std::nullopt : std::optional<Error>(image.error());
}

Result<Image> DecodeImageFile(const std::string& path, const std::vector<uint8_t>& bytes) {
  const Result<const ImageFormat*> format = FormatOf(path, bytes);
  if (!format.ok()) return format.error();
  Result<Image> image = format.value()->decode(bytes.data(), bytes.size());
  if (image.ok()) return image;
  return Error{image.error().code, Format("`%s` %s", path.c_str(), image.error().message.c_str())};
}

}  // namespace cleave::runtime
