// SPDX-License-Identifier: Apache-2.0
// The real plugin, linked to the real libraries: it opens, and says what is missing.
#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "gpu/plugin.hpp"

TEST_CASE("the plugin opens and says what is missing", "[gpu]") {
  using namespace ulpscope::gpu;
  void* const plugin = dlopen(ULPSCOPE_CUBLAS_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  INFO((plugin == nullptr ? dlerror() : "opened"));
  REQUIRE(plugin != nullptr);
  const auto libraries = reinterpret_cast<LibrariesOfPlugin>(dlsym(plugin, libraries_symbol));
  REQUIRE(libraries != nullptr);

  try {
    std::vector<std::shared_ptr<const Library>> found;
    libraries(0, found);
    CHECK(found.size() == 2);  // where there is a GPU
  } catch (const NoDevice& missing) {
    CHECK_THAT(missing.what(), Catch::Matchers::ContainsSubstring("cuBLAS: no GPU: cudaError"));
  }
  std::vector<std::shared_ptr<const Library>> none;
  CHECK_THROWS_AS(libraries(-1, none), NoDevice);
}
