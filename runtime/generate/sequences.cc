#include "runtime/generate/sequences.h"

#include <cstdlib>
#include <utility>

namespace cleave::runtime {

std::string ListsText(const NumberLists& lists) {
  std::string text;
  for (const std::vector<int32_t>& list : lists) {
    for (const int32_t number : list) text += std::to_string(number) + ' ';
    text += '\n';
  }
  return text;
}

NumberLists ListsOf(const std::string& text) {
  NumberLists lists;
  std::vector<int32_t> list;
  for (const char* at = text.c_str(); *at != '\0'; ++at) {
    if (*at == '\n') {
      lists.push_back(std::exchange(list, {}));
      continue;
    }
    char* end = nullptr;
    list.push_back(static_cast<int32_t>(std::strtol(at, &end, 10)));
    at = end;
  }
  return lists;
}

}  // namespace cleave::runtime
