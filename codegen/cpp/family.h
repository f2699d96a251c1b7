// Programs that are the same but for some numbers and strings, as one program and a table.
//
//   one:      float* const weight = arena.At<float>(4096);
//   another:  float* const weight = arena.At<float>(8192);
//   both:     float* const weight = arena.At<float>(of_stage.weight);     weight: 4096, 8192
//
// What differs is read from an object, so it may differ only within structs, which can have that object as a member:
// where they declare fields, and in what their functions do. Types, names and everything outside of structs are equal.
#ifndef CLEAVE_CODEGEN_CPP_FAMILY_H_
#define CLEAVE_CODEGEN_CPP_FAMILY_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/cpp/code.h"
#include "codegen/cpp/expr.h"

namespace cleave::codegen::cpp {

struct Family {
  struct Column {
    std::string name;
    bool is_text = false;      // Strings, rather than whole numbers.
    std::vector<Expr> values;  // By member.
  };

  std::string table;  // The object that has what differs: "of_stage".
  Code code = Code(0);
  std::vector<Column> columns;    // Members of the object.
  std::set<std::string> structs;  // Those that read it.
};

// nullopt where the members differ in more. In comments '#' stands for a number that differs, and those that differ in
// more are left out. REQUIRES: there is a member.
std::optional<Family> Unite(const std::vector<const Code*>& members, absl::string_view table);

// What the family says for one of its members: it does the same as that member (DoTheSame).
Code MemberOf(const Family& family, size_t member);

}  // namespace cleave::codegen::cpp

#endif  // CLEAVE_CODEGEN_CPP_FAMILY_H_
