#include "tests/layering/order.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace cleave::tests::layering {
namespace {

using Names = absl::Span<const absl::string_view>;

constexpr absl::string_view kBase[] = {"base"};
constexpr absl::string_view kDslIr[] = {"base", "dsl", "ir"};
constexpr absl::string_view kIr[] = {"base", "ir"};
constexpr absl::string_view kTensor[] = {"ir/tensor"};
constexpr absl::string_view kGraph[] = {"ir/tensor", "ir/graph"};
constexpr absl::string_view kSharding[] = {"ir/tensor", "ir/graph", "ir/sharding"};
constexpr absl::string_view kProgram[] = {"ir/tensor", "ir/graph", "ir/sharding", "ir/transforms", "ir/program"};
constexpr absl::string_view kSearchModel[] = {"search/model"};
constexpr absl::string_view kSearchPrice[] = {"search/model", "search/price"};
constexpr absl::string_view kSearchSolve[] = {"search/model", "search/price", "search/solve"};
constexpr absl::string_view kSearchKnobs[] = {"search/model", "search/price", "search/solve", "search/knobs"};
constexpr absl::string_view kTools[] = {"base", "dsl", "ir", "runtime", "frontend", "search", "codegen"};
constexpr absl::string_view kEverything[] = {"base",    "dsl",   "ir",    "runtime", "frontend", "search",
                                             "codegen", "tools", "tests", "bench",   "examples"};

constexpr absl::string_view kMpiHeaders[] = {"mpi.h", "mpi-ext.h"};
constexpr absl::string_view kMpiFolders[] = {"runtime/comm/mpi", "bench", "tests"};
constexpr absl::string_view kGlooHeaders[] = {"gloo/"};
constexpr absl::string_view kGlooFolders[] = {"runtime/comm/gloo", "bench", "tests"};
constexpr absl::string_view kNcclHeaders[] = {"nccl"};
constexpr absl::string_view kNcclFolders[] = {"runtime/comm/nccl", "bench", "tests"};
constexpr absl::string_view kOneDnnHeaders[] = {"dnnl", "oneapi/dnnl"};
constexpr absl::string_view kOneDnnFolders[] = {"runtime/math/onednn", "bench", "tests"};
constexpr absl::string_view kPcre2Headers[] = {"pcre2"};
constexpr absl::string_view kPcre2Folders[] = {"runtime/tokenizer/pcre2", "bench", "tests"};
constexpr absl::string_view kPngHeaders[] = {"png.h"};
constexpr absl::string_view kPngFolders[] = {"runtime/image/png", "bench", "tests"};
constexpr absl::string_view kJpegHeaders[] = {"jpeglib.h", "jerror.h"};
constexpr absl::string_view kJpegFolders[] = {"runtime/image/jpeg", "bench", "tests"};
constexpr absl::string_view kCudaHeaders[] = {"cuda", "cublas", "cudnn", "nvtx", "nvToolsExt"};
constexpr absl::string_view kCudaFolders[] = {"runtime/device/cuda",
                                              "runtime/kernels/cuda",
                                              "runtime/math/cublas",
                                              "runtime/math/cudnn",
                                              "runtime/comm/nccl",
                                              "bench",
                                              "tests"};
constexpr absl::string_view kBlasHeaders[] = {"cblas", "openblas", "mkl"};
constexpr absl::string_view kBlasFolders[] = {"bench"};
constexpr absl::string_view kAntlrHeaders[] = {"antlr4"};
constexpr absl::string_view kAntlrFolders[] = {"dsl"};
constexpr absl::string_view kCompilerHeaders[] = {"absl/", "nlohmann/", "CLI/"};
constexpr absl::string_view kCompilerFolders[] = {"base",    "dsl",   "ir",    "frontend", "search",
                                                  "codegen", "tools", "tests", "bench",    "examples"};

bool IsUnder(absl::string_view path, absl::string_view folder) {
  return absl::StartsWith(path, folder) &&
         (path.size() == folder.size() || path[folder.size()] == '/' || path[folder.size()] == ':');
}

}  // namespace

absl::Span<const Layer> Layers() {
  static constexpr Layer kLayers[] = {
      {"base", {}},
      {"dsl", kBase},
      {"ir", kBase},
      {"runtime", {}},
      {"frontend", kDslIr},
      {"search", kIr},
      {"codegen", kIr},
      {"tools", kTools},
      {"tests", kEverything},
      {"bench", kEverything},
      {"examples", kEverything},
  };
  return kLayers;
}

const Layer* AreaOf(absl::string_view path) {
  // What puts transforms and programs together is a part of the latter, and stands above both.
  static constexpr Layer kAreas[] = {
      {"ir/tensor", {}},
      {"ir/graph", kTensor},
      {"ir/sharding", kGraph},
      {"ir/transforms", kSharding},
      {"ir/program/lower", kProgram},
      {"ir/program", kSharding},
      {"ir/proof", kProgram},
      {"search/model", {}},
      {"search/price", kSearchModel},
      {"search/solve", kSearchPrice},
      {"search/knobs", kSearchSolve},
      {"search/search.h", kSearchKnobs},
  };
  for (const Layer& area : kAreas) {
    if (IsUnder(path, area.name)) return &area;
  }
  return nullptr;
}

const Layer* LayerOf(absl::string_view path) {
  // Build rules are not code: every BUILD file may load them.
  if (IsUnder(path, "tools/build")) return nullptr;
  for (const Layer& layer : Layers()) {
    if (IsUnder(path, layer.name)) return &layer;
  }
  return nullptr;
}

bool MayUse(const Layer& user, const Layer& used) {
  return user.name == used.name || std::find(user.uses.begin(), user.uses.end(), used.name) != user.uses.end();
}

const Restriction* RestrictionOf(absl::string_view header) {
  static constexpr Restriction kRestrictions[] = {
      {"MPI", kMpiHeaders, kMpiFolders},
      {"Gloo", kGlooHeaders, kGlooFolders},
      {"NCCL", kNcclHeaders, kNcclFolders},
      {"oneDNN", kOneDnnHeaders, kOneDnnFolders},
      {"CUDA", kCudaHeaders, kCudaFolders},
      {"a BLAS", kBlasHeaders, kBlasFolders},
      {"ANTLR", kAntlrHeaders, kAntlrFolders},
      {"PCRE2", kPcre2Headers, kPcre2Folders},
      {"libjpeg", kJpegHeaders, kJpegFolders},
      {"libpng", kPngHeaders, kPngFolders},
      {"the compiler", kCompilerHeaders, kCompilerFolders},
  };
  for (const Restriction& restriction : kRestrictions) {
    for (const absl::string_view prefix : restriction.prefixes) {
      if (absl::StartsWith(header, prefix)) return &restriction;
    }
  }
  return nullptr;
}

}  // namespace cleave::tests::layering
