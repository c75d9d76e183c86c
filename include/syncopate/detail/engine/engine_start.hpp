#pragma once

#include "bucketing.hpp"
#include "engine.hpp"
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

SYNCOPATE_FUNCTION void engine::validate() const {
  options_.validate();
  if (traits_.ranks_differ && clips(clipping::after_averaging))
    throw configuration_error("syncopate: a mean of weights has no gradient's norm: clip before_averaging");
  if (traits_.ranks_differ && observes())
    throw configuration_error("syncopate: observes_gradients needs an averaging that sends gradients, not weights");
  when_.validate();
  policies_.validate();
  if (when_.fragments() == 0) throw configuration_error("syncopate: a delay policy needs at least one fragment");
  if (when_.fragments() > 1 && clips(clipping::after_averaging))
    throw configuration_error("syncopate: fragments of a model have no common mean whose norm could be bounded: clip "
                              "before_averaging");
  for (std::size_t number = 0; number < when_.fragments(); ++number) {
    constexpr std::int64_t most = 1 << 16;
    const std::int64_t in_flight = when_.of(number).most_in_flight();
    if (in_flight < 0 || in_flight > most)
      throw configuration_error("syncopate: the delay policy wants " + std::to_string(in_flight) +
                                " messages in flight, but only 0 to " + std::to_string(most) + " are possible");
    if (traits_.own_local_rule && in_flight > 1)
      throw configuration_error(
          "syncopate: a local rule of its own is defined for a delay of one step at most, but " +
          std::to_string(in_flight) + " messages would be in flight");
  }
}

SYNCOPATE_FUNCTION const layers::layer& engine::expect_layer(const char* call, std::size_t layer) {
  require_open_step(call);
  layers_.check(layer);
  return layers_.all()[layer];
}

SYNCOPATE_FUNCTION void engine::note_fault(const std::exception& fault) {
  facts_.fault_of_layout = dynamic_cast<const layout_error*>(&fault) != nullptr;
  std::string(fault.what()).copy(facts_.fault.data(), facts_.fault.size() - 1);
}

SYNCOPATE_FUNCTION void engine::lay_out() {
  for (std::size_t number = 0; number < when_.fragments(); ++number) {
    const schedule& when = when_.of(number);
    facts_.most_in_flight = std::max(facts_.most_in_flight, when.most_in_flight());
    facts_.schedule = mix(facts_.schedule, when.decisions());
  }
  facts_.hyperparameters = policies_.hyperparameters();
  layers_.allow_to_miss(options_.optional_layers);
  factored_.choose(options_, layers_, model_.facts(),
                   {.mean_alone = traits_.mean_alone,
                    .own_gradients = clips(clipping::before_averaging) || observes(),
                    .every_step = when_.launches_every_step(),
                    .in_halves = wire_->in_halves(),
                    .sharded = traits_.sharded,
                    .ranks = wire_->size()});
  facts_.tensors = model_.facts().size();
  model_.start();
}

SYNCOPATE_FUNCTION void engine::start(std::uint64_t scheme) {
  facts_.version = version;
  facts_.options = option_facts(options_);
  facts_.scheme = scheme;
  agree(*wire_, facts_, model_.facts());
  for (const tensor_ref& tensor : model_.tensors())
    wire_->broadcast({static_cast<std::byte*>(tensor.weights), tensor.size * tensor.element_bytes}, 0);
  make_parts();
  factored_.make_gradients(model_.facts());
  if (clips(clipping::before_averaging)) own_.allow_scaling(model_.tensors());
  std::size_t most = 0;
  for (const auto& layer : layers_.all())
    for (std::size_t tensor = layer.first; layer.optional && tensor < layer.first + layer.tensors; ++tensor)
      most = std::max<std::size_t>(most, model_.facts()[tensor].size * model_.facts()[tensor].element_bytes);
  zeros_ = buffer<std::byte>(most);
}

SYNCOPATE_FUNCTION void engine::make_parts() {
  std::vector<std::size_t> fragment_of;  // by tensor
  for (std::size_t layer = 0; layer < layers_.size(); ++layer)
    fragment_of.insert(fragment_of.end(), layers_.all()[layer].tensors, when_.fragment_of(layer, layers_.size()));
  for (std::size_t number = 0; number < when_.fragments(); ++number) flow_.add_fragment(when_.of(number));
  auto planned = cut_into_buckets(model_.facts(), fragment_of, factored_, options_.bucket_bytes);
  std::vector<bool> has_part(when_.fragments(), false);
  for (const planned_bucket& bucket : planned) has_part[bucket.fragment] = true;
  for (std::size_t number = 0; number < has_part.size(); ++number)  // ranks have things to tell, all the same
    if (!has_part[number]) planned.push_back({{}, traits_.element_bytes, number, nullptr});
  flow_.reserve(planned.size());
  for (planned_bucket& bucket : planned) {
    cargo what{.tensors = std::move(bucket.tensors),
               .slots = flow_.fragments()[bucket.fragment]->messages.slots(),
               .observes = observes(),
               .squares = observes() || clips(clipping::after_averaging),
               .ranks_differ = traits_.ranks_differ,
               .sharded = traits_.sharded,
               .factors = {}};
    if (bucket.layer) what.factors = bucket.layer->to_carry(options_.product);
    std::vector<std::size_t> tensors;
    for (const slice& tensor : what.tensors) tensors.push_back(tensor.tensor);
    layers_.add_bucket(tensors);
    part& made = flow_.add_part(*flow_.fragments()[bucket.fragment], bucket.element_bytes, what);
    if (bucket.layer) bucket.layer->carrier = made.way.get();
    made.kept->start(model_.tensors());
  }
}

#endif

}  // namespace syncopate::detail
