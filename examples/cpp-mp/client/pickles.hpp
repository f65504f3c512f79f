// Chunks as a pickled list of torch tensors: how they travel where the server shares no memory.
//
// A pickle is a program, and loading one does what it says. Here none is run: the reader knows the instructions that a list of plain tensors
// is made of, builds inert values from them, and refuses everything else.
#pragma once

#include <string>
#include <vector>

#include "failure.hpp"

namespace mp {

// Contiguous: elements in row-major order, each little-endian.
struct Tensor {
    std::string dtype;  // as torch names it: "float16"
    std::vector<std::int64_t> shape;
    Bytes data;
};

// Whether tensors of this element type have the form that is written and read here. 8-bit floats have another one.
bool can_be_pickled(const std::string& dtype);

Bytes pickle(const std::vector<Tensor>& tensors);

// Class protocol for bytes that are anything else than such a list.
std::vector<Tensor> unpickle(const Bytes& data);

}  // namespace mp
