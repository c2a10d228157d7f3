#pragma once

#include <cstddef>

// Memory for small objects that are made one after the other and dropped soon, nearly in that
// order: they stand behind each other in chunks, and a chunk goes with the last of its objects.
// They may be made and dropped on any thread.
namespace retsu::engine {

void* take_short_lived(std::size_t bytes);
void give_back_short_lived(void* object) noexcept;

}  // namespace retsu::engine
