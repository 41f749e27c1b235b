// SPDX-License-Identifier: Apache-2.0
// The one writer of files, for those that the package writes.
#include <new>
#include <string>

#include "files/new_file.hpp"
#include "python/bindings.hpp"

namespace ulpscope::python {

void add_files(nb::module_& m) {
  nb::class_<files::NewFile>(m, "NewFile")
      .def(
          "__init__",
          [](files::NewFile* file, const nb::bytes& path) {
            new (file) files::NewFile(std::string(path.c_str(), path.size()));
          },
          nb::arg("path"))
      .def(
          "write", [](files::NewFile& file, Bytes bytes) { file.write(bytes.data(), bytes.size()); }, nb::arg("bytes"))
      .def("commit", &files::NewFile::commit);
}

}  // namespace ulpscope::python
