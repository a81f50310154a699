//! Prime and agents: who runs a plan, on which hosts, and what they tell each other.
