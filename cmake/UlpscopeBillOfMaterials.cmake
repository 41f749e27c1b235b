# The libraries that are compiled into the program, and into the module of Python where that is built, or linked to them, with
# versions and licences: ulpscope.spdx.json (SPDX 2.3, ISO/IEC 5962) beside the program's documents, and the licence texts where the
# system has them; both in a wheel, which holds the libraries, too. The test `bill_of_materials` holds it to the sources' includes
# and to what is linked with.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy 1.0 CONFIG REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(TBB 2021 CONFIG REQUIRED)
find_package(CLI11 2 CONFIG REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED)
pkg_check_modules(BILL_ZIP REQUIRED libzip)
pkg_check_modules(BILL_MPFR REQUIRED mpfr)
pkg_check_modules(BILL_GMP REQUIRED gmp)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
find_path(CSV_INCLUDE_DIR csv.h REQUIRED)

# ulpscope_header_version(RESULT FILE MACRO...): the whole numbers that these macros are defined as, joined by points
function(ulpscope_header_version result file)
  file(READ ${file} text)
  set(parts "")
  foreach(macro ${ARGN})
    string(REGEX MATCH "# *define +${macro} +([0-9]+)" found "${text}")
    list(APPEND parts ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN parts . version)
  set(${result} ${version} PARENT_SCOPE)
endfunction()
ulpscope_header_version(csv_version ${CSV_INCLUDE_DIR}/csv.h CSV_MAJOR CSV_MINOR CSV_RELEASE)
find_file(toml_version_header NAMES toml++/impl/version.hpp toml++/impl/version.h toml++/impl/toml_version.h
  PATHS ${TOMLPLUSPLUS_INCLUDE_DIR} NO_DEFAULT_PATH)
mark_as_advanced(toml_version_header)
ulpscope_header_version(protozero_version ${PROTOZERO_INCLUDE_DIR}/protozero/version.hpp PROTOZERO_VERSION_MAJOR PROTOZERO_VERSION_MINOR PROTOZERO_VERSION_PATCH)
set(toml_version NOASSERTION)
if(toml_version_header)
  ulpscope_header_version(toml_version ${toml_version_header} TOML_LIB_MAJOR TOML_LIB_MINOR TOML_LIB_PATCH)
endif()
# nanobind is compiled into the module, with the map that comes with it. Not cached: pip builds with another copy every time.
set(python_bill "")
if(TARGET ulpscope_python)
  find_path(NANOBIND_INCLUDE_DIR nanobind/nanobind.h PATHS ${nanobind_DIR}/../include NO_DEFAULT_PATH NO_CACHE REQUIRED)
  find_path(ROBIN_MAP_INCLUDE_DIR tsl/robin_map.h HINTS ${nanobind_DIR}/../ext/robin_map/include NO_CACHE REQUIRED)
  ulpscope_header_version(nanobind_version ${NANOBIND_INCLUDE_DIR}/nanobind/nanobind.h
    NB_VERSION_MAJOR NB_VERSION_MINOR NB_VERSION_PATCH)
  ulpscope_header_version(robin_map_version ${ROBIN_MAP_INCLUDE_DIR}/tsl/robin_growth_policy.h
    TSL_RH_VERSION_MAJOR TSL_RH_VERSION_MINOR TSL_RH_VERSION_PATCH)
  # The licence of the map is the comment at the head of its header.
  file(READ ${ROBIN_MAP_INCLUDE_DIR}/tsl/robin_map.h text)
  string(FIND "${text}" "*/" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  string(REGEX REPLACE "(^|\n) ?/?\\*+ ?" "\\1" text "${text}")
  string(STRIP "${text}" text)
  file(CONFIGURE OUTPUT licences/robin-map.txt CONTENT "${text}\n" @ONLY)
  set(python_bill "nanobind      ${nanobind_version}         BSD-3-Clause                   static   nanobind-dev"
                  "robin-map     ${robin_map_version}        MIT                            static   robin-map-dev")
endif()

#                 name           version                     licence                        linked   Debian's package
set(ulpscope_bill "Boost         ${Boost_VERSION}            BSL-1.0                        static   libboost-dev"
                  "CLI11         ${CLI11_VERSION}            BSD-3-Clause                   static   libcli11-dev"
                  "GMP           ${BILL_GMP_VERSION}         LGPL-3.0-or-later              gmp      libgmp-dev"
                  "Highway       ${hwy_VERSION}              Apache-2.0                     hwy      libhwy-dev"
                  "JSON          ${nlohmann_json_VERSION}    MIT                            static   nlohmann-json3-dev"
                  "MPFR          ${BILL_MPFR_VERSION}        LGPL-3.0-or-later              mpfr     libmpfr-dev"
                  "OpenSSL       ${OPENSSL_VERSION}          Apache-2.0                     crypto   libssl-dev"
                  "TBB           ${TBB_VERSION}              Apache-2.0                     tbb      libtbb-dev"
                  "fmt           ${fmt_VERSION}              MIT                            fmt      libfmt-dev"
                  "libcsv        ${csv_version}              LGPL-2.1-or-later              csv      libcsv-dev"
                  "libzip        ${BILL_ZIP_VERSION}         BSD-3-Clause                   zip      libzip-dev"
                  "protozero     ${protozero_version}       BSD-2-Clause                   static   libprotozero-dev"
                  "tomlplusplus  ${toml_version}             MIT                            static   libtomlplusplus-dev"
                  ${python_bill})

# ulpscope_install_licence(FILE NAME)
function(ulpscope_install_licence file name)
  if(NOT file)
    return()
  endif()
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME ${name}.txt)
  if(SKBUILD)
    install(FILES ${file} DESTINATION ulpscope/licences RENAME ${name}.txt COMPONENT python)
  endif()
endfunction()

# Where the texts are that lie elsewhere than Debian's.
set(text_Boost /usr/share/doc/libboost${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev/copyright)
set(text_nanobind ${nanobind_DIR}/../../nanobind-${nanobind_version}.dist-info/licenses/LICENSE)
set(text_robin-map ${PROJECT_BINARY_DIR}/licences/robin-map.txt)
# Debian's texts leave out what is in this folder.
set(common_LGPL-2.1-or-later LGPL-2.1)
set(common_LGPL-3.0-or-later LGPL-3 GPL-3)
set(common_Apache-2.0 Apache-2.0)
set(common "")

set(packages "")
set(relations "")
foreach(line ${ulpscope_bill})
  separate_arguments(words UNIX_COMMAND "${line}")
  list(GET words 0 name)
  list(GET words 1 version)
  list(GET words 2 licence)
  list(GET words 3 linked)
  list(GET words 4 debian)
  set(relation DYNAMIC_LINK)
  set(file ",\n      \"packageFileName\": \"lib${linked}.so\"")
  if(linked STREQUAL static)
    set(relation STATIC_LINK)
    set(file "")
  endif()
  string(APPEND packages ",
    {
      \"SPDXID\": \"SPDXRef-${name}\",
      \"name\": \"${name}\",
      \"versionInfo\": \"${version}\",
      \"licenseConcluded\": \"${licence}\",
      \"licenseDeclared\": \"${licence}\",
      \"copyrightText\": \"NOASSERTION\",
      \"downloadLocation\": \"NOASSERTION\",
      \"filesAnalyzed\": false${file}
    }")
  string(APPEND relations ",
    {\"spdxElementId\": \"SPDXRef-ulpscope\", \"relationshipType\": \"${relation}\", \"relatedSpdxElement\": \"SPDXRef-${name}\"}")
  file(GLOB text /usr/share/doc/${debian}/copyright)
  if(NOT text)
    file(GLOB text ${text_${name}})
  endif()
  ulpscope_install_licence("${text}" ${name})
  list(APPEND common ${common_${licence}})
endforeach()
list(REMOVE_DUPLICATES common)
foreach(name ${common})
  file(GLOB text /usr/share/common-licenses/${name})
  ulpscope_install_licence("${text}" ${name})
endforeach()
if(SKBUILD)  # what libzip is linked with lies in a wheel as well
  foreach(package zlib1g libbz2-1.0 liblzma5 libzstd1)
    file(GLOB text /usr/share/doc/${package}/copyright)
    ulpscope_install_licence("${text}" ${package})
  endforeach()
endif()

# The day of the commit, so that the same sources give the same file.
find_package(Git QUIET)
set(created "")
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ
    OUTPUT_VARIABLE created OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT created)
  set(created 1970-01-01T00:00:00Z)
endif()
configure_file(cmake/ulpscope.spdx.json.in ulpscope.spdx.json @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ulpscope.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(SKBUILD)
  install(FILES ${PROJECT_BINARY_DIR}/ulpscope.spdx.json DESTINATION ulpscope COMPONENT python)
endif()
