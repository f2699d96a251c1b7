// Writes JSON: objects and arrays as text, in the order in which things are added, without spaces.
//
//   JsonObject loss;
//   loss.AddInteger("step", 7);
//   loss.Add("loss", 0.25);
//   std::string line = loss.Text();  // {"step":7,"loss":0.25}
//
// Names and strings are UTF-8 and stay so; quotes, backslashes and control characters are escaped.
#ifndef CLEAVE_RUNTIME_JSON_JSON_WRITER_H_
#define CLEAVE_RUNTIME_JSON_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::runtime {

// A text as it stands between the quotes of a JSON string.
std::string JsonEscaped(const std::string& text);

class JsonArray;

class JsonObject {
 public:
  void Add(const std::string& name, const JsonObject& value);
  void Add(const std::string& name, const JsonArray& value);
  void Add(const std::string& name, const std::string& value);
  void Add(const std::string& name, double value);  // 9 digits; null where it is not finite.
  void AddInteger(const std::string& name, int64_t value);
  void AddWhole(const std::string& name, double value);  // Rounded, all digits.

  std::string Text() const { return "{" + members_ + "}"; }

 private:
  void AddText(const std::string& name, const std::string& value);

  std::string members_;
};

class JsonArray {
 public:
  JsonArray() = default;
  explicit JsonArray(const std::vector<int64_t>& values);

  void Add(const JsonObject& value);
  void Add(const JsonArray& value);
  void Add(const std::string& value);
  void AddNumber(double value);  // 9 digits; null where it is not finite.
  void AddInteger(int64_t value);

  std::string Text() const { return "[" + items_ + "]"; }

 private:
  void AddText(const std::string& value);

  std::string items_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_JSON_JSON_WRITER_H_
