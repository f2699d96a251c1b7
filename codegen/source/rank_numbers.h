// Expressions for numbers that differ between ranks, such as where a rank's slice begins and to whom it sends.
//
//   numbers.Of({0, 32, 64, 96}, "starts") == "rank * 32"
//   numbers.Of({1, 2, 3, 0}, "next") == "(rank + 1) % 4"
//   numbers.Of({0, 0, 8, 8}, "starts") == "dp * 8"        on the mesh (dp = 2, tp = 2)
//   numbers.Of({3, 1, 4, 1}, "order") == "order_by_rank[rank]"
//
// Numbers without a short formula are put in a table. When the program is for one rank alone, each is a number.
#ifndef CLEAVE_CODEGEN_SOURCE_RANK_NUMBERS_H_
#define CLEAVE_CODEGEN_SOURCE_RANK_NUMBERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/cpp/cpp.h"
#include "codegen/source/sizes.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::codegen {

class RankNumbers {
 public:
  RankNumbers(const ir::Mesh& mesh, Sizes& sizes, Identifiers& identifiers)
      : mesh_(mesh), sizes_(sizes), identifiers_(identifiers) {}

  // One number for each rank. `wish` is the name of the table, where one is needed.
  cpp::Expr Of(absl::Span<const int64_t> by_rank, const std::string& wish);
  // The same for the elements of a tensor.
  cpp::Expr OfFloats(absl::Span<const double> by_rank, const std::string& wish);

  // What the expressions so far use: the rank's number, and tables of a type and its entries, "{3, 1, 4, 1}".
  bool uses_rank() const { return uses_rank_; }
  struct Table {
    std::string name;
    std::string type;
    cpp::Expr entries;
  };
  const std::vector<Table>& tables() const { return tables_; }

 private:
  std::optional<cpp::Expr> Formula(absl::Span<const int64_t> by_rank);
  std::optional<cpp::Expr> Modular(absl::Span<const int64_t> by_rank);
  std::optional<cpp::Expr> UpToTheLast(absl::Span<const int64_t> by_rank);
  std::optional<cpp::Expr> OfMeshAxes(absl::Span<const int64_t> by_rank);
  cpp::Expr InTable(const std::string& type, const cpp::Expr& entries, const std::string& wish);

  const ir::Mesh& mesh_;
  Sizes& sizes_;
  Identifiers& identifiers_;
  bool uses_rank_ = false;
  std::vector<Table> tables_;
  std::map<std::string, std::string> table_names_;  // By type and entries.
};

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_RANK_NUMBERS_H_
