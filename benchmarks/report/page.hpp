#pragma once

#include <string>
#include <vector>

#include "results.hpp"

namespace benchmark_report {

/// Writes `index.html` into a directory, which is made if it is not there: a page with plots of all the files, which
/// needs nothing else. Throws `syncopate::error`.
void write_page(const std::string& directory, const std::vector<results>& files);

}  // namespace benchmark_report
