// A text file as bytes: windows of seq + 1 consecutive ones.
#include "runtime/data/tokens.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "runtime/data/source.h"
#include "runtime/data/token_windows.h"
#include "runtime/file/file.h"
#include "runtime/tokenizer/byte_numbers.h"

namespace cleave::runtime {
namespace {

class TokenSource final : public Source {
 public:
  TokenSource(std::vector<uint8_t> tokens, int64_t length, std::string note)
      : tokens_(std::move(tokens)), length_(length), note_(std::move(note)) {
    const int64_t count = static_cast<int64_t>(tokens_.size());
    test_begin_ = count - count / kTestShare;
  }

  // Training windows begin at every byte; those of the test part do not overlap, so that each byte is predicted once.
  int64_t Samples(DataSplit split) const override {
    const int64_t test_size = static_cast<int64_t>(tokens_.size()) - test_begin_;
    const int64_t samples = split == DataSplit::kTrain ? test_begin_ - length_ : (test_size - 1) / length_;
    return std::max<int64_t>(0, samples);
  }

  // The last bytes of the training text, of which windows are taken as of the test part.
  Division Divide(double share) const override {
    const int64_t size = ValidationSamples(share, test_begin_);
    const int64_t begin = test_begin_ - size;
    return {.train = std::max<int64_t>(0, begin - length_),
            .first = begin,
            .stride = length_,
            .count = std::max<int64_t>(0, (size - 1) / length_)};
  }

  int64_t Bytes() const override { return static_cast<int64_t>(tokens_.size()); }
  std::string Note() const override { return note_; }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    const int64_t begin = sample.split == DataSplit::kTrain ? sample.number : test_begin_ + sample.number * length_;
    const uint8_t* window = tokens_.data() + begin + (field == kNext ? 1 : 0);
    WriteRow(input, row, [&](int64_t element) { return window[element]; });
    return std::nullopt;
  }

 private:
  const std::vector<uint8_t> tokens_;
  const int64_t length_;
  const std::string note_;
  int64_t test_begin_ = 0;
};

// Renumbers the bytes so that all are below `limit`; returns a note for the user.
Result<std::string> FitInto(int64_t limit, const std::string& path, std::vector<uint8_t>& tokens) {
  const Result<ByteNumbers> numbers = ByteNumbers::Of(tokens, limit, path);
  if (!numbers.ok()) return numbers.error();
  if (!numbers.value().are_numbered()) return std::string();
  for (uint8_t& token : tokens) token = *numbers.value().TokenOf(token);
  return Format("tokens: the %" PRId64 " distinct bytes of `%s` are numbered in byte order", numbers.value().size(),
                path.c_str());
}

Result<OpenedSource> OpenTokens(const OpenRequest& request) {
  Result<TokenWindows> windows = TokenWindowsOf(request.inputs);
  if (!windows.ok()) return windows.error();
  Result<std::vector<uint8_t>> content = ReadFile(request.spec.path);
  if (!content.ok()) return content.error();
  std::vector<uint8_t> tokens = std::move(content.value());
  Result<std::string> note = FitInto(windows.value().limit, request.spec.path, tokens);
  if (!note.ok()) return note.error();
  if (request.is_mixed && !note.value().empty()) {
    return Error{ExitCode::kInput, Format("the bytes of `%s` are numbered for a vocabulary of %" PRId64
                                          " symbols, in each text in another way: texts that are mixed need one of 256",
                                          request.spec.path.c_str(), windows.value().limit)};
  }
  return OpenedSource{std::make_unique<TokenSource>(std::move(tokens), windows.value().length, note.value()),
                      std::move(windows.value().fields)};
}

}  // namespace

DataSpec Tokens(std::string path) { return {"tokens", OpenTokens, std::move(path), 0, 0}; }

}  // namespace cleave::runtime
