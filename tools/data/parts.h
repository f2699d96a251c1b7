// Private to tools/data: work on the lines of files on all cores, whose results come in the order of the lines.
#ifndef CLEAVE_TOOLS_DATA_PARTS_H_
#define CLEAVE_TOOLS_DATA_PARTS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "base/parallel/parallel.h"
#include "runtime/progress/progress.h"
#include "runtime/tokenizer/bpe/tokenizer_json.h"
#include "tools/data/text_file.h"

namespace cleave::tools {

// A line of a file.
struct TextLine {
  std::string path;
  int64_t number = 0;
  std::string text;
};

// What threads remember of pieces of text, one for each that works at a time.
class Memories {
 public:
  using Memory = runtime::TextTokenizer::Memory;

  explicit Memories(const runtime::TextTokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // use(memory), where nothing else uses it.
  template <typename Use>
  auto With(const Use& use) {
    std::unique_ptr<Memory> memory = Take();
    auto result = use(*memory);
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(memory));
    return result;
  }

 private:
  std::unique_ptr<Memory> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return tokenizer_.NewMemory();
    std::unique_ptr<Memory> memory = std::move(free_.back());
    free_.pop_back();
    return memory;
  }

  const runtime::TextTokenizer& tokenizer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Memory>> free_;
};

// Calls next(part) for parts until one is empty, work(part) for some of them at a time, and take(result) for each
// result in order. `next` and `take` run on this thread and return what is wrong, which ends all.
template <typename Part, typename Next, typename Work, typename Take>
std::optional<Diagnostic> InParts(const Next& next, const Work& work, const Take& take) {
  const size_t at_once = 8 * std::max(1U, std::thread::hardware_concurrency());
  for (bool is_at_end = false; !is_at_end;) {
    std::vector<Part> parts;
    std::optional<Diagnostic> error;
    while (parts.size() < at_once && !is_at_end && !error.has_value()) {
      Part part;
      error = next(part);
      is_at_end = part.empty();
      if (!is_at_end) parts.push_back(std::move(part));
    }
    auto results = MapInParallel(parts.size(), [&](size_t i) { return work(parts[i]); });
    for (auto& result : results) {
      if (auto wrong = take(std::move(result))) return wrong;
    }
    if (error.has_value()) return error;  // Of what comes behind these parts.
  }
  return std::nullopt;
}

// Files that are read one after another, of which one is open at a time.
class FilesInTurn {
 public:
  // E0634 where one of them cannot be opened.
  std::optional<Diagnostic> Open(const std::vector<std::string>& paths) {
    paths_ = paths;
    int64_t bytes = 0;
    for (const std::string& path : paths_) {
      if (auto error = TextFile::Open(path, file_)) return error;
      bytes += file_->bytes();
    }
    file_.reset();
    progress_ = std::make_unique<runtime::Progress>("reading the texts", bytes, runtime::ProgressOptions{});
    return std::nullopt;
  }

  // The file that is read now; null behind the last one.
  std::optional<Diagnostic> Now(TextFile*& file) {
    if (file_ == nullptr && next_ < paths_.size()) {
      if (auto error = TextFile::Open(paths_[next_++], file_)) return error;
    }
    if (file_ != nullptr) progress_->Reach(done_ + file_->consumed());
    file = file_.get();
    return std::nullopt;
  }

  void GoOn() {
    done_ += file_->bytes();
    file_.reset();
  }

 private:
  std::vector<std::string> paths_;
  size_t next_ = 0;
  std::unique_ptr<TextFile> file_;
  std::unique_ptr<runtime::Progress> progress_;
  int64_t done_ = 0;  // Bytes of the files before.
};

// The lines of several files, in parts. Lines of white space are passed over.
class LinesOfFiles {
 public:
  std::optional<Diagnostic> Open(const std::vector<std::string>& paths) { return files_.Open(paths); }

  // Some of them; none behind the last one.
  std::optional<Diagnostic> Next(std::vector<TextLine>& lines) {
    constexpr size_t kBytes = size_t{1} << 18;
    for (size_t bytes = 0; bytes < kBytes;) {
      TextFile* file = nullptr;
      if (auto error = files_.Now(file)) return error;
      if (file == nullptr) break;
      std::string line;
      bool is_there = false;
      if (auto error = file->ReadLine(line, is_there)) return error;
      if (!is_there) {
        files_.GoOn();
      } else if (line.find_first_not_of(" \t\r\f\v") != std::string::npos) {
        bytes += line.size();
        lines.push_back({file->path(), file->line(), std::move(line)});
      }
    }
    return std::nullopt;
  }

 private:
  FilesInTurn files_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_PARTS_H_
