// SPDX-License-Identifier: Apache-2.0
// The one writer of files, for those that the package writes.
#include "files/new_file.hpp"

#include "python/bindings.hpp"

namespace ulpscope::python {

void add_files(nb::module_& m) {
  nb::class_<files::NewFile>(m, "NewFile")
      .def(nb::init<const std::string&>(), nb::arg("path"))
      .def(
          "write", [](files::NewFile& file, Bytes bytes) { file.write(bytes.data(), bytes.size()); }, nb::arg("bytes"))
      .def("commit", &files::NewFile::commit);
}

}  // namespace ulpscope::python
