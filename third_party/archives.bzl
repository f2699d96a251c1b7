"""Libraries as archives, for commands that people and scripts start often.

To find fifty libraries at each start takes longer than most of what a short command does.
"""

_ABSEIL = [
    "cord",
    "cord_internal",
    "cordz_functions",
    "cordz_handle",
    "cordz_info",
    "base",
    "city",
    "debugging_internal",
    "demangle_internal",
    "exponential_biased",
    "graphcycles_internal",
    "hash",
    "int128",
    "low_level_hash",
    "malloc_internal",
    "raw_hash_set",
    "raw_logging_internal",
    "spinlock_wait",
    "stacktrace",
    "status",
    "statusor",
    "str_format_internal",
    "strerror",
    "strings",
    "strings_internal",
    "symbolize",
    "synchronization",
    "throw_delegate",
    "time",
    "time_zone",
]

_OTHERS = [
    "antlr4-runtime",
    "jpeg",
    "pcre2-8",
    "png",
    "xxhash",
    "z",
    "zstd",
]

# The linkopts of a program. What its libraries ask for afterwards is not needed any more.
ARCHIVES = (
    ["-Wl,--as-needed", "-Wl,--start-group"] +
    ["-l:libabsl_%s.a" % name for name in _ABSEIL] +
    ["-l:lib%s.a" % name for name in _OTHERS] +
    ["-Wl,--end-group"]
)
