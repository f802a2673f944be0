#pragma once

namespace thinwire::harness {

/// From now on the memory of a large block goes back to the system as soon as it is freed. Left to
/// itself the heap keeps blocks of up to 32 MB for the next ones, and small blocks that live long
/// settle between them: every rank would hold the room that raw tensors once took.
void return_large_blocks();

}  // namespace thinwire::harness
