"""The stiff flyball governor: two stiff spring-dampers hold the slider of a spinning governor."""
