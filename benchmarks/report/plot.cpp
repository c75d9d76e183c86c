#include "plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <syncopate/error.hpp>

#include "text.hpp"

namespace benchmark_report {
namespace {

/// Okabe and Ito's, which people with any colour vision tell apart, without the yellow; black is for what others are
/// compared with.
constexpr std::array colours{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#999999"};

/// Within quotes of gnuplot's.
std::string quoted(const std::string& text) {
  std::string inner;
  for (const char character : text) {
    if (character == '"' || character == '\\') inner += '\\';
    inner += character;
  }
  return '"' + inner + '"';
}

std::string quoted_for_shell(const std::string& text) {
  std::string inner;
  for (const char character : text) inner += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return "'" + inner + "'";
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw syncopate::error("syncopate: cannot write " + file);
}

std::string head(const std::string& name, int width, int height, const std::string& title, const std::string& x_label) {
  return format("set terminal svg size %d,%d dynamic noenhanced font 'sans-serif,12'\n", width, height) +
         "set output '" + name + ".svg'\n" + "set title " + quoted(title) + "\nset xlabel " + quoted(x_label) +
         "\nset border 3\nset tics nomirror out\nset grid lc '#dddddd'\n";
}

std::string run_gnuplot(const std::string& directory, const std::string& name, const std::string& script,
                        const std::string& data) {
  const std::string path = directory + "/" + name;
  write(path + ".dat", data);
  write(path + ".gnuplot", script);
  const std::string command = "cd " + quoted_for_shell(directory) + " && gnuplot " + name + ".gnuplot";
  if (std::system(command.c_str()) != 0)
    throw syncopate::error("syncopate: gnuplot did not draw " + path +
                           ".gnuplot; if it is not installed, Debian's and Ubuntu's package is gnuplot-nox");
  std::ifstream in(path + ".svg");
  std::ostringstream picture;
  picture << in.rdbuf();
  const std::string text = picture.str();
  const std::size_t begin = text.find("<svg"), title = text.find("<title>"), end = text.find("</title>");
  if (begin == std::string::npos || end == std::string::npos || !(begin < title && title < end))
    throw syncopate::error("syncopate: gnuplot left no picture in " + path + ".svg");
  return text.substr(begin, title - begin) + text.substr(end + 8);  // browsers would show the title, "Gnuplot"
}

}  // namespace

std::string draw(const line_plot& plot, const std::string& directory, const std::string& name) {
  std::ostringstream script, data;
  double left = HUGE_VAL, right = 0, lowest = plot.mark.value_or(HUGE_VAL), highest = plot.mark.value_or(0);
  std::string curves;
  for (std::size_t n = 0; n < plot.curves.size(); ++n) {
    const curve& one = plot.curves[n];
    curves += (n == 0 ? "plot '" : ", '") + name +
              format(".dat' index %d with linespoints title ", static_cast<int>(n)) + quoted(one.title) +
              (one.reference ? " lc 'black' dt 2 lw 2 pt 0"
                             : format(" lc '%s' pt 7 ps 0.5 lw 2", colours[n % colours.size()]));
    data << "# " << one.title << "\n";
    for (const auto& [x, y] : one.points) {
      data << x << " " << y << "\n";
      left = std::min(left, x);
      right = std::max(right, x);
      lowest = std::min(lowest, y);
      highest = std::max(highest, y);
    }
    data << "\n\n";
  }

  constexpr double margin = 1.25;
  script << head(name, 640, 400, plot.title, plot.x_label) << "set ylabel " << quoted(plot.y_label)
         << (plot.curves.size() > 1 ? "\nset key outside right top" : "\nunset key")
         << "\nset logscale x\nset format x '%.0s%c'\n"
         << format("set xrange [%g:%g]\n", left / margin, right * margin)
         << (plot.logarithmic ? "set logscale y\n" : "")
         << format("set yrange [%g:%g]\n", plot.logarithmic ? lowest / margin : 0, highest * margin);
  if (plot.mark)
    script << format("set arrow from graph 0, first %g to graph 1, first %g nohead lc '#999999' lw 2 back\n",
                     *plot.mark, *plot.mark);
  script << curves << "\n";
  return run_gnuplot(directory, name, script.str(), data.str());
}

std::string draw(const bar_plot& plot, const std::string& directory, const std::string& name) {
  double longest = plot.mark.value_or(0);
  std::size_t letters = 0;
  std::ostringstream script, data;
  for (std::size_t n = 0; n < plot.bars.size(); ++n) {
    const bar& one = plot.bars[n];
    longest = std::max(longest, one.length);
    letters = std::max(letters, one.text.size());
    data << n << " " << one.length << " " << quoted(one.label) << " " << quoted(one.text) << "\n";
  }
  const int count = static_cast<int>(plot.bars.size());
  script << head(name, 900, 90 + 20 * count, plot.title, plot.x_label)
         << format("set yrange [%d.5:-0.5]\nset xrange [0:%g]\n", count - 1,
                   (1.05 + 0.015 * static_cast<double>(letters)) * longest)
         << "unset key\nset grid noytics\nset style fill solid noborder\n";
  if (plot.mark)
    script << format("set arrow from %g, graph 0 to %g, graph 1 nohead lc '#999999' lw 2 back\n", *plot.mark,
                     *plot.mark);
  script << "plot '" << name
         << ".dat' using (0):1:(0):2:($1-0.35):($1+0.35):yticlabels(3) with boxxyerror lc '#56b4e9', "
         << "'' using 2:1:4 with labels left offset 0.5,0\n";
  return run_gnuplot(directory, name, script.str(), data.str());
}

}  // namespace benchmark_report
