#include "codegen/program/opening.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/program/facts.h"
#include "codegen/program/settings.h"
#include "codegen/source/kernels.h"
#include "ir/graph/training/samples.h"

namespace cleave::codegen {
namespace {

void Include(absl::string_view header, cpp::Code& code) {
  const bool is_standard = absl::StartsWith(header, "<");
  code.Directive(absl::StrCat("#include ", is_standard ? std::string(header) : StringLiteral(header)));
}

void EmitIncludes(const Target& target, const ir::Program& program, const ir::Training& training, cpp::Code& code) {
  for (const absl::string_view header : {"<cmath>", "<memory>", "<vector>"}) Include(header, code);
  code.Gap();
  std::set<std::string> own = KernelHeaders(program);
  if (const ir::DataSource* custom = ir::CustomDataOf(training.data)) own.insert(CustomHeaderOf(*custom));
  for (const std::string& header : own) Include(header, code);
  std::vector<absl::string_view> headers(target.headers.begin(), target.headers.end());
  headers.push_back("runtime/runtime.h");
  std::sort(headers.begin(), headers.end());
  for (const absl::string_view header : headers) Include(header, code);
  code.Gap();
}

// The numbers that flags change.
void EmitNamedNumbers(const ir::Training& training, const ir::Program& program, cpp::Code& code) {
  for (const NamedNumber& number : NamedNumbersOf(training, program)) {
    if (number.variable.empty()) continue;
    const bool has_flag = !absl::StrContains(number.name, '.');
    code.Declare({cpp::Name("double"), number.variable}, cpp::Double(number.value),
                 has_flag ? absl::StrCat("The flag --", number.name, " changes it.")
                          : absl::StrCat("The flag --set ", number.name, "=X changes it."));
  }
  code.Gap();
}

cpp::Expr ConstexprOf(absl::string_view type) { return cpp::Name(absl::StrCat("constexpr ", type)); }

}  // namespace

cpp::Code& EmitOpening(const Target& target, const ir::Program& program, const ir::Training& training,
                       std::optional<int> rank, cpp::Code& file) {
  const ir::Mesh ranks_mesh = ir::RankMesh(program);
  const int ranks = ranks_mesh.rank_count();
  std::string who = absl::StrCat("for ", ranks == 1 ? "one rank" : absl::StrCat(ranks, " ranks"));
  if (rank.has_value()) who = absl::StrCat("for rank ", *rank, " of ", ranks);
  const std::string mesh = ranks > 1 ? absl::StrCat(", mesh ", ranks_mesh.ToString()) : "";
  file.Comment(absl::StrCat(program.model, " of ", PlaceIn(program, 0), ", ", who, mesh, "."));
  file.Comment("");
  file.Comment("Written by cleave. `make` builds it, `./run.sh` starts it.");
  EmitIncludes(target, program, training, file);
  file.Do(cpp::Name("using namespace cleave::runtime"));
  file.Gap();
  cpp::Code& code = file.Open(cpp::Namespace{});
  code.EmptyLine();
  EmitNamedNumbers(training, program, code);
  return code;
}

void EmitConstants(const Emission& emission, cpp::Code& code) {
  const cpp::Expr number = ConstexprOf("int64_t");
  const std::vector<Sizes::Constant> constants = emission.sizes.Constants();
  if (!constants.empty()) {
    code.Comment("Local sizes of dimensions that are cut evenly: the whole over the number of pieces.");
    for (const Sizes::Constant& constant : constants) {
      code.Declare({number, constant.name}, cpp::Expr(constant.elements) / constant.pieces);
    }
    code.Gap();
  }
  const std::vector<RankNumbers::Table>& tables = emission.rank_numbers.tables();
  if (!tables.empty()) {
    code.Comment("Numbers that no formula of the rank's number gives.");
    for (const RankNumbers::Table& table : tables) {
      code.Declare({ConstexprOf(table.type), absl::StrCat(table.name, "[]")}, table.entries);
    }
    code.Gap();
  }
}

void EmitConstructor(const Emission& emission, const std::string& type, cpp::Code& code) {
  const cpp::Expr context = cpp::Name("context");
  std::vector<cpp::Expr> initializers;
  const auto take = [&](absl::string_view member) {
    initializers.push_back(cpp::Call(member, {context.Member(member)}));
  };
  take("comm");
  take("watch");
  take("seed");
  if (HasGlances(emission.program)) take("observer");
  if (DependsOnStep(emission.program) && !emission.target.is_device) take("step");
  if (ReadsCoordinates(emission)) take("coordinates");
  std::vector<cpp::Variable> parameters = {{cpp::Name("const Context&"), "context"}};
  if (!emission.sharing.readers.empty()) {
    parameters.push_back({cpp::Name("int64_t"), "n"});
    initializers.insert(initializers.begin(), cpp::Braces(cpp::Name("of_stage"), {cpp::Name("n")}));
  }
  code.Open(cpp::Function{.result = cpp::Name("explicit"),
                          .name = type,
                          .parameters = std::move(parameters),
                          .initializers = std::move(initializers)});
  code.Gap();
}

}  // namespace cleave::codegen
