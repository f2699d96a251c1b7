#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cleave::tools {
namespace {

struct Piece {
  unsigned char* at = nullptr;
  size_t bytes = 0;
  unsigned char mark = 0;
};

bool IsIntact(const Piece& piece) {
  for (size_t i = 0; i < piece.bytes; ++i) {
    if (piece.at[i] != piece.mark) return false;
  }
  return true;
}

Piece Made(size_t bytes, unsigned char mark) {
  Piece piece{.at = static_cast<unsigned char*>(::operator new(bytes)), .bytes = bytes, .mark = mark};
  std::memset(piece.at, mark, bytes);
  return piece;
}

// Blocks that are there at one time do not share memory, whatever was deleted between them.
void ChurnAndCheck(int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<Piece> pieces;
  for (int i = 0; i < 20000; ++i) {
    if (!pieces.empty() && random() % 5 < 2) {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      ASSERT_TRUE(IsIntact(pieces.back())) << "seed " << seed << ", step " << i;
      ::operator delete(pieces.back().at);
      pieces.pop_back();
    } else {
      pieces.push_back(Made(random() % 1200, static_cast<unsigned char>(random())));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(pieces.back().at) % 16, 0u);
    }
  }
  for (const Piece& piece : pieces) {
    ASSERT_TRUE(IsIntact(piece)) << "seed " << seed;
    ::operator delete(piece.at, piece.bytes);
  }
}

TEST(FreeListsTest, BlocksKeepWhatIsWritten) {
  for (int seed = 0; seed < 5; ++seed) ChurnAndCheck(seed);
}

TEST(FreeListsTest, ThreadsDoNotShareBlocks) {
  std::vector<std::thread> threads;
  for (int seed = 0; seed < 4; ++seed) threads.emplace_back(ChurnAndCheck, 100 + seed);
  for (std::thread& thread : threads) thread.join();
}

TEST(FreeListsTest, AnotherThreadMayDelete) {
  std::vector<std::string> texts;
  std::thread maker([&] {
    for (int i = 0; i < 10000; ++i) texts.push_back(std::string(static_cast<size_t>(20 + i % 700), 'x'));
  });
  maker.join();
  for (const std::string& text : texts) ASSERT_EQ(text.find_first_not_of('x'), std::string::npos);
  texts.clear();
  ChurnAndCheck(7);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(FreeListsTest, DeletedBlocksAreUsedAgain) {
  for (const size_t bytes : {1u, 16u, 40u, 1000u, 1024u}) {
    std::array<void*, 100> first = {}, second = {};
    for (void*& block : first) block = ::operator new(bytes);
    for (void* block : first) ::operator delete(block);
    for (void*& block : second) block = ::operator new(bytes);
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    EXPECT_EQ(second, first) << bytes;
    EXPECT_EQ(std::unique(first.begin(), first.end()), first.end());
    for (void* block : second) ::operator delete(block);
  }
}
#endif

}  // namespace
}  // namespace cleave::tools
