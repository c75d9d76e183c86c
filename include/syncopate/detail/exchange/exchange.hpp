#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "../elements/contribution.hpp"
#include "../elements/message_layout.hpp"
#include "../elements/slice.hpp"
#include "../elements/state_visitor.hpp"
#include "factor_refs.hpp"

namespace syncopate {
struct bucket_statistics;
}

namespace syncopate::detail {

struct agreed_headers;
struct header;

/// What an exchange is made for.
struct cargo {
  std::vector<slice> tensors;                 ///< whole ones, that travel together
  std::size_t slots = 1;                      ///< messages for which there has to be memory
  bool observes = false;                      ///< whether headers hold norms of gradients
  bool squares = false;                       ///< whether those of sums are wanted
  bool ranks_differ = false;                  ///< whether each rank has weights of its own
  bool sharded = false;                       ///< whether ranks share the work
  std::optional<factored_tensors> factors{};  ///< where they travel in place of the tensors' gradient
};

/// Carries a bucket: how contributions become a sum on every rank, and, where ranks share the work, how the weights
/// that it has led to come back. Knows of wire and headers, and of no policy. It owns the memory of the messages, one
/// for each slot; message n is in slot n modulo their number.
///
/// An averaging may bring its own, say one that sends fewer bits. That is no part of the public interface yet. It has a
/// member
///
///     std::unique_ptr<detail::exchange> make_exchange(std::size_t element_bytes, const detail::cargo&, detail::wire&,
///                                                     detail::measurement&) const;
///
/// which is called once for each bucket; wire and measurement outlive the exchange. What is easiest is to derive from
/// `all_reduce<T>`, and to encode in `start` what is to be sent: the contribution is complete there, times this rank's
/// number of samples, which `message::own` tells. What an exchange keeps from one message to the next, as an error that
/// it feeds back, it shows in `serialise`, so that checkpoints hold it. One that cannot carry factors, or share ranks'
/// work, has to throw `configuration_error` for such a cargo: all ranks make the same exchanges.
class exchange {
 public:
  virtual ~exchange() = default;

  virtual const message_layout& layout() const = 0;

  /// Where this rank's contribution is to be written, at the offsets of `layout().sent`.
  virtual void* contribution(std::size_t slot) = 0;
  /// Whether the exchange writes it itself, by `pack`, from factors that were given for it.
  virtual bool packs() const { return false; }
  virtual void give(const factor_refs&) {}
  virtual contribution_facts pack(std::size_t /*slot*/, const contribution_plan&) { return {}; }

  /// Collective. Sends what was contributed. `due_at_launch`: nobody has anything else to do until it has landed.
  virtual void send(std::size_t slot, const header& own, bool due_at_launch) = 0;
  /// Whether what was sent has landed, and what came back; gives it a chance to progress.
  virtual bool test(std::size_t slot) = 0;
  /// Waits for the sum. What all ranks said with it, as far as that is known by then. Throws `communication_error`.
  virtual const agreed_headers& receive(std::size_t slot) = 0;
  /// The first element of the sum that this rank keeps up to date. Precondition: it was received.
  virtual void* sum(std::size_t slot) = 0;
  /// The sum of squares of that part as it was received, if that is wanted.
  virtual double squares(std::size_t slot) = 0;

  /// Collective, where ranks share the work: sends this rank's part of the weights, all of which the message in `slot`
  /// has advanced.
  virtual void send_weights(std::size_t /*slot*/, const void* /*weights*/) {}
  /// Waits for weights that were sent, if any, and writes them to the user's tensors. Throws `communication_error`.
  virtual void receive_weights(std::span<const tensor_ref> /*tensors*/) {}
  /// What all ranks said with a message, all of it, and the squares of all of the sum, if they are observed.
  /// Precondition: weights that it has led to were received.
  virtual const agreed_headers& headers(std::size_t slot) { return receive(slot); }
  virtual double squares_of_all(std::size_t slot) { return squares(slot); }

  /// Waits for what is in flight in a slot, and leaves it there.
  virtual void land(std::size_t slot) = 0;
  virtual void serialise(state_visitor& visitor) = 0;

  virtual const bucket_statistics& taken() const = 0;
};

}  // namespace syncopate::detail
