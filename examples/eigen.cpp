// SPDX-License-Identifier: Apache-2.0
// Eigen on emulated formats: how long a sum of ones grows, and a linear system that is factorised in few bits and refined with
// residuals in double (E. Carson and N. J. Higham, SIAM J. Sci. Comput. 40, 2018).
#include <Eigen/LU>
#include <cstdio>
#include <cstdlib>

#include "emu/number_eigen.hpp"

using namespace ulpscope::emu;

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
using Vector = Eigen::VectorXd;

/// A row of ones times a column of ones, summed in N; and what the sum would be.
template <class N>
void print_sum(const char* name, int length) {
  const auto ones = Matrix<N>::Ones(1, length);
  std::printf("%-7s sum of %d ones: %g\n", name, length, static_cast<double>((ones * ones.transpose()).value()));
}

template <class N>
void print_refinement(const char* name, const Matrix<double>& a, const Vector& solution) {
  const Vector b = a * solution;
  const Eigen::PartialPivLU<Matrix<N>> lu(a.cast<N>());
  Vector x = Vector::Zero(b.size());
  std::printf("%-7s", name);
  for (int step = 0; step < 6; ++step) {
    const Vector residual = b - a * x;
    const double scale = residual.lpNorm<Eigen::Infinity>();  // keeps the residual within the format's range
    if (scale > 0) x += scale * lu.solve((residual / scale).cast<N>()).template cast<double>();
    const double error = (x - solution).norm() / solution.norm();
    error < 1e-13 ? std::printf("  converged") : std::printf("  %9.0e", error);
  }
  std::puts("");
}

int main() {
  print_sum<Number<e4m3>>("e4m3", 4000);
  print_sum<Number<bf16>>("bf16", 4000);
  print_sum<Number<fp16>>("fp16", 4000);

  const auto entry = [](Eigen::Index i, Eigen::Index j) { return 1.0 / static_cast<double>(1 + std::abs(i - j)); };
  const Matrix<double> a = Matrix<double>::NullaryExpr(16, 16, entry);
  const Vector solution = Vector::LinSpaced(16, 1, 2);
  std::puts("\nRelative error of A x = b after each step of refinement:");
  print_refinement<Number<e4m3>>("e4m3", a, solution);
  print_refinement<Number<e5m2>>("e5m2", a, solution);
  print_refinement<Number<bf16>>("bf16", a, solution);
  print_refinement<Number<fp16>>("fp16", a, solution);
  print_refinement<Number<fp32>>("fp32", a, solution);
  print_refinement<double>("double", a, solution);
}
