"""Extractors: pictures, texts and tables as features."""
