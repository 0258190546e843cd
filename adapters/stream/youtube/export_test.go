package youtube

// NewAt makes a Prober of another server than YouTube.
var NewAt = newAt
