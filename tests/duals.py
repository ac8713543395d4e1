"""Forward-mode automatic differentiation by dual numbers: the judge of closed-form gradients."""

import math


class Dual:
    """A value and its derivative with respect to one chosen number."""

    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    def __add__(self, other):
        other = _dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        other = _dual(other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __truediv__(self, other):
        other = _dual(other)
        return self * Dual(1 / other.value, -other.slope / other.value**2)

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -_dual(other)

    __radd__, __rmul__ = __add__, __mul__

    def exp(self):
        return Dual(math.exp(self.value), self.slope * math.exp(self.value))

    def log(self):
        return Dual(math.log(self.value), self.slope / self.value)


def _dual(number):
    return number if isinstance(number, Dual) else Dual(float(number))


def gradient(function, point):
    """Derivatives of ``function`` of a list of numbers at ``point``, one pass each."""
    return [
        function([Dual(float(x), float(i == j)) for j, x in enumerate(point)]).slope
        for i in range(len(point))
    ]


def softmax(logits):
    powers = [z.exp() for z in logits]
    return [power / sum(powers[1:], powers[0]) for power in powers]
