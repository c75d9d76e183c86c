#pragma once

#include <syncopate/syncopate.hpp>

#ifdef WITH_BOOST_MPI
#include <syncopate/communicators/boost_mpi.hpp>
#endif
#ifdef WITH_XTENSOR
#include <syncopate/adaptors/xtensor.hpp>
#endif
#ifdef WITH_EIGEN
#include <syncopate/adaptors/eigen.hpp>
#endif
