#include "page.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <syncopate/error.hpp>
#include <system_error>

#include "figures.hpp"
#include "text.hpp"

namespace benchmark_report {
namespace {

constexpr const char* style = R"(
body { font: 16px/1.5 sans-serif; max-width: 84em; margin: 2em auto; padding: 0 1em; color: #222; }
svg { max-width: 100%; height: auto; }
.plots { display: flex; flex-wrap: wrap; gap: 1em; }
.plots > div { flex: 0 1 auto; }
table { border-collapse: collapse; font-size: 14px; }
td, th { padding: 0.1em 0.8em; text-align: left; vertical-align: top; border-bottom: 1px solid #ddd; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char character : text) {
    if (character == '&')
      out += "&amp;";
    else if (character == '<')
      out += "&lt;";
    else if (character == '>')
      out += "&gt;";
    else
      out += character;
  }
  return out;
}

/// What programs say of the machine, the compiler and themselves: each once, whichever of them says it.
void write_context(std::ostream& out, const std::vector<results>& files) {
  std::vector<std::string> keys;
  for (const results& file : files)
    for (const auto& [key, value] : file.context)
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  out << "<table>\n";
  for (const std::string& key : keys) {
    out << "<tr><th>" << escaped(key) << "</th><td>";
    std::set<std::string> said;
    for (const results& file : files)
      for (const auto& [other, value] : file.context)
        if (other == key && said.insert(value).second) out << (said.size() > 1 ? "<br>" : "") << escaped(value);
    out << "</td></tr>\n";
  }
  out << "</table>\n";
}

void write_numbers(std::ostream& out, const results& file) {
  std::set<std::string> counters;
  for (const benchmark_result& one : file.benchmarks)
    for (const auto& [value, numbers] : one.values) counters.insert(value);
  counters.erase("time");
  std::vector<std::string> columns{"time"};
  columns.insert(columns.end(), counters.begin(), counters.end());

  out << "<details><summary>The numbers: medians over repetitions</summary>\n<table>\n<tr><th>benchmark</th>";
  for (const std::string& column : columns) out << "<th>" << escaped(column) << "</th>";
  out << "</tr>\n";
  for (const benchmark_result& one : file.benchmarks) {
    out << "<tr><td>" << escaped(one.name) << "</td>";
    for (const std::string& column : columns)
      out << "<td class=\"number\">" << (one.has(column) ? text_of_value(column, one[column]) : "") << "</td>";
    if (!one.error.empty()) out << "<td>failed: " << escaped(one.error) << "</td>";
    out << "</tr>\n";
  }
  out << "</table>\n</details>\n";
}

}  // namespace

void write_page(const std::string& directory, const std::vector<results>& files) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  std::ostringstream page;
  page
      << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>syncopate: benchmarks</title>\n"
      << "<style>" << style << "</style>\n</head>\n<body>\n<h1>syncopate: benchmarks</h1>\n";
  write_context(page, files);
  int plots = 0;
  for (const results& file : files) {
    page << "<h2>" << escaped(file.program) << "</h2>\n";
    for (const figure& one : figures_of(file)) {
      page << "<p>" << escaped(one.text) << "</p>\n<div class=\"plots\">\n";
      for (const auto& plot : one.plots)
        page << "<div>"
             << std::visit([&](const auto& drawn) { return draw(drawn, directory, format("plot_%d", ++plots)); }, plot)
             << "</div>\n";
      page << "</div>\n";
    }
    write_numbers(page, file);
  }
  page << "</body>\n</html>\n";

  const std::string name = directory + "/index.html";
  std::ofstream out(name);
  out << page.str();
  if (!out.flush()) throw syncopate::error("syncopate: cannot write " + name);
}

}  // namespace benchmark_report
