#include "runtime/generate/input_lines.h"

#include <errno.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cleave::runtime {

struct InputLines::Queue {
  std::mutex mutex;
  std::condition_variable has_changed;
  std::deque<std::string> lines;
  bool has_ended = false;

  void Add(std::string line) {
    // Who writes much faster than is read waits.
    constexpr size_t kMost = 1024;
    std::unique_lock<std::mutex> lock(mutex);
    has_changed.wait(lock, [&] { return lines.size() < kMost; });
    lines.push_back(std::move(line));
    has_changed.notify_all();
  }

  void ReadAll() {
    // Not by stdio, whose locks a process that ends waits for.
    std::vector<char> buffer(size_t{1} << 16);
    std::string line;
    bool is_new = true;  // Nothing of the line has come.
    for (;;) {
      const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      for (ssize_t i = 0; i < count; ++i) {
        const char c = buffer[static_cast<size_t>(i)];
        is_new = c == '\n';
        if (is_new) {
          Add(std::exchange(line, ""));
        } else if (line.size() < kLongest) {
          line += c;
        }
      }
    }
    if (!is_new) Add(std::move(line));
    const std::lock_guard<std::mutex> lock(mutex);
    has_ended = true;
    has_changed.notify_all();
  }
};

InputLines::InputLines() : queue_(std::make_shared<Queue>()) {
  std::thread([queue = queue_] { queue->ReadAll(); }).detach();
}

std::optional<std::string> InputLines::Next(double seconds) {
  std::unique_lock<std::mutex> lock(queue_->mutex);
  const auto is_there = [&] { return !queue_->lines.empty() || queue_->has_ended; };
  if (seconds > 0) queue_->has_changed.wait_for(lock, std::chrono::duration<double>(seconds), is_there);
  if (queue_->lines.empty()) return std::nullopt;
  std::string line = std::move(queue_->lines.front());
  queue_->lines.pop_front();
  queue_->has_changed.notify_all();
  return line;
}

bool InputLines::AreOver() {
  const std::lock_guard<std::mutex> lock(queue_->mutex);
  return queue_->has_ended && queue_->lines.empty();
}

}  // namespace cleave::runtime
