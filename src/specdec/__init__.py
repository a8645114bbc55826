"""Speculative decoding, method by method: the reference code of the book *Guess, Then Verify*."""
