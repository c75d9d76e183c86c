#pragma once

#include "bucketing.hpp"
#include "engine.hpp"
#include "rooms.hpp"
#if SYNCOPATE_BODIES
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "../../version.hpp"
#endif

/// How an engine comes to be: what it was given is checked, agreed on, and cut into parts.
namespace syncopate::detail {

#if SYNCOPATE_BODIES

SYNCOPATE_FUNCTION engine::engine(std::unique_ptr<wire> on, std::unique_ptr<schedules> when,
                                  std::unique_ptr<policies> averaging, const scheme_options& options)
    : in_(std::make_unique<rooms>(std::move(on), std::move(when), std::move(averaging), options)) {}

SYNCOPATE_FUNCTION engine::~engine() = default;

SYNCOPATE_FUNCTION void engine::add_layer(std::size_t tensors) { in_->layers.add(tensors); }
SYNCOPATE_FUNCTION bool engine::has_started() const { return in_->started; }

SYNCOPATE_FUNCTION void engine::validate() const {
  in_->options.validate();
  if (in_->traits.ranks_differ && in_->clips(clipping::after_averaging))
    throw configuration_error("syncopate: a mean of weights has no gradient's norm: clip before_averaging");
  if (in_->traits.ranks_differ && in_->observes())
    throw configuration_error("syncopate: observes_gradients needs an averaging that sends gradients, not weights");
  in_->when->validate();
  in_->averaging->validate();
  if (in_->when->fragments() == 0) throw configuration_error("syncopate: a delay policy needs at least one fragment");
  if (in_->when->fragments() > 1 && in_->clips(clipping::after_averaging))
    throw configuration_error(
        "syncopate: fragments of a model have no common mean whose norm could be bounded: clip "
        "before_averaging");
  for (std::size_t number = 0; number < in_->when->fragments(); ++number) {
    constexpr std::int64_t most = 1 << 16;
    const std::int64_t in_flight = in_->when->of(number).most_in_flight();
    if (in_flight < 0 || in_flight > most)
      throw configuration_error("syncopate: the delay policy wants " + std::to_string(in_flight) +
                                " messages in flight, but only 0 to " + std::to_string(most) + " are possible");
    if (in_->traits.own_local_rule && in_flight > 1)
      throw configuration_error("syncopate: a local rule of its own is defined for a delay of one step at most, but " +
                                std::to_string(in_flight) + " messages would be in flight");
  }
}

SYNCOPATE_FUNCTION void engine::note_fault(const std::exception& fault) {
  in_->facts.fault_of_layout = dynamic_cast<const layout_error*>(&fault) != nullptr;
  std::string(fault.what()).copy(in_->facts.fault.data(), in_->facts.fault.size() - 1);
}

SYNCOPATE_FUNCTION void engine::lay_out() {
  for (std::size_t number = 0; number < in_->when->fragments(); ++number) {
    const schedule& when = in_->when->of(number);
    in_->facts.most_in_flight = std::max(in_->facts.most_in_flight, when.most_in_flight());
    in_->facts.schedule = mix(in_->facts.schedule, when.decisions());
  }
  for (std::size_t layer = 0; layer < in_->layers.size(); ++layer) {
    const std::size_t found = in_->when->fragment_of(layer, in_->layers.size()), fragments = in_->when->fragments();
    if (found >= fragments)
      throw configuration_error("syncopate: the delay policy puts layer " + std::to_string(layer) + " into fragment " +
                                std::to_string(found) + ", but the last one is " + std::to_string(fragments - 1));
    if (fragments > 1) in_->facts.schedule = mix(in_->facts.schedule, std::uint64_t{found});
  }
  in_->facts.hyperparameters = in_->averaging->hyperparameters();
  in_->layers.allow_to_miss(in_->options.optional_layers);
  in_->factored.choose(in_->options, in_->layers, in_->model.facts(),
                       {.mean_alone = in_->traits.mean_alone,
                        .own_gradients = in_->clips(clipping::before_averaging) || in_->observes(),
                        .every_step = in_->when->launches_every_step(),
                        .in_halves = in_->wire->in_halves(),
                        .sharded = in_->traits.sharded,
                        .ranks = in_->wire->size()});
  in_->facts.tensors = in_->model.facts().size();
  in_->model.start();
}

SYNCOPATE_FUNCTION void engine::start(std::uint64_t scheme) {
  in_->facts.version = version;
  in_->facts.options = option_facts(in_->options);
  in_->facts.scheme = scheme;
  agree(*in_->wire, in_->facts, in_->model.facts());
  for (const tensor_ref& tensor : in_->model.tensors())
    in_->wire->broadcast({static_cast<std::byte*>(tensor.weights), tensor.size * tensor.element_bytes}, 0);
  make_parts();
  in_->factored.make_gradients(in_->model.facts());
  if (in_->clips(clipping::before_averaging)) in_->own.allow_scaling(in_->model.tensors());
  std::size_t most = 0;
  for (const auto& layer : in_->layers.all())
    for (std::size_t tensor = layer.first; layer.optional && tensor < layer.first + layer.tensors; ++tensor)
      most = std::max<std::size_t>(most, in_->model.facts()[tensor].size * in_->model.facts()[tensor].element_bytes);
  in_->zeros = buffer<std::byte>(most);
  in_->started = true;
}

SYNCOPATE_FUNCTION void engine::make_parts() {
  std::vector<std::size_t> fragment_of;  // by tensor
  for (std::size_t layer = 0; layer < in_->layers.size(); ++layer)
    fragment_of.insert(fragment_of.end(), in_->layers.all()[layer].tensors,
                       in_->when->fragment_of(layer, in_->layers.size()));
  for (std::size_t number = 0; number < in_->when->fragments(); ++number) in_->flow.add_fragment(in_->when->of(number));
  auto planned = cut_into_buckets(in_->model.facts(), fragment_of, in_->factored, in_->options.bucket_bytes);
  std::vector<bool> has_part(in_->when->fragments(), false);
  for (const planned_bucket& bucket : planned) has_part[bucket.fragment] = true;
  for (std::size_t number = 0; number < has_part.size(); ++number)  // ranks have things to tell, all the same
    if (!has_part[number]) planned.push_back({{}, in_->traits.element_bytes, number, nullptr});
  in_->flow.reserve(planned.size());
  for (planned_bucket& bucket : planned) {
    cargo what{.tensors = std::move(bucket.tensors),
               .slots = in_->flow.fragments()[bucket.fragment]->messages.slots(),
               .observes = in_->observes(),
               .squares = in_->observes() || in_->clips(clipping::after_averaging),
               .ranks_differ = in_->traits.ranks_differ,
               .sharded = in_->traits.sharded,
               .factors = {}};
    if (bucket.layer) what.factors = bucket.layer->to_carry(in_->options.product);
    std::vector<std::size_t> tensors;
    for (const slice& tensor : what.tensors) tensors.push_back(tensor.tensor);
    in_->layers.add_bucket(tensors);
    part& made = in_->flow.add_part(*in_->flow.fragments()[bucket.fragment], bucket.element_bytes, what);
    if (bucket.layer) bucket.layer->carrier = made.way.get();
    made.kept->start(in_->model.tensors());
  }
}

#endif

}  // namespace syncopate::detail
