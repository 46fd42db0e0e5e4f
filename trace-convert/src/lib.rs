//! Reading FXT archives for people and other tools
