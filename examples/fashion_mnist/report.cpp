#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>

namespace fashion_mnist {
namespace {

template <class... Numbers>
std::string format(const char* pattern, Numbers... numbers) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, numbers...);
  return text;
}

std::string network_text(const options& job) {
  if (job.communicator == transport::mpi) return "MPI";
  if (!job.link_gigabits) return "threads, no modelled link";
  std::ostringstream text;
  text << "threads, modelled link of " << *job.link_gigabits << " Gbit/s and " << job.link_latency_microseconds
       << " us";
  return text.str();
}

}  // namespace

void print_table(std::ostream& out, const options& job, std::span<const result> results) {
  out << "Fashion-MNIST: " << job.ranks << (job.ranks == 1 ? " rank" : " ranks") << " (" << network_text(job) << "), "
      << job.batch << " samples per rank and step, " << job.epochs << (job.epochs == 1 ? " epoch" : " epochs")
      << ", seed " << job.seed << "; times per step\n\n";
  out << format("%-18s  %13s  %13s  %9s  %10s  %13s  %10s  %8s\n", "scheme", "test accuracy", "training loss", "time",
                "compute", "communication", "exposed", "hidden");
  for (const auto& r : results)
    out << format("%-18s  %11.2f %%  %13.4f  %6.3f ms  %7.3f ms  %10.3f ms  %7.3f ms  ", r.scheme.c_str(),
                  100 * r.test_accuracy.back(), r.train_loss.back(), 1e3 * r.seconds_per_step, 1e3 * r.seconds_compute,
                  1e3 * r.seconds_communication, 1e3 * r.seconds_exposed)
        << (r.hidden_fraction ? format("%6.1f %%", 100 * *r.hidden_fraction) : format("%8s", "-")) << "\n";

  for (const auto& r : results)
    if (!r.growth.empty()) {
      out << "\n" << r.scheme << ": " << r.steps << " steps; the batch grew to";
      for (const auto& [step, batch] : r.growth)
        out << " " << batch << " after step " << step << (step == r.growth.back().first ? "" : ",");
      out << "\n";
    }
  for (const auto& r : results)
    for (const auto& [layer, exchange] : r.exchanges)
      out << "\n" << r.scheme << ", layer " << layer << ": " << exchange << "\n";
  out << "\nTest accuracy: of the consensus weights after the last epoch. Compute: time not blocked, so forward,\n"
         "backward and the update's arithmetic. Communication: time with a message in flight. Exposed: time blocked\n"
         "for one. Hidden: 1 - exposed / communication.\n";
  out << format("Learning rate %g, momentum %g.\n", job.learning_rate, job.momentum);
}

void print_json(std::ostream& out, std::span<const result> results) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& r : results) {
    nlohmann::ordered_json object;
    object["scheme"] = r.scheme;
    object["ranks"] = r.ranks;
    object["epochs"] = r.epochs;
    object["test_accuracy"] = r.test_accuracy;
    object["train_loss"] = r.train_loss;
    object["seconds_per_step"] = r.seconds_per_step;
    object["seconds_compute"] = r.seconds_compute;
    object["seconds_communication"] = r.seconds_communication;
    object["seconds_exposed"] = r.seconds_exposed;
    object["hidden_fraction"] = r.hidden_fraction ? nlohmann::ordered_json(*r.hidden_fraction) : nullptr;
    object["bytes_per_step"] = r.bytes_per_step;
    object["steps"] = r.steps;
    object["growth"] = r.growth;
    object["weights_checksum"] = r.weights_checksum;
    list.push_back(std::move(object));
  }
  out << list.dump(2) << "\n";
}

}  // namespace fashion_mnist
