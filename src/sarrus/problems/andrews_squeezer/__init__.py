"""Andrews' squeezer: seven bodies, one freedom, a motor and a spring, hundredths of a second."""
