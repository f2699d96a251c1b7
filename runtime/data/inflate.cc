// Reading guide: Gunzip walks the members; Inflater::Block decodes one block; Code is a Huffman code as a table indexed
// by the next bits of the input. Every read of the input goes through Bits, which never leaves the buffer.
#include "runtime/data/inflate.h"

#include <algorithm>
#include <array>

namespace cleave::runtime {
namespace {

// The first mistake found, as text; decoding stops at it.
using Mistake = const char*;

constexpr int kLongestCode = 15;

// The input, from the lowest bit of each byte to the highest.
class Bits {
 public:
  Bits(const std::vector<uint8_t>& bytes, size_t at) : bytes_(bytes), next_(at) {}

  // The next `count` bits without taking them; beyond the end they are zero. REQUIRES: count <= 32.
  uint32_t Peek(int count) {
    while (held_ < count && next_ < bytes_.size()) {
      buffer_ |= uint64_t{bytes_[next_++]} << held_;
      held_ += 8;
    }
    return static_cast<uint32_t>(buffer_ & ((uint64_t{1} << count) - 1));
  }

  // Drops bits that were peeked; false when the input has not that many.
  bool Drop(int count) {
    if (count > held_) return false;
    buffer_ >>= count;
    held_ -= count;
    return true;
  }

  bool Take(int count, uint32_t& value) {
    value = Peek(count);
    return Drop(count);
  }

  void DropToByte() { Drop(held_ % 8); }

  void MoveTo(size_t position) {
    next_ = position;
    buffer_ = 0;
    held_ = 0;
  }

  // Of the next byte that no taken bit is in.
  size_t position() const { return next_ - static_cast<size_t>(held_ / 8); }

 private:
  const std::vector<uint8_t>& bytes_;
  size_t next_;
  uint64_t buffer_ = 0;
  int held_ = 0;
};

// A Huffman code: for every value of the next `bits_` bits the symbol that they begin with and its length.
class Code {
 public:
  // From the symbols' code lengths (RFC 1951, 3.2.2). A code may be incomplete only if it has a single symbol or none.
  Mistake Build(const uint8_t* lengths, size_t symbols) {
    std::array<int, kLongestCode + 1> count = {};
    for (size_t i = 0; i < symbols; ++i) ++count[lengths[i]];
    count[0] = 0;
    bits_ = 0;
    int used = 0;
    int64_t room = 1;
    std::array<uint32_t, kLongestCode + 2> first = {};
    for (int length = 1; length <= kLongestCode; ++length) {
      const size_t i = static_cast<size_t>(length);
      room = 2 * room - count[i];
      if (room < 0) return "has more codes than fit";
      first[i + 1] = (first[i] + static_cast<uint32_t>(count[i])) << 1;
      if (count[i] > 0) bits_ = length;
      used += count[i];
    }
    if (room > 0 && used > 1) return "has an incomplete set of codes";
    table_.assign(size_t{1} << bits_, Entry{});
    for (size_t symbol = 0; symbol < symbols; ++symbol) {
      const int length = lengths[symbol];
      if (length == 0) continue;
      const uint32_t code = Reversed(first[static_cast<size_t>(length)]++, length);
      for (size_t at = code; at < table_.size(); at += size_t{1} << length) {
        table_[at] = {static_cast<uint16_t>(symbol), static_cast<uint8_t>(length)};
      }
    }
    return nullptr;
  }

  bool Decode(Bits& bits, uint32_t& symbol) const {
    const Entry entry = table_[bits.Peek(bits_)];
    symbol = entry.symbol;
    return entry.length > 0 && bits.Drop(entry.length);
  }

 private:
  struct Entry {
    uint16_t symbol = 0;
    uint8_t length = 0;  // 0: no code begins like this.
  };

  // Codes stand in the input with their highest bit first, everything else with its lowest.
  static uint32_t Reversed(uint32_t code, int length) {
    uint32_t reversed = 0;
    for (int i = 0; i < length; ++i) reversed |= (code >> i & 1) << (length - 1 - i);
    return reversed;
  }

  int bits_ = 0;
  std::vector<Entry> table_ = std::vector<Entry>(1);
};

// Lengths and distances: a symbol's base value and how many extra bits follow it (RFC 1951, 3.2.5).
constexpr uint16_t kLengthBase[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t kLengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t kDistanceBase[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                      33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                      1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t kDistanceBits[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                     6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
constexpr Mistake kEnds = "ends in the middle of its data";

class Inflater {
 public:
  Inflater(const std::vector<uint8_t>& bytes, size_t at, std::vector<uint8_t>& output)
      : bytes_(bytes), bits_(bytes, at), output_(output), member_begin_(output.size()) {}

  // Decodes blocks up to the last.
  Mistake Run() {
    uint32_t last = 0;
    while (last == 0) {
      if (!bits_.Take(1, last)) return kEnds;
      if (Mistake mistake = Block()) return mistake;
    }
    bits_.DropToByte();
    return nullptr;
  }

  size_t position() const { return bits_.position(); }

 private:
  Mistake Block() {
    uint32_t kind = 0;
    if (!bits_.Take(2, kind)) return kEnds;
    switch (kind) {
      case 0:
        return Stored();
      case 1:
        FixedCodes();
        return Compressed();
      case 2:
        if (Mistake mistake = ReadCodes()) return mistake;
        return Compressed();
      default:
        return "has a block of unknown kind";
    }
  }

  Mistake Stored() {
    bits_.DropToByte();
    uint32_t size = 0;
    uint32_t inverse = 0;
    if (!bits_.Take(16, size) || !bits_.Take(16, inverse)) return kEnds;
    if ((size ^ inverse) != 0xFFFF) return "has a stored block whose size is damaged";
    const size_t at = bits_.position();
    if (bytes_.size() - at < size) return kEnds;
    output_.insert(output_.end(), bytes_.begin() + static_cast<int64_t>(at),
                   bytes_.begin() + static_cast<int64_t>(at + size));
    bits_.MoveTo(at + size);
    return nullptr;
  }

  void FixedCodes() {
    std::array<uint8_t, 288> lengths;
    for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    literals_.Build(lengths.data(), lengths.size());
    // 30 and 31 are part of the code but stand for no distance.
    const std::array<uint8_t, 32> distance_lengths = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
                                                      5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    distances_.Build(distance_lengths.data(), distance_lengths.size());
  }

  // The codes of a block that brings its own (RFC 1951, 3.2.7).
  Mistake ReadCodes() {
    uint32_t literals = 0;
    uint32_t distances = 0;
    uint32_t code_lengths = 0;
    if (!bits_.Take(5, literals) || !bits_.Take(5, distances) || !bits_.Take(4, code_lengths)) return kEnds;
    literals += 257;
    distances += 1;
    code_lengths += 4;
    if (literals > 286 || distances > 30) return "has too many codes in a block";
    static constexpr uint8_t kOrder[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    std::array<uint8_t, 19> first_lengths = {};
    for (uint32_t i = 0; i < code_lengths; ++i) {
      uint32_t length = 0;
      if (!bits_.Take(3, length)) return kEnds;
      first_lengths[kOrder[i]] = static_cast<uint8_t>(length);
    }
    Code code;
    if (Mistake mistake = code.Build(first_lengths.data(), first_lengths.size())) return mistake;
    std::array<uint8_t, 286 + 30> lengths = {};
    for (uint32_t at = 0; at < literals + distances;) {
      uint32_t symbol = 0;
      if (!code.Decode(bits_, symbol)) return "has an invalid code";
      if (symbol < 16) {
        lengths[at++] = static_cast<uint8_t>(symbol);
        continue;
      }
      if (symbol == 16 && at == 0) return "repeats a code length before the first";
      const uint8_t length = symbol == 16 ? lengths[at - 1] : uint8_t{0};
      uint32_t repeat = 0;
      if (!bits_.Take(symbol == 16 ? 2 : symbol == 17 ? 3 : 7, repeat)) return kEnds;
      repeat += symbol == 18 ? 11 : 3;
      if (at + repeat > literals + distances) return "repeats a code length beyond the last";
      for (; repeat > 0; --repeat) lengths[at++] = length;
    }
    if (lengths[256] == 0) return "has a block without an end";
    if (Mistake mistake = literals_.Build(lengths.data(), literals)) return mistake;
    return distances_.Build(lengths.data() + literals, distances);
  }

  Mistake Compressed() {
    while (true) {
      uint32_t symbol = 0;
      if (!literals_.Decode(bits_, symbol)) return "has an invalid code";
      if (symbol < 256) {
        output_.push_back(static_cast<uint8_t>(symbol));
        continue;
      }
      if (symbol == 256) return nullptr;
      if (symbol > 285) return "has an invalid length";
      uint32_t extra = 0;
      if (!bits_.Take(kLengthBits[symbol - 257], extra)) return kEnds;
      const size_t length = kLengthBase[symbol - 257] + extra;
      if (!distances_.Decode(bits_, symbol)) return "has an invalid code";
      if (symbol > 29) return "has an invalid distance";
      if (!bits_.Take(kDistanceBits[symbol], extra)) return kEnds;
      const size_t distance = kDistanceBase[symbol] + extra;
      if (distance > output_.size() - member_begin_) return "refers to data before its beginning";
      // The two may overlap: a run of one byte is a distance of 1.
      const size_t from = output_.size() - distance;
      output_.resize(output_.size() + length);
      uint8_t* target = output_.data() + output_.size() - length;
      const uint8_t* source = output_.data() + from;
      for (size_t i = 0; i < length; ++i) target[i] = source[i];
    }
  }

  const std::vector<uint8_t>& bytes_;
  Bits bits_;
  std::vector<uint8_t>& output_;
  const size_t member_begin_;
  Code literals_;
  Code distances_;
};

// Sets `at` behind the header of the member that begins there (RFC 1952, 2.3).
Mistake SkipHeader(const std::vector<uint8_t>& bytes, size_t& at) {
  constexpr Mistake kHeaderEnds = "ends in the middle of its header";
  if (bytes.size() - at < 10) return kHeaderEnds;
  if (bytes[at] != 0x1F || bytes[at + 1] != 0x8B) return "has something else after the compressed data";
  if (bytes[at + 2] != 8) return "is compressed by an unknown method";
  const uint8_t flags = bytes[at + 3];
  if ((flags & 0xE0) != 0) return "has unknown flags in its header";
  at += 10;
  if ((flags & 4) != 0) {
    if (bytes.size() - at < 2) return kHeaderEnds;
    at += 2 + bytes[at] + size_t{256} * bytes[at + 1];
    if (at > bytes.size()) return kHeaderEnds;
  }
  for (const int text : {8, 16}) {  // The original name, a comment: each ends with a zero.
    if ((flags & text) == 0) continue;
    while (at < bytes.size() && bytes[at] != 0) ++at;
    if (at++ == bytes.size()) return kHeaderEnds;
  }
  if ((flags & 2) != 0) at += 2;
  return at > bytes.size() ? kHeaderEnds : nullptr;
}

uint32_t ReadLittleEndian(const std::vector<uint8_t>& bytes, size_t at) {
  return uint32_t{bytes[at]} | uint32_t{bytes[at + 1]} << 8 | uint32_t{bytes[at + 2]} << 16 |
         uint32_t{bytes[at + 3]} << 24;
}

}  // namespace

uint32_t Crc32(const uint8_t* bytes, size_t count) {
  // Four tables take four bytes at a time; table[0] is the usual one.
  static const auto tables = [] {
    std::array<std::array<uint32_t, 256>, 4> tables;
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0xEDB88320u : value >> 1;
      tables[0][i] = value;
    }
    for (size_t table = 1; table < 4; ++table) {
      for (size_t i = 0; i < 256; ++i)
        tables[table][i] = tables[table - 1][i] >> 8 ^ tables[0][tables[table - 1][i] & 0xFF];
    }
    return tables;
  }();
  uint32_t crc = 0xFFFFFFFF;
  for (; count >= 4; bytes += 4, count -= 4) {
    crc ^= uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
    crc = tables[3][crc & 0xFF] ^ tables[2][crc >> 8 & 0xFF] ^ tables[1][crc >> 16 & 0xFF] ^ tables[0][crc >> 24];
  }
  for (; count > 0; ++bytes, --count) crc = crc >> 8 ^ tables[0][(crc ^ *bytes) & 0xFF];
  return ~crc;
}

bool LooksLikeGzip(const std::vector<uint8_t>& bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
}

Result<std::vector<uint8_t>> Gunzip(const std::vector<uint8_t>& bytes) {
  std::vector<uint8_t> output;
  const auto error = [](Mistake mistake, size_t at) {
    return Error{ExitCode::kInput, Format("%s, at byte %zu", mistake, at)};
  };
  size_t at = 0;
  do {
    const size_t begin = output.size();
    if (Mistake mistake = SkipHeader(bytes, at)) return error(mistake, std::min(at, bytes.size()));
    Inflater inflater(bytes, at, output);
    if (Mistake mistake = inflater.Run()) return error(mistake, inflater.position());
    at = inflater.position();
    if (bytes.size() - at < 8) return error("ends in the middle of its checksum", bytes.size());
    if (ReadLittleEndian(bytes, at) != Crc32(output.data() + begin, output.size() - begin)) {
      return error("has data that does not match its checksum", at);
    }
    if (ReadLittleEndian(bytes, at + 4) != static_cast<uint32_t>(output.size() - begin)) {
      return error("has data that does not match its size", at + 4);
    }
    at += 8;
  } while (at < bytes.size());
  return output;
}

}  // namespace cleave::runtime
