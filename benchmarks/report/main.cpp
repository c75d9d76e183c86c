/// Compares results of Google Benchmark (compare), and draws them (page).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <syncopate/error.hpp>
#include <vector>

#include "compare.hpp"
#include "page.hpp"
#include "results.hpp"

int main(int argc, char** argv) {
  CLI::App app("Compares results of Google Benchmark, which --benchmark_out=FILE.json writes, and draws them.");
  app.require_subcommand(1);

  std::string before, after;
  std::optional<double> fail_above;
  auto* const comparison = app.add_subcommand("compare", "medians of two files next to each other");
  comparison->add_option("OLD.json", before, "results before")->required();
  comparison->add_option("NEW.json", after, "results after")->required();
  comparison->add_option(
      "--fail-above", fail_above,
      "exit code 1 if a time or a ratio grew by more than so many percent, and by more than its noise");

  std::string directory;
  std::vector<std::string> files;
  auto* const page = app.add_subcommand("page", "plots of several files, by gnuplot, on a page of HTML");
  page->add_option("DIRECTORY", directory, "gets index.html, the plots and their data")->required();
  page->add_option("FILE.json", files, "results")->required();
  CLI11_PARSE(app, argc, argv);

  try {
    if (*comparison) {
      const auto old_results = benchmark_report::read_results(before);
      return benchmark_report::compare(std::cout, old_results, benchmark_report::read_results(after), fail_above) ? 0
                                                                                                                  : 1;
    }
    std::vector<benchmark_report::results> all(files.size());
    std::ranges::transform(files, all.begin(), benchmark_report::read_results);
    benchmark_report::write_page(directory, all);
    std::cout << directory << "/index.html\n";
  } catch (const syncopate::error& fault) {
    std::cerr << fault.what() << "\n";
    return 2;
  }
}
