// Fields of JSON that another program has sent: what is not there, or is of another type, is nothing.
#ifndef CLEAVE_TOOLS_LSP_JSON_FIELDS_H_
#define CLEAVE_TOOLS_LSP_JSON_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/json/json.h"

namespace cleave::tools {

// The value that the names lead to; a null value where there is none.
const Json& At(const Json& json, std::initializer_list<const char*> names);

// The elements of a list; none of anything else.
const Json& ListAt(const Json& json, const char* name);

std::string TextOf(const Json& json);  // Empty of what is no string.
int64_t NumberOf(const Json& json);    // 0 of what is no whole number.
bool TruthOf(const Json& json);        // False of what is no bool.
std::vector<std::string> TextsOf(const Json& list);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_JSON_FIELDS_H_
