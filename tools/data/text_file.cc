// Reading guide: `Fill` reads a piece of the file and gives it to an `Unpacker`, which appends what it holds;
// `ReadLine` and `Read` take from that. The first bytes of a file say how it is packed.
#include "tools/data/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file/file.h"

namespace cleave::tools {

// Each Unpack appends what `piece` holds to `content`, and returns what is wrong; empty: nothing.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  virtual std::string Unpack(const std::string& piece, std::string& content) = 0;
  virtual bool IsWhole() const = 0;  // Nothing is missing at the end.
};

namespace {

constexpr size_t kPiece = size_t{1} << 18;
constexpr size_t kLongestLine = size_t{1} << 26;

class PlainUnpacker final : public Unpacker {
 public:
  std::string Unpack(const std::string& piece, std::string& content) override {
    content += piece;
    return "";
  }
  bool IsWhole() const override { return true; }
};

// One or more members (RFC 1952).
class GzipUnpacker final : public Unpacker {
 public:
  GzipUnpacker() { inflateInit2(&stream_, MAX_WBITS + 16); }
  ~GzipUnpacker() override { inflateEnd(&stream_); }

  std::string Unpack(const std::string& piece, std::string& content) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    while (stream_.avail_in > 0) {
      if (is_whole_) inflateReset(&stream_);
      char buffer[1 << 16];
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof buffer;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      is_whole_ = code == Z_STREAM_END;
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        return absl::StrCat("is damaged (", stream_.msg == nullptr ? "no gzip data" : stream_.msg, ")");
      }
      content.append(buffer, sizeof buffer - stream_.avail_out);
    }
    return "";
  }
  bool IsWhole() const override { return is_whole_; }

 private:
  z_stream stream_ = {};
  bool is_whole_ = false;
};

// Frames (RFC 8878).
class ZstdUnpacker final : public Unpacker {
 public:
  ZstdUnpacker() : stream_(ZSTD_createDStream()) {}
  ~ZstdUnpacker() override { ZSTD_freeDStream(stream_); }

  std::string Unpack(const std::string& piece, std::string& content) override {
    ZSTD_inBuffer in = {piece.data(), piece.size(), 0};
    bool is_full = false;  // More may come without further input.
    while (in.pos < in.size || is_full) {
      char buffer[1 << 16];
      ZSTD_outBuffer out = {buffer, sizeof buffer, 0};
      const size_t code = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(code) != 0) return absl::StrCat("is damaged (", ZSTD_getErrorName(code), ")");
      is_whole_ = code == 0;
      is_full = out.pos == out.size && !is_whole_;
      content.append(buffer, out.pos);
    }
    return "";
  }
  bool IsWhole() const override { return is_whole_; }

 private:
  ZSTD_DStream* stream_;
  bool is_whole_ = false;
};

// Kinds of files that are told by how they begin, and hold no lines.
constexpr struct {
  const char* begin;
  size_t size;
  const char* name;
  const char* loader;  // What Hugging Face's datasets calls a table of this kind; null for others.
} kOthers[] = {{"PAR1", 4, "a Parquet file", "parquet"},
               {"ARROW1", 6, "an Arrow file", "arrow"},
               {"\xFF\xFF\xFF\xFF", 4, "an Arrow stream", "arrow"},
               {"PK\x03\x04", 4, "a zip archive", nullptr},
               {"BZh", 3, "compressed by bzip2", nullptr},
               {"\xFD"
                "7zXZ",
                5, "compressed by xz", nullptr}};

std::unique_ptr<Unpacker> UnpackerOf(const std::string& begin) {
  if (absl::StartsWith(begin, "\x1F\x8B")) return std::make_unique<GzipUnpacker>();
  if (absl::StartsWith(begin, "\x28\xB5\x2F\xFD")) return std::make_unique<ZstdUnpacker>();
  return std::make_unique<PlainUnpacker>();
}

}  // namespace

std::string PlaceOf(const std::string& path, int64_t line) { return QuotedPath(absl::StrCat(path, ":", line)); }

std::string JsonMistake(const std::string& message) { return absl::StrReplaceAll(message, {{"line 1, ", ""}}); }

TextFile::TextFile() = default;
TextFile::~TextFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Diagnostic TextFile::Wrong(const std::string& what) const {
  return Error(Code::kE0634, absl::StrCat(QuotedPath(path_), " ", what));
}

std::optional<Diagnostic> TextFile::Open(const std::string& path, std::unique_ptr<TextFile>& file) {
  file.reset(new TextFile);
  file->path_ = path;
  file->descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts = {};
  if (file->descriptor_ < 0 || fstat(file->descriptor_, &facts) != 0) {
    return Error(Code::kE0634, absl::StrCat("cannot read ", QuotedPath(path), ": ", std::strerror(errno)));
  }
  if (!S_ISREG(facts.st_mode)) return file->Wrong("is not a regular file");
  file->bytes_ = facts.st_size;
  char begin[8] = {};
  const ssize_t count = pread(file->descriptor_, begin, sizeof begin, 0);
  const std::string bytes(begin, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  for (const auto& other : kOthers) {
    if (!absl::StartsWith(bytes, absl::string_view(other.begin, other.size))) continue;
    return file->Wrong(absl::StrCat("is ", other.name, ", which is not read"))
        .Help(other.loader == nullptr
                  ? "unpack it, or compress it by gzip or zstd"
                  : absl::StrCat("in Python, `datasets.load_dataset(\"", other.loader, "\", data_files=\"", path,
                                 "\", split=\"train\").to_json(\"rows.jsonl\")` writes its rows as lines"));
  }
  file->unpacker_ = UnpackerOf(bytes);
  return std::nullopt;
}

std::optional<Diagnostic> TextFile::Fill() {
  content_.erase(0, begin_);
  begin_ = 0;
  std::string piece(kPiece, '\0');
  ssize_t count = 0;
  do {
    count = read(descriptor_, piece.data(), piece.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return Wrong(absl::StrCat("cannot be read: ", std::strerror(errno)));
  piece.resize(static_cast<size_t>(count));
  consumed_ += count;
  is_at_end_ = count == 0;
  if (is_at_end_ && !unpacker_->IsWhole()) return Wrong("ends in the middle of its data");
  const std::string mistake = unpacker_->Unpack(piece, content_);
  if (!mistake.empty()) return Wrong(mistake);
  return std::nullopt;
}

std::optional<Diagnostic> TextFile::ReadLine(std::string& line, bool& is_there) {
  ++line_;
  size_t end = content_.find('\n', begin_);
  while (end == std::string::npos && !is_at_end_) {
    const size_t searched = content_.size() - begin_;
    if (searched > kLongestLine) {
      return Error(Code::kE0630, absl::StrCat(PlaceOf(path_, line_), " has more than 64 MiB"));
    }
    if (auto error = Fill()) return error;
    end = content_.find('\n', searched);
  }
  is_there = end != std::string::npos || begin_ < content_.size();
  if (!is_there) return std::nullopt;
  line = content_.substr(begin_, end == std::string::npos ? end : end - begin_);
  begin_ = end == std::string::npos ? content_.size() : end + 1;
  if (absl::EndsWith(line, "\r")) line.pop_back();
  if (line_ == 1 && absl::StartsWith(line, "\xEF\xBB\xBF")) line.erase(0, 3);
  return std::nullopt;
}

std::optional<Diagnostic> TextFile::Read(size_t most, std::string& bytes) {
  while (content_.size() - begin_ < most && !is_at_end_) {
    if (auto error = Fill()) return error;
  }
  bytes = content_.substr(begin_, most);
  begin_ += bytes.size();
  return std::nullopt;
}

}  // namespace cleave::tools
