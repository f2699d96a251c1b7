// What fails in libpng leaves it by longjmp: a function that is left so has nothing to be destroyed.
#include "runtime/image/png/png.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace cleave::runtime {
namespace {

struct PngReader {
  png_structp file;
  png_infop info;
  std::jmp_buf left;
  char message[200];
  const uint8_t* next;
  size_t rest;
};

[[noreturn]] void LeavePng(png_structp file, png_const_charp message) {
  auto& reader = *static_cast<PngReader*>(png_get_error_ptr(file));
  std::snprintf(reader.message, sizeof reader.message, "%s", message);
  std::longjmp(reader.left, 1);
}

void IgnoreWarning(png_structp, png_const_charp) {}

constexpr char kEndsEarly[] = "ends early";

void TakeBytes(png_structp file, png_bytep target, size_t count) {
  auto& reader = *static_cast<PngReader*>(png_get_io_ptr(file));
  if (count > reader.rest) LeavePng(file, kEndsEarly);
  std::memcpy(target, reader.next, count);
  reader.next += count;
  reader.rest -= count;
}

// Up to the pixels, and that they become bytes without alpha, grey or in three colours.
bool ReadPngHeader(PngReader& reader) {
  if (setjmp(reader.left) != 0) return false;
  reader.info = png_create_info_struct(reader.file);
  png_set_read_fn(reader.file, &reader, TakeBytes);
  png_set_user_limits(reader.file, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(reader.file, reader.info);
  png_set_palette_to_rgb(reader.file);
  png_set_expand_gray_1_2_4_to_8(reader.file);
  png_set_strip_16(reader.file);
  png_set_strip_alpha(reader.file);
  png_set_interlace_handling(reader.file);
  png_read_update_info(reader.file, reader.info);
  return true;
}

bool ReadPngPixels(PngReader& reader, png_bytepp rows) {
  if (setjmp(reader.left) != 0) return false;
  png_read_image(reader.file, rows);
  return true;
}

Result<Image> DecodeWith(PngReader& reader) {
  const auto damaged = [&] {
    if (std::strcmp(reader.message, kEndsEarly) == 0) return Error{ExitCode::kInput, "ends in the middle of its data"};
    return Error{ExitCode::kInput, std::string("is damaged (") + reader.message + ")"};
  };
  if (!ReadPngHeader(reader)) return damaged();
  const int64_t rows = png_get_image_height(reader.file, reader.info);
  const int64_t columns = png_get_image_width(reader.file, reader.info);
  if (std::string mistake = SizeMistake(rows, columns); !mistake.empty()) {
    return Error{ExitCode::kInput, std::move(mistake)};
  }
  const size_t width = png_get_rowbytes(reader.file, reader.info);
  // A byte of a file is 1032 of pixels at most.
  if (reader.rest < static_cast<size_t>(rows) * width / 8 / 1032) {
    return Error{ExitCode::kInput, "ends in the middle of its data"};
  }
  Image image = {rows, columns, png_get_channels(reader.file, reader.info), {}};
  image.pixels.resize(static_cast<size_t>(rows) * width);
  std::vector<png_bytep> starts(static_cast<size_t>(rows));
  for (size_t row = 0; row < starts.size(); ++row) starts[row] = image.pixels.data() + row * width;
  if (!ReadPngPixels(reader, starts.data())) return damaged();
  return image;
}

}  // namespace

Result<Image> DecodePng(const uint8_t* bytes, size_t size) {
  PngReader reader = {};
  reader.next = bytes;
  reader.rest = size;
  reader.file = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, LeavePng, IgnoreWarning);
  if (reader.file == nullptr) return Error{ExitCode::kEnvironment, "cannot be read: libpng does not begin"};
  Result<Image> image = DecodeWith(reader);
  png_destroy_read_struct(&reader.file, &reader.info, nullptr);
  return image;
}

}  // namespace cleave::runtime
