"""What neighbours and class means say of an example, multiplied.

    z_n(i) = .75 (log M_n(i) + t log P_n(i))         or 1.4 log M_n(i) from a graph alone

M is what the neighbourhood believes (``simifeat.propagate``), P the posterior of the means
(``simifeat.class_means``). P is far too sure of itself, its dimensions not being independent: t
is the temperature at which it agrees best with M.
"""

from __future__ import annotations

import numpy as np

from simifeat.calibrate import Evidence
from simifeat.class_means import Rows, log_discriminant, temperature
from simifeat.propagate import Propagated

_ALONE, _EACH = 1.4, 0.75
_LEAST = np.float32(1e-6)  # belief of a neighbourhood in a class it never saw


def evidence(propagated: Propagated, features: Rows | None, n_classes: int) -> Evidence:
    """Of ``features`` [n, d] where they are known, else of the neighbours alone."""
    classes, filled = propagated.classes, propagated.classes >= 0
    seen = np.where(filled, propagated.seen, 0).astype(np.float32)
    logits = np.log(np.maximum(seen, _LEAST))
    if features is None:
        return Evidence(classes, np.float32(_ALONE) * logits)
    log_p = log_discriminant(features, propagated.beliefs, classes, n_classes)
    t = temperature(log_p, seen, filled)
    logits = logits + np.float32(t) * (log_p - log_p.max(axis=1, keepdims=True))
    return Evidence(classes, np.float32(_EACH) * logits)
