#pragma once

#include <exception>
#include <string>
#include <typeinfo>

namespace support {

/// What the function says when it throws an `Error`, and not one that is derived from it.
template <class Error, class Function>
std::string text_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    if (typeid(error) != typeid(Error)) throw;
    return error.what();
  }
  return "(nothing was thrown)";
}

}  // namespace support
