// Reading guide: Run opens what rank 0 reads and tells the others, Continue is the loop over the places of a batch.
#include "runtime/generate/generate.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <utility>

#include "runtime/device/staging.h"
#include "runtime/generate/sequences.h"
#include "runtime/launch/launch.h"
#include "runtime/mesh/mesh.h"
#include "runtime/tokenizer/tokenizer.h"

namespace cleave::runtime {
namespace {

bool IsPlace(const ModelInput& input) { return input.region.shape.size() == 1; }

// Writes a sequence to standard output as it grows.
class Printer {
 public:
  explicit Printer(const Tokenizer& tokenizer) : text_(tokenizer) {}

  // Writes the tokens since the last time, but not the one that ends it. What is no token of the tokenizer was not
  // drawn.
  void PrintNew(const Sequence& sequence) {
    const int64_t count = sequence.size() - (sequence.has_ended ? 1 : 0);
    for (; printed_ < count; ++printed_) {
      const Result<std::string> bytes = text_.Next(sequence.tokens[static_cast<size_t>(printed_)]);
      if (bytes.ok()) std::fwrite(bytes.value().data(), 1, bytes.value().size(), stdout);
    }
    std::fflush(stdout);
  }

  void End() {
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  Detokenizer text_;
  int64_t printed_ = 0;
};

class Generator {
 public:
  explicit Generator(const GenerateRequest& request)
      : request_(request),
        comm_(request.comm),
        staging_(TargetsOf(request.inputs), Staging::Writing::kBetweenSteps),
        window_(Tokens().region.shape[1]) {}

  Result<GenerationRecord> Run() {
    // Rank 0 alone reads files and draws.
    request_.watch.Start("the prompts", 0);
    if (std::optional<Error> error = Agree(comm_, IsFirst() ? Open() : std::nullopt)) return *error;
    Sequences all = LearnSequences();
    request_.watch.Finish();
    const double start = Now();
    const auto batch = static_cast<size_t>(Tokens().region.shape[0]);
    for (size_t first = 0; first < all.size(); first += batch) {
      const auto begin = all.begin() + static_cast<int64_t>(first);
      Sequences some(begin, begin + static_cast<int64_t>(std::min(batch, all.size() - first)));
      if (std::optional<Error> error = Continue(some, /*is_alone=*/all.size() == 1)) return *error;
      std::move(some.begin(), some.end(), begin);
    }
    GenerationRecord record;
    record.seconds = Now() - start;
    for (const Sequence& sequence : all) {
      record.prompt_tokens += sequence.prompt;
      record.tokens += sequence.size() - sequence.prompt;
    }
    return record;
  }

 private:
  static std::vector<Staging::Target> TargetsOf(const std::vector<ModelInput>& inputs) {
    std::vector<Staging::Target> targets;
    for (const ModelInput& input : inputs) {
      targets.push_back({input.integers, ElementCount(input.region.size) * static_cast<int64_t>(sizeof(int32_t))});
    }
    return targets;
  }

  bool IsFirst() const { return comm_.rank() == 0; }
  const ModelInput& Tokens() const {
    return *std::find_if_not(request_.inputs.begin(), request_.inputs.end(), IsPlace);
  }

  // Reads the flags, the tokenizer and the prompts.
  std::optional<Error> Open() {
    Result<GenerationOptions> options = ParseGeneration(request_.flags);
    if (!options.ok()) return options.error();
    options_ = std::move(options.value());
    const std::string& path = options_.tokenizer.empty() ? request_.settings.tokenizer : options_.tokenizer;
    const int64_t symbols = Tokens().limit;
    Result<std::unique_ptr<Tokenizer>> tokenizer = request_.settings.open_tokenizer(path, symbols);
    if (!tokenizer.ok()) return tokenizer.error();
    tokenizer_ = std::move(tokenizer.value());
    if (symbols > 0 && tokenizer_->size() > symbols) {
      return Error{ExitCode::kInput, Format("the tokenizer has %" PRId64 " tokens, and the model knows %" PRId64,
                                            tokenizer_->size(), symbols)};
    }
    if (std::optional<Error> error = FindEnds()) return error;
    for (const std::string& text : options_.prompts) {
      if (std::optional<Error> error = AddPrompt(text)) return error;
    }
    return std::nullopt;
  }

  std::optional<Error> FindEnds() {
    for (const std::string& name : options_.ends) {
      const std::optional<int32_t> end = tokenizer_->Find(name);
      if (!end.has_value()) {
        return Error{ExitCode::kUsage, Format("`--end %s` is no token of the tokenizer", name.c_str())};
      }
      ends_.push_back(*end);
    }
    return std::nullopt;
  }

  // A list for each of its samples: how many tokens there may be, and those of the prompt.
  std::optional<Error> AddPrompt(const std::string& text) {
    const Result<std::vector<int32_t>> tokens = tokenizer_->Encode(text);
    if (!tokens.ok()) return tokens.error();
    const auto count = static_cast<int64_t>(tokens.value().size());
    const int64_t places = request_.settings.places;
    if (count == 0) return Error{ExitCode::kUsage, "the prompt has no tokens, and the model continues a text"};
    if (count >= places) {
      return Error{ExitCode::kUsage, Format("the prompt has %" PRId64 " tokens, and the model %" PRId64
                                            " places: none is left for a new token",
                                            count, places)};
    }
    if (options_.length.value_or(0) > places - count) {
      return Error{ExitCode::kUsage,
                   Format("`--length %" PRId64 "`: the model has %" PRId64 " places, and the prompt takes %" PRId64,
                          *options_.length, places, count)};
    }
    std::vector<int32_t> list = {static_cast<int32_t>(count + options_.length.value_or(places - count))};
    list.insert(list.end(), tokens.value().begin(), tokens.value().end());
    prompts_.insert(prompts_.end(), static_cast<size_t>(options_.samples), list);
    return std::nullopt;
  }

  // Behind a list of the tokens that end a sequence rank 0 sends a list for each.
  Sequences LearnSequences() {
    const NumberLists lists = ListsOf(FromFirst(comm_, TextOf({ends_}) + TextOf(prompts_)));
    ends_ = lists.front();
    Sequences all;
    for (auto list = lists.begin() + 1; list != lists.end(); ++list) {
      Sequence sequence;
      sequence.number = static_cast<int64_t>(all.size());
      sequence.most = list->front();
      sequence.tokens.assign(list->begin() + 1, list->end());
      sequence.prompt = sequence.size();
      all.push_back(std::move(sequence));
    }
    return all;
  }

  // Continues these sequences, at most a batch of them, until all are done, and prints them; where there is one alone,
  // as its tokens come.
  std::optional<Error> Continue(Sequences& some, bool is_alone) {
    std::unique_ptr<Printer> printer;
    if (IsFirst() && is_alone) printer = std::make_unique<Printer>(*tokenizer_);
    int64_t done = 0;  // Places that the program remembers.
    for (int64_t known = KnownOf(some); known > 0; known = KnownOf(some)) {
      // A prompt is taken in windows as wide as a step; behind it a step ends with the last token that is known.
      const int64_t end = std::min(known, done + window_);
      const Window window = {std::max<int64_t>(0, end - window_), end};
      done = end;
      const auto ends_here = [&](const Sequence& sequence) { return sequence.EndsAt(end - 1); };
      const bool draws = std::any_of(some.begin(), some.end(), ends_here);
      // Logits that nobody draws from are not collected.
      request_.observer.Begin(draws ? Occasion::kTest : Occasion::kAgain);
      Fill(some, window);
      request_.step();
      request_.watch.Start("the next tokens", 0);
      request_.observer.Show();
      if (draws) {
        if (std::optional<Error> error = Draw(some, window)) return error;
      }
      request_.watch.Finish();
      if (draws && printer != nullptr) printer->PrintNew(some.front());
    }
    if (!IsFirst()) return std::nullopt;
    if (printer != nullptr) {
      printer->End();
      return std::nullopt;
    }
    for (const Sequence& sequence : some) {
      std::printf("--- %" PRId64 " ---\n", sequence.number + 1);
      Printer whole(*tokenizer_);
      whole.PrintNew(sequence);
      whole.End();
    }
    return std::nullopt;
  }

  // The places that a step computes: as many as it has from `begin` on, of which those before `end` have tokens.
  struct Window {
    int64_t begin = 0;
    int64_t end = 0;
  };

  // The number of places whose tokens are known in all sequences that are not done; 0 where all are.
  static int64_t KnownOf(const Sequences& some) {
    int64_t known = 0;
    for (const Sequence& sequence : some) {
      if (!sequence.IsDone() && (known == 0 || sequence.size() < known)) known = sequence.size();
    }
    return known;
  }

  // Sends the tokens at these places. What stands behind the last known one is computed again when it is known.
  void Fill(const Sequences& some, const Window& window) {
    const std::vector<void*> targets = staging_.Next();
    for (size_t i = 0; i < targets.size(); ++i) {
      const Region& region = request_.inputs[i].region;
      auto* values = static_cast<int32_t*>(targets[i]);
      if (IsPlace(request_.inputs[i])) {
        for (int64_t j = 0; j < region.size[0]; ++j)
          *values++ = static_cast<int32_t>(window.begin + region.begin[0] + j);
        continue;
      }
      for (int64_t row = region.begin[0]; row < region.begin[0] + region.size[0]; ++row) {
        for (int64_t j = 0; j < region.size[1]; ++j) *values++ = TokenAt(some, row, window.begin + region.begin[1] + j);
      }
    }
    staging_.Send();
    staging_.Deliver();
  }

  // 0 where there is none: rows of a batch may be empty, and sequences end.
  static int32_t TokenAt(const Sequences& some, int64_t row, int64_t place) {
    if (row >= static_cast<int64_t>(some.size())) return 0;
    const Sequence& sequence = some[static_cast<size_t>(row)];
    return place < sequence.size() ? sequence.tokens[static_cast<size_t>(place)] : 0;
  }

  // Draws the next token of the sequences that end with the window.
  std::optional<Error> Draw(Sequences& some, const Window& window) {
    Result<std::vector<int32_t>> drawn = std::vector<int32_t>();
    if (IsFirst()) drawn = DrawnTokens(some, window);
    const std::string said = FromFirst(comm_, drawn.ok() ? TextOf({drawn.value()}) : "");
    if (said.empty()) return Agree(comm_, drawn.ok() ? std::nullopt : std::optional<Error>(drawn.error()));
    const std::vector<int32_t> tokens = ListsOf(said).front();
    auto next = tokens.begin();
    for (Sequence& sequence : some) {
      if (!sequence.EndsAt(window.end - 1)) continue;
      sequence.tokens.push_back(*next);
      sequence.has_ended = std::count(ends_.begin(), ends_.end(), *next++) > 0;
    }
    return std::nullopt;
  }

  Result<std::vector<int32_t>> DrawnTokens(const Sequences& some, const Window& window) {
    const std::vector<OutputTensor> outputs = request_.observer.TakeOutputs();
    const std::vector<double>& logits = outputs.front().values;
    const int64_t symbols = outputs.front().shape.back();
    // A model may have more symbols than there are tokens.
    std::vector<float> row(static_cast<size_t>(std::min(symbols, tokenizer_->size())));
    std::vector<int32_t> drawn;
    for (size_t i = 0; i < some.size(); ++i) {
      if (!some[i].EndsAt(window.end - 1)) continue;
      const int64_t place = static_cast<int64_t>(i) * window_ + window.end - 1 - window.begin;
      const auto begin = logits.begin() + place * symbols;
      std::transform(begin, begin + static_cast<int64_t>(row.size()), row.begin(),
                     [](double value) { return static_cast<float>(value); });
      const Result<int32_t> token = SampleToken(row.data(), static_cast<int64_t>(row.size()), options_.sampling,
                                                {request_.seed, some[i].number, window.end});
      if (!token.ok()) return token.error();
      drawn.push_back(token.value());
    }
    return drawn;
  }

  const GenerateRequest& request_;
  Comm& comm_;
  Staging staging_;
  const int64_t window_;       // The number of places that a step computes.
  std::vector<int32_t> ends_;  // Tokens that end a sequence.
  // On rank 0.
  GenerationOptions options_;
  std::unique_ptr<Tokenizer> tokenizer_;
  NumberLists prompts_;
};

}  // namespace

Result<GenerationRecord> Generate(const GenerateRequest& request) { return Generator(request).Run(); }

}  // namespace cleave::runtime
