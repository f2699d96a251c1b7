#include "runtime/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <string>

namespace cleave::runtime {
namespace {

// zlib counts bytes in 32 bits: it gets a longer file in pieces.
constexpr size_t kLargestPiece = size_t{1} << 30;
constexpr size_t kSmallestOutput = size_t{1} << 16;

// For inflateInit2: the largest window, and a gzip header around the data.
constexpr int kGzip = MAX_WBITS + 16;

bool BeginsLikeGzip(const std::vector<uint8_t>& bytes, size_t at) {
  return bytes.size() - at >= 2 && bytes[at] == 0x1F && bytes[at + 1] == 0x8B;
}

// What is wrong with a file when inflate() returns `code`.
std::string Mistake(int code, const z_stream& stream) {
  if (code == Z_BUF_ERROR) return "ends in the middle of its data";
  if (code == Z_MEM_ERROR) return "needs more memory to be read than there is";
  const std::string message = stream.msg == nullptr ? "" : stream.msg;
  if (message == "incorrect data check") return "has data that does not match its checksum";
  if (message == "incorrect length check") return "has data that does not match its size";
  return "is damaged (" + message + ")";
}

// Appends the content of the member that begins at byte `at`, and moves `at` behind it; stops in it, with Z_OK, once
// there are `most_bytes`.
int ReadMember(z_stream& stream, const std::vector<uint8_t>& bytes, size_t most_bytes, size_t& at,
               std::vector<uint8_t>& output) {
  size_t written = output.size();
  int code = inflateReset(&stream);
  while (code == Z_OK && written < most_bytes) {
    if (written == output.size()) output.resize(std::min(most_bytes, std::max(kSmallestOutput, 2 * written)));
    stream.next_in = const_cast<Bytef*>(bytes.data() + at);
    stream.avail_in = static_cast<uInt>(std::min(kLargestPiece, bytes.size() - at));
    stream.next_out = output.data() + written;
    stream.avail_out = static_cast<uInt>(std::min(kLargestPiece, output.size() - written));
    code = inflate(&stream, Z_NO_FLUSH);
    at = static_cast<size_t>(stream.next_in - bytes.data());
    written = static_cast<size_t>(stream.next_out - output.data());
  }
  output.resize(written);
  return code;
}

}  // namespace

bool LooksLikeGzip(const std::vector<uint8_t>& bytes) { return BeginsLikeGzip(bytes, 0); }

Result<std::vector<uint8_t>> Gunzip(const std::vector<uint8_t>& bytes, size_t most_bytes) {
  std::vector<uint8_t> output;
  z_stream stream = {};
  size_t at = 0;
  int code = inflateInit2(&stream, kGzip);
  while (code == Z_OK) {
    code = ReadMember(stream, bytes, most_bytes, at, output);
    if (output.size() == most_bytes) break;
    if (code == Z_STREAM_END && at < bytes.size() && BeginsLikeGzip(bytes, at)) code = Z_OK;
  }
  std::string mistake;
  if (output.size() == most_bytes) {
    // What follows was not asked for.
  } else if (code != Z_STREAM_END) {
    mistake = Mistake(code, stream);
  } else if (at < bytes.size()) {
    mistake = "has something else after the compressed data";
  }
  inflateEnd(&stream);
  if (!mistake.empty()) return Error{ExitCode::kInput, Format("%s, at byte %zu", mistake.c_str(), at)};
  return output;
}

}  // namespace cleave::runtime
