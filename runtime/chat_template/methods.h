// Private to runtime/chat_template: what methods of texts and dictionaries share with filters.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_METHODS_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_METHODS_H_

#include <vector>

#include "runtime/chat_template/given.h"

namespace cleave::runtime {

// Python's splitlines().
std::vector<MarkedText> LinesOf(const MarkedText& text, Progression& progression);

// The texts of the items with the separator between them.
Value Joined(const std::vector<Value>& items, const MarkedText& separator, const Given& given);

// Lists of a key and a value.
Value Pairs(const DictValue& dict, Progression& progression);

// Filters of a text that are methods, too.
Value ReplaceIn(const MarkedText& text, const Given& given);
Value StripBoth(const MarkedText& text, const Given& given);
Value InUpper(const MarkedText& text, const Given& given);
Value InLower(const MarkedText& text, const Given& given);
Value InCapital(const MarkedText& text, const Given& given);
Value InTitle(const MarkedText& text, const Given& given);  // As the filter has it.

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_METHODS_H_
