// What fails in libjpeg leaves it by longjmp: a function that is left so has nothing to be destroyed.
#include "runtime/image/jpeg/jpeg.h"

#include <stdio.h>

#include <csetjmp>
#include <string>
#include <vector>

// They need what stands above.
#include <jerror.h>
#include <jpeglib.h>

namespace cleave::runtime {
namespace {

struct JpegReader {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  std::jmp_buf left;
  char message[JMSG_LENGTH_MAX];
  bool is_cut;
};

JpegReader& ReaderOf(j_common_ptr info) { return *static_cast<JpegReader*>(info->client_data); }

[[noreturn]] void LeaveJpeg(j_common_ptr info) {
  info->err->format_message(info, ReaderOf(info).message);
  std::longjmp(ReaderOf(info).left, 1);
}

// Libjpeg goes on after what it only warns of.
void TakeWarning(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) ReaderOf(info).is_cut = true;
}

bool ReadJpegHeader(JpegReader& reader, const uint8_t* bytes, size_t size) {
  if (setjmp(reader.left) != 0) return false;
  jpeg_create_decompress(&reader.info);
  jpeg_mem_src(&reader.info, bytes, size);
  jpeg_read_header(&reader.info, TRUE);
  if (reader.info.num_components == 1) {
    reader.info.out_color_space = JCS_GRAYSCALE;
  } else {
    reader.info.out_color_space = reader.info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  }
  return true;
}

// Row by row, as the file has them: 1, 3 or 4 channels.
bool ReadJpegPixels(JpegReader& reader, uint8_t* pixels) {
  if (setjmp(reader.left) != 0) return false;
  jpeg_start_decompress(&reader.info);
  const size_t width = size_t{reader.info.output_width} * static_cast<size_t>(reader.info.output_components);
  while (reader.info.output_scanline < reader.info.output_height && !reader.is_cut) {
    JSAMPROW row = pixels + reader.info.output_scanline * width;
    jpeg_read_scanlines(&reader.info, &row, 1);
  }
  return true;
}

// Adobe writes how much of each ink is missing. In place.
void FromInks(std::vector<uint8_t>& pixels) {
  const size_t count = pixels.size() / 4;
  for (size_t i = 0; i < count; ++i) {
    const int light = pixels[4 * i + 3];
    for (size_t channel = 0; channel < 3; ++channel) {
      const int product = (255 - pixels[4 * i + channel]) * light + 128;
      pixels[3 * i + channel] = static_cast<uint8_t>(light - (((product >> 8) + product) >> 8));
    }
  }
  pixels.resize(3 * count);
}

Result<Image> DecodeWith(JpegReader& reader, const uint8_t* bytes, size_t size) {
  const auto damaged = [&] {
    const std::string why = std::string("is damaged (") + reader.message + ")";
    return Error{ExitCode::kInput, reader.is_cut ? "ends in the middle of its data" : why};
  };
  if (!ReadJpegHeader(reader, bytes, size)) return damaged();
  const int64_t rows = reader.info.image_height, columns = reader.info.image_width;
  if (std::string mistake = SizeMistake(rows, columns); !mistake.empty()) {
    return Error{ExitCode::kInput, std::move(mistake)};
  }
  // A block of 64 pixels takes a bit or more.
  if (!reader.info.arith_code && static_cast<uint64_t>(rows * columns) / 512 > size) {
    return Error{ExitCode::kInput, "ends in the middle of its data"};
  }
  const int64_t channels = reader.info.num_components == 2 ? 3 : reader.info.num_components;
  Image image = {rows, columns, channels, {}};
  if (!reader.is_cut) {
    image.pixels.resize(static_cast<size_t>(rows * columns * channels));
    if (!ReadJpegPixels(reader, image.pixels.data())) return damaged();
  }
  if (reader.is_cut) return damaged();
  if (channels == 4) {
    FromInks(image.pixels);
    image.channels = 3;
  }
  return image;
}

}  // namespace

Result<Image> DecodeJpeg(const uint8_t* bytes, size_t size) {
  JpegReader reader = {};
  reader.info.err = jpeg_std_error(&reader.errors);
  reader.info.client_data = &reader;
  reader.errors.error_exit = LeaveJpeg;
  reader.errors.emit_message = TakeWarning;
  Result<Image> image = DecodeWith(reader, bytes, size);
  jpeg_destroy_decompress(&reader.info);
  return image;
}

}  // namespace cleave::runtime
