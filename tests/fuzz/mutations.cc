#include "tests/fuzz/mutations.h"

#include <algorithm>

namespace cleave::tests::fuzz {
namespace {

constexpr size_t kLongestPiece = 64;

size_t Below(size_t end, std::mt19937_64& random) { return end == 0 ? 0 : random() % end; }

// A random piece of `text`.
std::string Piece(const std::string& text, std::mt19937_64& random) {
  return text.substr(Below(text.size() + 1, random), 1 + Below(kLongestPiece, random));
}

// What is put in at some place.
std::string Insertion(const std::vector<std::string>& corpus, const std::vector<std::string>& words,
                      const std::string& text, std::mt19937_64& random) {
  switch (random() % 5) {
    case 0:
      return std::string(1 + random() % 3, static_cast<char>(random()));
    case 1:
      return Piece(text, random);
    case 2:
      return Piece(corpus[Below(corpus.size(), random)], random);
    case 3:
      return std::to_string(random() >> random() % 64);
    default:
      return words.empty() ? "" : words[Below(words.size(), random)];
  }
}

}  // namespace

std::string Mutated(const std::vector<std::string>& corpus, const std::vector<std::string>& words,
                    std::mt19937_64& random) {
  std::string text = corpus[Below(corpus.size(), random)];
  for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
    const size_t at = Below(text.size() + 1, random);
    switch (random() % 4) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
        break;
      case 1:
        text.erase(at, 1 + Below(kLongestPiece, random));
        break;
      case 2:
        text.insert(at, Insertion(corpus, words, text, random));
        break;
      default:
        text.replace(at, 1 + Below(8, random), Insertion(corpus, words, text, random));
    }
  }
  text.resize(std::min(text.size(), kLongestInput));
  return text;
}

std::vector<std::string> DictionaryWords(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = text.find('"'); begin != std::string::npos; begin = text.find('"', begin + 1)) {
    std::string word;
    for (++begin; begin < text.size() && text[begin] != '"'; ++begin) {
      if (text[begin] != '\\') {
        word += text[begin];
      } else if (text.compare(begin, 2, "\\x") == 0 && begin + 3 < text.size()) {
        word += static_cast<char>(std::stoi(text.substr(begin + 2, 2), nullptr, 16));
        begin += 3;
      } else {
        word += text[++begin];
      }
    }
    words.push_back(word);
  }
  return words;
}

}  // namespace cleave::tests::fuzz
