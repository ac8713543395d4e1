"""simifeat finds the wrong labels in a classification dataset without training a model."""
