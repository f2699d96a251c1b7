#include "runtime/random/random.h"

#include <algorithm>
#include <numeric>

#include "runtime/random/draws.h"

namespace cleave::runtime {
namespace {

// FNV-1a, 64 bits.
uint64_t HashName(const char* name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001B3;
  return hash;
}

// The finaliser of SplitMix64: neighbouring seeds get unrelated keys.
uint64_t Mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

// Calls store(local, block's words, lane, end lane) for the elements of the piece, those of a block of four at once:
// neighbours, the first of which lies at `local`.
template <typename Store>
void ForEachBlock(const Stream& stream, const Region& piece, Store store) {
  const StreamWords words(stream);
  ForEachRun(piece, [&](int64_t global, int64_t local, int64_t count) {
    const int64_t end = global + count;
    while (global < end) {
      const int64_t begin = global / 4 * 4;
      const int64_t block_end = std::min(end, begin + 4);
      store(local, words.Block(static_cast<uint64_t>(global) / 4), static_cast<size_t>(global - begin),
            static_cast<size_t>(block_end - begin));
      local += block_end - global;
      global = block_end;
    }
  });
}

// Calls store(local, block's words, lane) for every element of the piece.
template <typename Store>
void ForEachElement(const Stream& stream, const Region& piece, Store store) {
  ForEachBlock(stream, piece, [&](int64_t local, const PhiloxBlock& block, size_t lane, size_t end) {
    for (; lane < end; ++lane, ++local) store(local, block, lane);
  });
}

}  // namespace

PhiloxKey StreamKey(const Stream& stream) {
  const uint64_t key = Mix(Mix(stream.seed) ^ HashName(stream.name));
  return {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
}

void FillUniform(const Stream& stream, const Region& piece, float low, float high, float* values) {
  const UniformDraw draw(low, high);
  ForEachElement(stream, piece,
                 [=](int64_t local, const PhiloxBlock& block, size_t lane) { values[local] = draw(block, lane); });
}

void FillNormal(const Stream& stream, const Region& piece, float mean, float deviation, float* values) {
  const NormalDraw draw(mean, deviation);
  ForEachBlock(stream, piece, [=](int64_t local, const PhiloxBlock& block, size_t lane, size_t end) {
    while (lane < end) {
      const NormalDraw::Pair pair = draw.PairOf(block, lane);
      for (const size_t pair_end = std::min(end, lane / 2 * 2 + 2); lane < pair_end; ++lane, ++local) {
        values[local] = lane % 2 == 0 ? pair.first : pair.second;
      }
    }
  });
}

void FillIntegers(const Stream& stream, const Region& piece, int32_t limit, int32_t* values) {
  // Lemire's multiply and shift; with 32 bits the bias is below limit / 2^32.
  ForEachElement(stream, piece, [=](int64_t local, const PhiloxBlock& block, size_t lane) {
    values[local] = static_cast<int32_t>(uint64_t{block[lane]} * static_cast<uint64_t>(limit) >> 32);
  });
}

void FillConstant(const Region& piece, float value, float* values) {
  std::fill_n(values, ElementCount(piece.size), value);
}

std::vector<int64_t> Permutation(const Stream& stream, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  const StreamWords words(stream);
  for (int64_t i = count - 1; i > 0; --i) {
    // 62 random bits make the bias of the remainder negligible.
    const PhiloxBlock block = words.Block(static_cast<uint64_t>(i));
    const uint64_t draw = (uint64_t{block[0]} << 30) ^ block[1];
    std::swap(order[static_cast<size_t>(i)], order[draw % static_cast<uint64_t>(i + 1)]);
  }
  return order;
}

}  // namespace cleave::runtime
