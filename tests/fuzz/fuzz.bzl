"""Fuzz targets: programs around one function that takes any bytes and must end well.

Each is built in two ways. By default it runs over its corpus and over random changes of it (replay_main.cc). With
`--config=fuzz` libFuzzer runs it, from Debian's libclang-rt-14-dev.
"""

load("//tools/build:crate.bzl", "crate_binary")

_LIBFUZZER = "/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a"

# libfuzzer.cc takes the place of these functions.
_WRAPPED = [
    "LLVMFuzzerTestOneInput",
    "_Exit",
    "_exit",
]

# Names, and signs of the grammar in quotes, as a dictionary.
_DICTIONARY = """
    cat $(SRCS) | { grep -aoE "[A-Za-z_][A-Za-z0-9_-]{1,30}|'[^'A-Za-z\\\\]{1,3}'" || true; } | tr -d "'" | LC_ALL=C sort -u | sed 's/["\\\\]/\\\\&/g; s/.*/"&"/' > $@"""

def fuzz_target(name, deps, corpus = [], words = [], srcs = []):
    """The target of `name`.cc, `name`.corpus, which lists the files of its corpus, and `name`.words, a dictionary.

    Args:
      name: of the target. The files in corpus/`name` are part of its corpus.
      deps: libraries.
      corpus: labels of more files; those that are scripts, expected outputs or pages are left out.
      words: text files whose words make up the dictionary.
      srcs: files that `name`.cc includes.
    """
    inputs = native.glob(["corpus/%s/*" % name]) + corpus
    crate_binary(
        name = name,
        testonly = True,
        srcs = [name + ".cc", "input.h"] + srcs,
        linkopts = select({
            ":by_libfuzzer": ["-Wl,--wrap=" + function for function in _WRAPPED] + [_LIBFUZZER, "-lpthread", "-ldl"],
            "//conditions:default": ["-lpthread"],
        }),
        deps = deps + select({
            ":by_libfuzzer": [":libfuzzer"],
            "//conditions:default": [":replay"],
        }),
    )
    native.genrule(
        name = name + "_corpus",
        testonly = True,
        srcs = inputs,
        outs = [name + ".corpus"],
        cmd = "printf '%s\\n' $(rootpaths " + ") $(rootpaths ".join(inputs) + ") | grep -vE '\\.(sh|txt|md)$$' > $@",
    )
    native.genrule(
        name = name + "_words",
        testonly = True,
        srcs = words + inputs,
        outs = [name + ".words"],
        cmd = _DICTIONARY,
    )
    native.filegroup(
        name = name + "_inputs",
        testonly = True,
        srcs = inputs + [name + ".corpus", name + ".words"],
    )

def text_constant(name, src):
    """`name`.inc: a string literal with the text of `src`, to be included where a constant is initialized."""
    native.genrule(
        name = name + "_inc",
        srcs = [src],
        outs = [name + ".inc"],
        cmd = "(echo 'R\"model(' | tr -d '\\n'; cat $<; echo ')model\"') > $@",
    )
