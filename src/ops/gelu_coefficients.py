"""Fits the polynomials of gelu.hpp and prints their coefficients and errors in fp32.

Needs numpy and scipy: python3 src/ops/gelu_coefficients.py
"""

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erf

EDGE, DEGREE = 5.25, 15


def fit(half):
    """p in (half(x) = x * p(x^2)): least squares, reweighted towards the largest error of GELU."""
    u = np.cos(np.pi * (np.arange(4000) + 0.5) / 4000)
    x = EDGE * np.sqrt((u + 1) / 2)
    values, weight = half(x) / x, np.maximum(x, 0.05) ** 1.5
    powers, emphasis = chebyshev.chebvander(u, DEGREE), np.ones_like(x)
    for _ in range(60):
        w = weight * np.sqrt(emphasis)
        factors = np.linalg.lstsq(powers * w[:, None], values * w, rcond=None)[0]
        error = np.abs((powers @ factors - values) * weight)
        emphasis *= (error / error.max() + 1e-3) ** 0.7
        emphasis /= emphasis.mean()
    return chebyshev.cheb2poly(factors).astype(np.float32)


def error_of(factors, half):
    """Of x * (x * p + 1/2) with fp32 roundings after every fused step, relative to max(1, |x|)."""
    x = np.linspace(-EDGE, EDGE, 400001).astype(np.float32)
    u = (x * x) * np.float32(2 / EDGE**2) - np.float32(1)
    p = np.full_like(u, factors[-1])
    for factor in factors[-2::-1]:
        p = (p.astype(np.float64) * u + factor).astype(np.float32)
    ours = x * (x.astype(np.float64) * p + 0.5).astype(np.float32)
    exact = x.astype(np.float64) * (0.5 + half(x.astype(np.float64)))
    return (np.abs(ours - exact) / np.maximum(1, np.abs(x))).max()


for name, half in (
    ("kGeluErf", lambda x: 0.5 * erf(x / np.sqrt(2))),
    ("kGeluTanh", lambda x: 0.5 * np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
):
    factors = fit(half)
    print(name, ", ".join(f"{factor:.9e}F" for factor in factors))
    print(f"  error {error_of(factors, half):.2e} * max(1, |x|)")
