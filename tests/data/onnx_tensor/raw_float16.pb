
JaVı×:MÏ¨ÍdÉBx