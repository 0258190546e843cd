package oembed

// NewAt lets the tests stand in for YouTube.
var NewAt = newAt
