// SPDX-License-Identifier: Apache-2.0
// A library of some vendor, for runpath_test.py.
extern "C" int vendor();
int vendor() { return 7; }
