// Places in the text of a JSON document, for messages. Inside of base/json only.
#ifndef CLEAVE_BASE_JSON_JSON_PLACE_H_
#define CLEAVE_BASE_JSON_JSON_PLACE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace cleave {

// "line 3, column 14"; columns count characters of UTF-8.
std::string LineAndColumn(absl::string_view text, size_t offset);

// The offset of the value that a path of json.h leads to, or of the last value on its way that there is. REQUIRES (as
// for FindJsonKey): `text` is JSON.
size_t FindJsonPlace(absl::string_view text, absl::string_view where);

// The offset of the key before which there are `keys` others, in the order of the text.
size_t FindJsonKey(absl::string_view text, size_t keys);

}  // namespace cleave

#endif  // CLEAVE_BASE_JSON_JSON_PLACE_H_
