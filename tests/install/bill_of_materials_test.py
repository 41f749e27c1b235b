#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bill of materials names every library that the program, and the module of Python, are linked with or compiled from, and no other.

usage: bill_of_materials_test.py BILL ROOT PROGRAM [MODULE]
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

BILL, ROOT, *BINARIES = sys.argv[1:]
del sys.argv[1:]
# What the compiler and the C library bring, Clang's sanitizers libresolv among it.
SYSTEM = re.compile(r"^(ld-linux|libc|libm|libgcc_s|libstdc\+\+|libdl|libpthread|libasan|libubsan|libresolv)[-.]")
# The first folder or the name of headers, and whose they are.
HEADERS = {"CLI": "CLI11", "boost": "Boost", "csv.h": "libcsv", "fmt": "fmt", "hwy": "Highway", "mpfr.h": "MPFR", "nanobind": "nanobind",
           "nlohmann": "JSON", "openssl": "OpenSSL", "protozero": "protozero", "tbb": "TBB", "toml++": "tomlplusplus", "zip.h": "libzip"}
# Headers that bring another library along.
THROUGH = {"boost/multiprecision/mpfr.hpp": "MPFR", "nanobind/nanobind.h": "robin-map"}
ELSEWHERE = {"Eigen", "catch2", "gtest", "sys", "cuda", "cooperative_groups"}  # in what users or other programs compile
SYSTEM_HEADER = re.compile(r"^(sys/|cuda|cublas|[a-z_0-9]+(\.h)?$|[a-z]*intrin\.h$|arm_neon\.h$)")


def needed(program):
    said = subprocess.run(["readelf", "-d", program], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))


def included():
    """Headers of others that the rooms of the program, and of the module, include."""
    rooms = ["emu", "files", "gpu", "reports", "tensors", "requests", "recipes", "products", "studies", "training", "verify", "study_files", "cli",
             *["python" for module in BINARIES[1:]]]
    found = set()
    for room in rooms:
        for path in pathlib.Path(ROOT, room).rglob("*.[ch]pp"):
            found.update(re.findall(r"^#include <([^>]+)>", path.read_text(), re.M))
    return found


class BillOfMaterialsTest(unittest.TestCase):
    def setUp(self):
        self.bill = json.loads(pathlib.Path(BILL).read_text())
        self.packages = {package["name"]: package for package in self.bill["packages"]}

    def test_the_document_is_of_spdx_2_3(self):
        self.assertEqual(self.bill["spdxVersion"], "SPDX-2.3")
        for key in ("dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"):
            self.assertIn(key, self.bill)
        ids = {package["SPDXID"] for package in self.bill["packages"]}
        self.assertEqual(len(ids), len(self.bill["packages"]))
        for relation in self.bill["relationships"][1:]:
            self.assertEqual(relation["spdxElementId"], "SPDXRef-ulpscope")
            self.assertIn(relation["relatedSpdxElement"], ids)

    def test_every_library_has_a_version_and_a_licence(self):
        for name, package in self.packages.items():
            self.assertRegex(package["versionInfo"], r"^\d+(\.\d+)+", name)
            self.assertRegex(package["licenseDeclared"], r"^[A-Za-z]+[-A-Za-z0-9.]*$", name)

    def test_every_linked_library_is_named(self):
        linked = {package["packageFileName"] for package in self.packages.values() if "packageFileName" in package}
        files = {re.sub(r"\.so.*", ".so", name) for binary in BINARIES for name in needed(binary) if not SYSTEM.match(name)}
        self.assertGreater(len(files), 3)
        self.assertEqual(files - linked, set())
        self.assertEqual(linked - files - {"libgmp.so"}, set(), "named, but not linked with")  # which MPFR is linked with

    def test_every_header_of_others_is_of_a_library_that_is_named(self):
        owners = set()
        for header in included():
            first = header.split("/")[0]
            owners.update({THROUGH[header]} if header in THROUGH else ())
            if first in HEADERS:
                owners.add(HEADERS[first])
            elif first not in ELSEWHERE:
                self.assertRegex(header, SYSTEM_HEADER, "whose header is this?")
        self.assertEqual(owners - set(self.packages), set())
        self.assertEqual(set(self.packages) - owners - {"ulpscope", "GMP"}, set(), "named, but nothing of it is included")


if __name__ == "__main__":
    unittest.main()
