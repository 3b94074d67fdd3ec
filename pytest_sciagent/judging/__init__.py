"""Judges: prompts, answers, providers, and how an answer becomes a verdict."""
