"""The paper's tables and figures, run by anyone: ``simifeat bench``."""
