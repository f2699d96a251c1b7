// The frames of the Language Server Protocol: a block of headers with the length of the message, a blank line, and the
// message.
//
//   FrameReader reader;
//   reader.Feed(bytes);
//   while (const auto message = reader.Next()) Receive(*message);
#ifndef CLEAVE_TOOLS_LSP_FRAMING_H_
#define CLEAVE_TOOLS_LSP_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace cleave::tools {

inline constexpr int64_t kMostHeaderBytes = 4096;
inline constexpr int64_t kMostMessageBytes = int64_t{64} << 20;

// Bytes as they come, in pieces of any size. A block of headers without a length that can be, or of more than
// kMostHeaderBytes, is dropped, and reading goes on behind it.
class FrameReader {
 public:
  void Feed(absl::string_view bytes);

  // The next whole message; nullopt until there is one.
  std::optional<std::string> Next();

  // How many blocks were dropped.
  int64_t dropped() const { return dropped_; }

 private:
  absl::string_view Rest() const { return absl::string_view(bytes_).substr(begin_); }
  void Take(size_t count);

  std::string bytes_;
  size_t begin_ = 0;              // Of what was not taken.
  std::optional<size_t> length_;  // Of the message whose headers were read.
  int64_t dropped_ = 0;
};

std::string Framed(absl::string_view message);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_FRAMING_H_
