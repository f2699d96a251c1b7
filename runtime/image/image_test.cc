#include "runtime/image/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/file/file.h"
#include "runtime/image/jpeg/jpeg.h"
#include "runtime/image/png/png.h"
#include "runtime/image/resize.h"

namespace cleave::runtime {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr char kFolder[] = "runtime/image/testdata/";

Bytes BytesOf(const std::string& name) { return ReadFile(kFolder + name).value(); }

bool IsPng(const std::string& name) { return name.find(".png") != std::string::npos; }

Result<Image> Decode(const std::string& name, const Bytes& bytes) {
  return IsPng(name) ? DecodePng(bytes.data(), bytes.size()) : DecodeJpeg(bytes.data(), bytes.size());
}

std::string MistakeOf(const std::string& name, const Bytes& bytes) {
  const Result<Image> image = Decode(name, bytes);
  return image.ok() ? "no error" : image.error().message;
}

// All kinds of files, and other sizes of them, are those of Pillow and torchvision: equal, but for other libjpegs.
TEST(Image, IsThatOfPillow) {
  std::ifstream cases(std::string(kFolder) + "cases.txt");
  const Bytes expected = BytesOf("cases.pixels");
  size_t next = 0;
  std::string name;
  int64_t channels = 0, side = 0, rows = 0, columns = 0;
  while (cases >> name >> channels >> side >> rows >> columns) {
    SCOPED_TRACE(name + " " + std::to_string(channels) + " " + std::to_string(side));
    Result<Image> decoded = Decode(name, BytesOf(name));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    const Image image = InChannels(std::move(decoded.value()), channels);
    const ImageSize whole = {image.rows, image.columns};
    const ImageSize size = side > 0 ? WithShorterSide(whole, side) : whole;
    const Image part = ResizedPart(image, size, MiddleOf(size, rows, columns));
    ASSERT_EQ(part.pixels.size(), static_cast<size_t>(rows * columns * channels));
    int farthest = 0;
    for (const uint8_t byte : part.pixels) farthest = std::max(farthest, std::abs(byte - expected[next++]));
    EXPECT_LE(farthest, IsPng(name) ? 0 : 2);
  }
  EXPECT_EQ(next, expected.size());
  EXPECT_GT(next, 0u);
}

// A part is cut from the resized image, wherever it lies.
TEST(Image, APartOfAnotherSizeIsThatOfTheWhole) {
  const Image image = Decode("color.png", BytesOf("color.png")).value();
  for (const ImageSize size : {ImageSize{7, 9}, ImageSize{19, 40}, ImageSize{33, 23}, ImageSize{1, 1}}) {
    const Image whole = ResizedPart(image, size, {0, 0, size.rows, size.columns});
    const ImagePart part = {size.rows / 3, size.columns / 4, (size.rows + 1) / 2, (size.columns + 1) / 2};
    const Image cut = ResizedPart(image, size, part);
    for (int64_t row = 0; row < part.rows; ++row) {
      const auto from = whole.pixels.begin() + ((part.top + row) * size.columns + part.left) * 3;
      EXPECT_TRUE(std::equal(from, from + part.columns * 3, cut.pixels.begin() + row * part.columns * 3));
    }
  }
}

TEST(Image, FilesThatEndEarly) {
  for (const std::string name : {"color.png", "grey_4.png", "color.jpg", "color_progressive.jpg", "inks.jpg"}) {
    const Bytes whole = BytesOf(name);
    for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 97) {
      const std::string mistake = MistakeOf(name, Bytes(whole.begin(), whole.begin() + static_cast<int64_t>(size)));
      // Behind the last pixel there may be bytes that are not needed.
      if (size < whole.size() / 2) EXPECT_NE(mistake, "no error") << name << " " << size;
    }
    EXPECT_EQ(MistakeOf(name, Bytes(whole.begin(), whole.begin() + static_cast<int64_t>(whole.size() / 2))),
              "ends in the middle of its data");
  }
}

TEST(Image, FilesThatAreDamaged) {
  Bytes png = BytesOf("color.png");
  png[60] ^= 1;
  EXPECT_EQ(MistakeOf("x.png", png), "is damaged (IDAT: invalid code -- missing end-of-block)");
  EXPECT_EQ(MistakeOf("x.jpg", png), "is damaged (Not a JPEG file: starts with 0x89 0x50)");
  EXPECT_EQ(MistakeOf("x.png", BytesOf("color.jpg")), "is damaged (Not a PNG file)");
  EXPECT_EQ(MistakeOf("x.jpg", {}), "is damaged (Empty input file)");
}

// A header names 65000x65000 pixels, or as many as are read.
TEST(Image, FilesWithHugeHeaders) {
  Bytes jpeg = BytesOf("color.jpg");
  const uint8_t frame[] = {0xFF, 0xC0};
  const auto size = std::search(jpeg.begin(), jpeg.end(), std::begin(frame), std::end(frame)) + 5;
  std::fill(size, size + 4, uint8_t{0xFD});
  EXPECT_EQ(MistakeOf("x.jpg", jpeg), "is an image of 65021x65021 pixels, and at most 134217728 are read");
  std::fill(size, size + 4, uint8_t{0x2D});
  EXPECT_EQ(MistakeOf("x.jpg", jpeg), "ends in the middle of its data") << "for 11565x11565 there is too little";
}

}  // namespace
}  // namespace cleave::runtime
