// SPDX-License-Identifier: Apache-2.0
// What is linked with it, for runpath_test.py.
extern "C" int vendor();
extern "C" int plugin();
int plugin() { return vendor(); }
