"""From planted feet to a pose: swing, pelvis, heels, legs, toes."""
