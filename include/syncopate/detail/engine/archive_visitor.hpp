#pragma once

#include <cstdint>
#include <span>

#include "../archive.hpp"
#include "../elements/state_visitor.hpp"

namespace syncopate::detail {

/// Writes what is kept to an archive of Boost.Serialization's idiom.
template <class Archive>
class archive_writer final : public state_visitor {
 public:
  explicit archive_writer(Archive& archive) : archive_(archive) {}
  void number(std::int64_t& kept) override { put(archive_, kept); }
  void number(double& kept) override { put(archive_, kept); }
  void vector(role, bool, std::span<float> kept) override { put(archive_, std::span<const float>(kept)); }
  void vector(role, bool, std::span<double> kept) override { put(archive_, std::span<const double>(kept)); }

 private:
  Archive& archive_;
};

/// Reads what such a writer has written.
template <class Archive>
class archive_reader final : public state_visitor {
 public:
  explicit archive_reader(Archive& archive) : archive_(archive) {}
  bool reads() const override { return true; }
  void number(std::int64_t& kept) override { kept = get<std::int64_t>(archive_); }
  void number(double& kept) override { kept = get<double>(archive_); }
  void vector(role, bool, std::span<float> kept) override { get(archive_, kept); }
  void vector(role, bool, std::span<double> kept) override { get(archive_, kept); }

 private:
  Archive& archive_;
};

}  // namespace syncopate::detail
