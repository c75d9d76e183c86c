#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace fashion_mnist {

/// One line on a terminal that redraws itself; nothing where standard error is no terminal.
class progress_bar {
 public:
  /// Of the ranks only one `draws`.
  explicit progress_bar(bool draws) : shown_(draws && isatty(STDERR_FILENO) == 1) {}
  ~progress_bar() { clear(); }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  void show(const std::string& what, std::size_t done, std::size_t all) {
    const int percent = static_cast<int>(100 * done / all);
    if (!shown_ || percent == percent_) return;
    percent_ = percent;
    const auto filled = static_cast<std::size_t>(percent * 3 / 10);
    std::fprintf(stderr, "\r%-20s [%s%s] %3d %%", what.c_str(), std::string(filled, '=').c_str(),
                 std::string(30 - filled, ' ').c_str(), percent);
    std::fflush(stderr);
  }

  void clear() {
    if (percent_ >= 0) std::fputs("\r\033[K", stderr);
    percent_ = -1;
  }

 private:
  bool shown_;
  int percent_ = -1;
};

}  // namespace fashion_mnist
