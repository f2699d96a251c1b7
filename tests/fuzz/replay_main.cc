// A driver for the targets of this folder without libFuzzer: runs a target over files and over random changes of them.
//
//   model_text [--corpus FILES] [--words WORDS] [--most N] [--mutations N] [--seed N] [FILE…]
//
// FILES names files, one a line, of which at most N run as they are, chosen by the seed; WORDS is a dictionary as
// libFuzzer reads it. The runs happen in a process of their
// own. When that ends early, whatever the reason, the input of the last run is kept in a file. Exit code: 0 when all
// runs ended well, 1 when one did not, 2 for a wrong command line.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/mutations.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace cleave::tests::fuzz {
namespace {

constexpr int kMostSeconds = 10;                    // For one run.
constexpr rlim_t kMostAddresses = rlim_t{3} << 30;  // 2 GB of memory, and what threads and libraries take.

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> words;
  uint64_t most = UINT64_MAX;
  uint64_t mutations = 0;
  uint64_t seed = 1;

  uint64_t* NumberOf(const std::string& option) {
    if (option == "--most") return &most;
    if (option == "--mutations") return &mutations;
    return option == "--seed" ? &seed : nullptr;
  }
};

// The input of the run that goes on, where the parent process can read it.
struct Shared {
  uint64_t run;
  size_t size;
  uint8_t bytes[kLongestInput];
};

std::optional<std::string> Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return std::nullopt;
  return text.str();
}

// nullopt after saying what is wrong.
std::optional<Options> ReadOptions(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].rfind("--", 0) != 0) {
      options.files.push_back(arguments[i]);
      continue;
    }
    const std::string option = arguments[i++];
    const std::string value = i < arguments.size() ? arguments[i] : "";
    if (uint64_t* const number = options.NumberOf(option); number != nullptr) {
      *number = std::strtoull(value.c_str(), nullptr, 10);
      continue;
    }
    const std::optional<std::string> text = Read(value);
    if ((option != "--corpus" && option != "--words") || !text.has_value()) {
      std::cerr << "cannot use " << option << " " << value << "\n";
      return std::nullopt;
    }
    if (option == "--words") {
      options.words = DictionaryWords(*text);
    } else {
      std::istringstream lines(*text);
      for (std::string line; std::getline(lines, line);) options.files.push_back(line);
    }
  }
  return options;
}

void Run(const std::string& input, Shared& shared) {
  ++shared.run;
  shared.size = std::min(input.size(), kLongestInput);
  std::memcpy(shared.bytes, input.data(), shared.size);
  // A copy of exactly this size, so that sanitizers see what is read behind its end.
  const std::vector<uint8_t> copy(shared.bytes, shared.bytes + shared.size);
  // Of the processor: other programs may use it too.
  const itimerval most = {{0, 0}, {kMostSeconds, 0}};
  setitimer(ITIMER_PROF, &most, nullptr);
  alarm(10 * kMostSeconds);
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

// All runs, in the child process.
[[noreturn]] void RunAll(const Options& options, const std::vector<std::string>& corpus, Shared& shared) {
#ifndef __SANITIZE_ADDRESS__  // It takes terabytes of addresses.
  const rlimit limit = {kMostAddresses, kMostAddresses};
  setrlimit(RLIMIT_AS, &limit);
#endif
  std::mt19937_64 random(options.seed);
  std::vector<std::string> chosen;
  std::sample(corpus.begin(), corpus.end(), std::back_inserter(chosen), std::min(options.most, uint64_t{corpus.size()}),
              random);
  for (const std::string& input : chosen) Run(input, shared);
  for (uint64_t i = 0; i < options.mutations; ++i) Run(Mutated(corpus, options.words, random), shared);
  alarm(0);
  shared.size = SIZE_MAX;
  std::exit(0);
}

std::string EndText(int status) {
  if (!WIFSIGNALED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF)
    return "more than " + std::to_string(kMostSeconds) + " seconds";
  return strsignal(WTERMSIG(status));
}

int Main(const std::string& program, const Options& options) {
  std::vector<std::string> corpus;
  for (const std::string& file : options.files) {
    const std::optional<std::string> text = Read(file);
    if (!text.has_value()) {
      std::cerr << "cannot read " << file << "\n";
      return 2;
    }
    corpus.push_back(*text);
  }
  if (corpus.empty()) {
    std::cerr << "no files\n";
    return 2;
  }
  auto& shared =
      *static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) RunAll(options, corpus, shared);
  int status = 0;
  waitpid(child, &status, 0);
  const std::string target = std::filesystem::path(program).filename().string();
  if (status == 0 && shared.size == SIZE_MAX) {
    std::cout << target << ": " << shared.run << " runs, " << std::min(options.most, uint64_t{corpus.size()})
              << " of them files\n";
    return 0;
  }
  const char* const outputs = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path = (outputs == nullptr ? "/tmp" : outputs) + ("/" + target + "_" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(shared.bytes), shared.size);
  std::cerr << target << ": run " << shared.run << " ended with: " << EndText(status) << "\n"
            << "its input: " << path << "\n"
            << "again: bazel run //tests/fuzz:" << target << " -- " << path << "\n";
  return 1;
}

}  // namespace
}  // namespace cleave::tests::fuzz

int main(int argc, char** argv) {
  const auto options = cleave::tests::fuzz::ReadOptions({argv + 1, argv + argc});
  return options.has_value() ? cleave::tests::fuzz::Main(argv[0], *options) : 2;
}
