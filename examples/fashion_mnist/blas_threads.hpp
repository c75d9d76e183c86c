#pragma once

extern "C" void openblas_set_num_threads(int count) __attribute__((weak));

namespace fashion_mnist {

/// Each rank computes on one core, so BLAS must not start threads of its own. Tells OpenBLAS so where that is the BLAS
/// in use; others are told by their environment variables (`OMP_NUM_THREADS=1`, `BLIS_NUM_THREADS=1`, …).
inline void use_one_blas_thread() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

}  // namespace fashion_mnist
