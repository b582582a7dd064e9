//! What judges a command that no rule knows: a plugin, a model; anything unclear is high-risk.
