package oembed

// NewAt makes a Prober of another server than YouTube.
var NewAt = newAt
