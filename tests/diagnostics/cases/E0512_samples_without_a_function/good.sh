cat > points.h <<END
#include "runtime/custom/view.h"

inline void point(int64_t sample, bool, View<float> values) { values[0] = values[1] = static_cast<float>(sample); }
inline void label(int64_t sample, bool, View<int32_t> values) { values[0] = static_cast<int32_t>(sample % 3); }
END
compile good.model --plan-only --quiet
