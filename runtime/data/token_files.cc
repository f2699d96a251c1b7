// Files of numbered tokens: windows of seq + 1 consecutive ones, which share only the one between them.
#include "runtime/data/token_files.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include "runtime/data/source.h"
#include "runtime/data/token_windows.h"
#include "runtime/file/file.h"

namespace cleave::runtime {
namespace {

// The header that llm.c writes: 256 int32, of which the first three are a number that marks such files, a version, and
// how many tokens follow.
constexpr int64_t kHeaderBytes = 1024;
struct HeaderKind {
  int32_t mark;
  int32_t version;
  int bits;
};
constexpr HeaderKind kHeaders[] = {{20240520, 1, 16}, {20240801, 7, 32}};  // GPT-2's tokens, and Llama 3's.

// A larger file is checked where it is read: going through it would take longer than the first steps.
constexpr int64_t kCheckedBytes = int64_t{256} << 20;

int64_t TokenAt(const unsigned char* bytes, int bits) {
  int64_t token = 0;
  for (int i = 0; i < bits / 8; ++i) token |= static_cast<int64_t>(bytes[i]) << (8 * i);
  return token;
}

class TokenFile {
 public:
  // `limit`: tokens lie below it; 0: any that int32 holds do.
  static Result<TokenFile> Open(const std::string& path, int bits, int64_t limit) {
    Result<File> file = File::Open(path);
    if (!file.ok()) return file.error();
    TokenFile tokens(std::move(file.value()), limit > 0 ? limit : int64_t{INT32_MAX} + 1);
    if (auto error = tokens.ReadHeader(bits)) return *error;
    if (auto error = tokens.CheckAll()) return *error;
    return tokens;
  }

  int bits() const { return bits_; }
  int64_t tokens() const { return tokens_; }

  // `count` tokens from token `first` on.
  std::optional<Error> Read(int64_t first, int64_t count, std::vector<int32_t>& tokens) const {
    const int64_t width = bits_ / 8, offset = begin_ + first * width;
    std::vector<unsigned char> bytes(static_cast<size_t>(count * width));
    if (auto error = file_.Read(offset, count * width, bytes.data())) return error;
    tokens.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t token = TokenAt(bytes.data() + i * width, bits_);
      if (token >= limit_) return OutOfRange(token, offset + i * width);
      tokens[static_cast<size_t>(i)] = static_cast<int32_t>(token);
    }
    return std::nullopt;
  }

 private:
  TokenFile(File file, int64_t limit) : file_(std::move(file)), limit_(limit) {}

  Error Wrong(const std::string& why) const {
    return {ExitCode::kInput, Format("`%s` %s", file_.path().c_str(), why.c_str())};
  }

  Error OutOfRange(int64_t token, int64_t offset) const {
    const std::string why = limit_ > INT32_MAX ? Format("i32 holds up to %d", INT32_MAX)
                                               : Format("the model's vocabulary has %" PRId64 " symbols", limit_);
    return {ExitCode::kInput, Format("token %" PRId64 " at offset %" PRId64 " of `%s` is out of range: %s", token,
                                     offset, file_.path().c_str(), why.c_str())};
  }

  std::optional<Error> ReadHeader(int bits) {
    int32_t header[3] = {};
    if (file_.bytes() >= kHeaderBytes) {
      if (auto error = file_.Read(0, sizeof(header), header)) return error;
    }
    const auto kind = std::find_if(std::begin(kHeaders), std::end(kHeaders),
                                   [&](const HeaderKind& known) { return known.mark == header[0]; });
    const bool has_header = kind != std::end(kHeaders);
    if (has_header && header[1] != kind->version) {
      return Wrong(Format("has a header of version %d at offset 4; known is version %d", header[1], kind->version));
    }
    if (has_header && bits != 0 && bits != kind->bits) {
      return Wrong(Format("has tokens of %d bits, as its header says, not of %d", kind->bits, bits));
    }
    if (!has_header && bits == 0) {
      return Wrong("has no header that says how many bits a token has: `dtype` must be `u8`, `u16` or `u32`");
    }
    bits_ = has_header ? kind->bits : bits;
    begin_ = has_header ? kHeaderBytes : 0;
    const int64_t bytes = file_.bytes() - begin_, width = bits_ / 8;
    if (bytes % width != 0) {
      return Wrong(Format("has %" PRId64 " bytes%s, which are no whole number of tokens of %d bits", bytes,
                          has_header ? " behind its header" : "", bits_));
    }
    tokens_ = bytes / width;
    if (has_header && header[2] != tokens_) {
      return Wrong(
          Format("has %d tokens, as its header says at offset 8, and %" PRId64 " behind it", header[2], tokens_));
    }
    return std::nullopt;
  }

  std::optional<Error> CheckAll() const {
    if (int64_t{1} << bits_ <= limit_ || file_.bytes() > kCheckedBytes) return std::nullopt;
    constexpr int64_t kAtOnce = int64_t{1} << 20;
    std::vector<int32_t> tokens;
    for (int64_t first = 0; first < tokens_; first += kAtOnce) {
      if (auto error = Read(first, std::min(kAtOnce, tokens_ - first), tokens)) return error;
    }
    return std::nullopt;
  }

  File file_;
  int64_t limit_;
  int bits_ = 0;
  int64_t begin_ = 0;  // Offset of the first token.
  int64_t tokens_ = 0;
};

// Windows of several files, one file after another.
class Windows {
 public:
  explicit Windows(int64_t length) : length_(length) {}

  void Add(TokenFile file) {
    const int64_t windows = std::max<int64_t>(0, file.tokens() - 1) / length_;
    files_.Add(std::move(file), windows);
  }

  int64_t count() const { return files_.count(); }
  const std::vector<TokenFile>& files() const { return files_.files(); }

  // Window `window`, `shift` tokens later.
  std::optional<Error> Read(int64_t window, int64_t shift, std::vector<int32_t>& tokens) const {
    const auto [file, own] = files_.At(window);
    // A value that was not checked before, or the disk.
    return file.Read(own * length_ + shift, length_, tokens);
  }

 private:
  int64_t length_;
  FilesInOrder<TokenFile> files_;
};

class TokenFilesSource final : public Source {
 public:
  TokenFilesSource(Windows train, Windows test) : train_(std::move(train)), test_(std::move(test)) {}

  int64_t Samples(DataSplit split) const override {
    const bool is_train = split == DataSplit::kTrain;
    if (!test_.files().empty()) return is_train ? train_.count() : test_.count();
    const int64_t test = train_.count() / kTestShare;
    return is_train ? train_.count() - test : test;
  }
  int64_t Bytes() const override { return 0; }

  std::string Note() const override {
    const auto text = [](const Windows& windows) {
      int64_t tokens = 0;
      for (const TokenFile& file : windows.files()) tokens += file.tokens();
      const size_t files = windows.files().size();
      return Format("%" PRId64 " of %d bits in %zu file%s", tokens, windows.files()[0].bits(), files,
                    files == 1 ? "" : "s");
    };
    return "tokens: " + text(train_) + (test_.files().empty() ? "" : ", to test " + text(test_));
  }

  bool ReadsSlowly() const override { return true; }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    const bool is_test = sample.split == DataSplit::kTest, is_apart = is_test && !test_.files().empty();
    const int64_t first = is_test && !is_apart ? Samples(DataSplit::kTrain) : 0;
    thread_local std::vector<int32_t> window;
    const Windows& part = is_apart ? test_ : train_;
    if (auto error = part.Read(first + sample.number, field == kNext ? 1 : 0, window)) return error;
    WriteRow(input, row, [&](int64_t element) { return window[static_cast<size_t>(element)]; });
    return std::nullopt;
  }

 private:
  const Windows train_;
  const Windows test_;
};

Result<OpenedSource> OpenTokenFiles(const OpenRequest& request) {
  Result<TokenWindows> wanted = TokenWindowsOf(request.inputs);
  if (!wanted.ok()) return wanted.error();
  Windows train(wanted.value().length), test(wanted.value().length);
  const auto read = [&](const std::string& part, const std::string& path, Progress&) -> std::optional<Error> {
    Result<TokenFile> file = TokenFile::Open(path, request.spec.bits, wanted.value().limit);
    if (!file.ok()) return file.error();
    (part == "test" ? test : train).Add(std::move(file.value()));
    return std::nullopt;
  };
  if (auto error = ReadFiles(request.spec, read)) return *error;
  return OpenedSource{std::make_unique<TokenFilesSource>(std::move(train), std::move(test)),
                      std::move(wanted.value().fields)};
}

}  // namespace

DataSpec TokenFiles(std::vector<InputFile> files, int bits) {
  DataSpec spec{"tokens", OpenTokenFiles, files.front().path, 0, 0, std::move(files)};
  spec.bits = bits;
  return spec;
}

}  // namespace cleave::runtime
