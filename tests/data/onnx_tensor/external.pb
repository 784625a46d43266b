j
locationweights.binpBx