// SPDX-License-Identifier: Apache-2.0
// Eigen on Number: float32 and float64 give the bits that Eigen gives for float and double, in the same order of operations.
#define EIGEN_DONT_VECTORIZE
#include "emu/number_eigen.hpp"

#include <Eigen/Dense>
#include <catch2/catch_template_test_macros.hpp>
#include <random>

#include "emu/catalogue.hpp"

namespace {
using namespace ulpscope::emu;

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

Matrix<double> random_matrix(int rows, int columns, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  return Matrix<double>::NullaryExpr(rows, columns, [&] { return normal(bits); });
}

template <class A, class B>
bool same(const A& numbers, const B& built_in) {
  return numbers.template cast<typename B::Scalar>() == built_in;
}

template <class N, class BuiltIn>
struct Pair {
  using Number = N;
  using Native = BuiltIn;
};

}  // namespace

TEMPLATE_TEST_CASE("Eigen computes with Number as with the built-in type", "[emu][number]", (Pair<Number<fp32>, float>),
                   (Pair<Number<fp64>, double>)) {
  using N = typename TestType::Number;
  using T = typename TestType::Native;
  for (const int size : {3, 17}) {
    const Matrix<T> a = random_matrix(size, size, 1).cast<T>(), b = random_matrix(size, 2, 2).cast<T>();
    const Matrix<N> na = a.template cast<N>(), nb = b.template cast<N>();
    CAPTURE(size);

    CHECK(same((na * nb).eval(), (a * b).eval()));
    CHECK(same((2 * na - na.transpose() / 3).eval(), (2 * a - a.transpose() / T(3)).eval()));
    CHECK(static_cast<T>(na.norm()) == a.norm());
    CHECK(same(na.partialPivLu().solve(nb).eval(), a.partialPivLu().solve(b).eval()));
    CHECK(same(na.householderQr().solve(nb).eval(), a.householderQr().solve(b).eval()));
    CHECK(same((na * na.transpose()).llt().solve(nb).eval(), (a * a.transpose()).llt().solve(b).eval()));
  }
}

TEST_CASE("sums of fixed size are formed in the same order", "[emu][number]") {
  const Eigen::Matrix<float, 7, 1> x = random_matrix(7, 1, 3).cast<float>(), y = random_matrix(7, 1, 4).cast<float>();
  const Eigen::Matrix<Number<fp32>, 7, 1> nx = x.cast<Number<fp32>>(), ny = y.cast<Number<fp32>>();

  CHECK(static_cast<float>(nx.dot(ny)) == x.dot(y));
  CHECK(static_cast<float>(nx.sum()) == x.sum());
}

TEST_CASE("Eigen's NumTraits are those of numeric_limits", "[emu][number]") {
  using Traits = Eigen::NumTraits<Number<e4m3>>;

  CHECK((Traits::epsilon() == 0.125 && Traits::dummy_precision() == 1 && Traits::highest() == 448 && Traits::lowest() == -448));
  CHECK((Traits::digits10() == 0 && Traits::digits() == 4 && !Traits::IsInteger && !Traits::IsComplex && Traits::IsSigned));
}
