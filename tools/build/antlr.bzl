"""C++ parsers from ANTLR 4 grammars, by Debian's antlr4 tool."""

def antlr_cc_library(name, grammar, namespace, visibility = None):
    """The lexer, parser and visitor of `grammar` ("Cleave.g4") in C++ namespace `namespace`.

    Headers are included as "<package>/CleaveLexer.h" and so on.
    """
    stem = grammar[:-len(".g4")]
    parts = ["Lexer", "Parser", "Visitor", "BaseVisitor"]
    sources = [stem + part + ".cpp" for part in parts]
    headers = [stem + part + ".h" for part in parts]
    native.genrule(
        name = name + "_generated",
        srcs = [grammar],
        outs = sources + headers,
        cmd = "cp $(SRCS) $(RULEDIR)/ && cd $(RULEDIR) && " +
              "antlr4 -Dlanguage=Cpp -visitor -no-listener -package {} {}".format(namespace, grammar),
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        # The tool writes u8"…" where std::string is meant, as C++17 allowed.
        copts = [
            "-w",
            "-fno-char8_t",
        ],
        visibility = visibility,
        deps = ["//third_party/antlr4"],
    )
