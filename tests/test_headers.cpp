// SPDX-License-Identifier: Apache-2.0
// Nothing: what is wanted of this program are the headers that are read for it.
int main() {}
