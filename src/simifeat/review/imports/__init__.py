"""What a review can take in from other tools; one format a file."""
