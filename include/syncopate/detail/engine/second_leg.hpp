#pragma once

#include <cstddef>

namespace syncopate::detail {

/// The order in which weights that ranks have updated go back, where they share the work: what left last, and is likely
/// to be needed first, comes first. All ranks have the same.
class second_leg {
 public:
  /// So many parts are to go back.
  void restart(std::size_t parts) { left_ = parts; }
  /// Those below have not been sent.
  std::size_t left() const { return left_; }
  /// The next one in order. Precondition: some are left.
  std::size_t next() { return --left_; }

 private:
  std::size_t left_ = 0;
};

}  // namespace syncopate::detail
