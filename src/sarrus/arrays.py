"""Names for arrays of numbers, declared once: what annotations say in every room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.str_]
Complex = NDArray[np.complex128]
