// A JSON text: it is refused, or each member of its objects is found, and each string can be written and read again.
#include "runtime/json/json.h"

#include <cstdlib>

#include "runtime/json/json_writer.h"
#include "tests/fuzz/input.h"

namespace {

using cleave::runtime::Json;

void CheckString(const std::string& text) {
  const auto again = cleave::runtime::ParseJson("\"" + cleave::runtime::JsonEscaped(text) + "\"");
  if (!again.ok() || again.value().text != text) std::abort();
}

void Check(const Json& value, size_t size) {
  if (value.offset >= size) std::abort();
  cleave::runtime::JsonInteger(value);
  if (value.kind == Json::Kind::kString) CheckString(value.text);
  for (const Json& item : value.items) Check(item, size);
  for (const auto& [name, member] : value.members) {
    if (value.Find(name) != &member) std::abort();
    cleave::runtime::IntegersMember(value, name);
    CheckString(name);
    Check(member, size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = cleave::runtime::ParseJson(cleave::tests::fuzz::Text(data, size));
  if (!json.ok() && json.error().message.empty()) std::abort();
  if (json.ok()) Check(json.value(), size);
  return 0;
}
