#pragma once

// Catch2 3 under the header name and with the global names of version 2, for which the tests are written.
#include <catch2/catch_all.hpp>

using Catch::Approx;
